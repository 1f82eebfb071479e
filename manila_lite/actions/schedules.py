# SPDX-License-Identifier: Apache-2.0
"""Actions on schedules. The scheduler runs them (``scheduler/schedules.py``)."""

import datetime
from collections.abc import Mapping
from typing import Any, NamedTuple

from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core import host_time, limits
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import quotas, schedules, share_types, shares
from manila_lite.values import retention, schedule_times

_BACKUP = 'share_backup'
#: The times of a preview.
_TIMES = 5
#: The values of a schedule that nobody gave.
_DEFAULTS: Mapping[str, Any] = {
    'name': None,
    'all_projects': False,
    'action': 'snapshot',
    'backup_type': None,
    'time_zone': 'UTC',
    'jitter': 0,
    'missed': 'once',
    'share_ids': None,
    'share_metadata': None,
    'share_type_id': None,
    'keep': {},
    'name_prefix': None,
    'paused': False,
}
#: A change of these values may change the next time.
_TIMING = ('cron', 'time_zone', 'jitter', 'paused')


class Preview(NamedTuple):
    """The next times of a schedule, and the times of all copies that there would be now if it had always run."""

    times: list[datetime.datetime]
    kept: list[datetime.datetime]


def create(ctx: RequestContext, wanted: Mapping[str, Any]) -> Row[Any]:
    """Create a schedule. Return its row.

    :raises errors.Invalid: a share or share type that it names is not there, or the type of backup is not.
    :raises errors.Forbidden: it is about all projects, or replicas, and the caller may not create such ones.
    :raises errors.OverLimit: the project has as many as it may have.
    """
    schedule_id = uuidutils.generate_uuid()
    values = {**_DEFAULTS, **{name: value for name, value in wanted.items() if value is not None}}
    if values['all_projects'] and not ctx.can('schedule:create_for_all_projects'):
        raise errors.Forbidden('all_projects: only an administrator may create a schedule for all projects.')
    with ctx.db.writer() as conn:
        quotas.lock(conn, ctx.project_id)
        had = schedules.count_of(conn, ctx.project_id)
        limits.check_one_more(ctx.conf, 'schedules', f'project {ctx.project_id}', had)
        _check(conn, ctx, values)
        schedules.insert(
            conn,
            {
                'id': schedule_id,
                'project_id': ctx.project_id,
                'user_id': ctx.user_id,
                **values,
                'next_run_at': _next_run(conn, schedule_id, values),
            },
        )
        return schedules.get(conn, ctx, schedule_id)


def _check(conn: Connection, ctx: RequestContext, values: Mapping[str, Any]) -> None:
    """Check the new values of a schedule: the shares, the share type and the type of backup exist."""
    if values['action'] == schedules.RESYNC:
        _check_resync(ctx, values)
    if backup_type := values.get('backup_type'):
        if values['action'] != _BACKUP:
            raise errors.Invalid(f'backup_type: only of a schedule with the action {_BACKUP}.')
        if backup_type not in ctx.conf.enabled_backup_types:
            raise errors.Invalid(f'backup_type: there is no type of backup {backup_type}.')
    if share_type_id := values.get('share_type_id'):
        with errors.in_request('share_type_id'):
            share_types.get(conn, ctx, share_type_id)
    for share_id in values.get('share_ids') or ():
        with errors.in_request('share_ids'):
            share = shares.get(conn, ctx, share_id, own=True)
            if not values['all_projects'] and share.project_id != ctx.project_id:
                raise errors.NotFound.of('share', share_id)


def _check_resync(ctx: RequestContext, values: Mapping[str, Any]) -> None:
    if not ctx.can('share_replica:resync'):
        raise errors.Forbidden(
            f'action: only who may update a replica from the active one may have schedules of {schedules.RESYNC}.'
        )
    if values.get('keep'):
        raise errors.Invalid(f'keep: a schedule of {schedules.RESYNC} makes nothing that could be kept.')


def _next_run(conn: Connection, schedule_id: str, values: Mapping[str, Any]) -> datetime.datetime | None:
    if values['paused']:
        return None
    offset = schedule_times.offset_of(schedule_id, values['jitter'])
    return schedule_times.following(values['cron'], values['time_zone'], host_time.now(conn), offset)


def update(ctx: RequestContext, schedule_id: str, values: Mapping[str, Any]) -> Row[Any]:
    """Change a schedule; null takes a value out. Return its row.

    :raises errors.Invalid: as ``create``.
    :raises errors.Forbidden: it is about replicas, and the caller may not create such ones.
    """
    with ctx.db.writer() as conn:
        row = schedules.get(conn, ctx, schedule_id)
        new = {
            name: _DEFAULTS.get(name, row._mapping[name]) if value is None else value
            for name, value in values.items()
        }
        whole = {**row._mapping, **new}
        _check(conn, _owner(ctx, row), {'action': row.action, 'all_projects': row.all_projects, **new})
        if any(name in new and new[name] != row._mapping[name] for name in _TIMING):
            new['next_run_at'] = _next_run(conn, schedule_id, whole)
        schedules.update(conn, schedule_id, **new)
        return schedules.get(conn, ctx, schedule_id)


def _owner(ctx: RequestContext, row: Row[Any]) -> RequestContext:
    """Return the caller's context in the project of the schedule: an administrator may be in another one."""
    if ctx.project_id == row.project_id:
        return ctx
    own = ctx.elevated()
    own.project_id = row.project_id
    return own


def delete(ctx: RequestContext, schedule_id: str) -> None:
    """Delete a schedule. Its copies stay, and no schedule deletes them any more."""
    with ctx.db.writer() as conn:
        schedules.get(conn, ctx, schedule_id)
        schedules.delete(conn, schedule_id)


def preview(ctx: RequestContext, wanted: Mapping[str, Any]) -> Preview:
    """Return the preview of a schedule with these values, which need not exist."""
    cron, zone, now = wanted['cron'], wanted.get('time_zone') or 'UTC', timeutils.utcnow()
    return _preview(cron, zone, wanted.get('keep') or {}, now, 0)


def preview_of(ctx: RequestContext, schedule_id: str) -> Preview:
    """Return the preview of a schedule, at its own seconds."""
    with ctx.db.reader() as conn:
        row = schedules.get(conn, ctx, schedule_id)
    offset = schedule_times.offset_of(schedule_id, row.jitter)
    return _preview(row.cron, row.time_zone, row.keep, timeutils.utcnow(), offset)


def _preview(cron: str, zone: str, keep: Mapping[str, int], now: datetime.datetime, offset: int) -> Preview:
    return Preview(
        schedule_times.next_times(cron, zone, now, _TIMES, offset), retention.standing(cron, zone, keep, now)
    )
