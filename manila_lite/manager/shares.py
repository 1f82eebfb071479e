# SPDX-License-Identifier: Apache-2.0
"""Plans of a share's life at its backend."""

import dataclasses
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors, kinds, states
from manila_lite.db import services, serving, shares, snapshots, transitions
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action, Detail
from manila_lite.manager import servers
from manila_lite.manager.task import load_member, load_share, load_snapshot, plain, share_instance, tell, verb_plan
from manila_lite.operations import Plan, Work, replicating

LOG = log.getLogger(__name__)


def create(work: Work) -> None:
    """The share exists at the backend and its exports are known."""
    share = load_share(work)
    if share.share_network_id:
        share = dataclasses.replace(share, server=servers.serve(work))
    if source := _source(work, share):
        exports = work.service.driver.create_share_from_snapshot(share, source)
    else:
        exports = work.service.driver.create_share(share)
    work.data['exports'] = [plain(export) for export in exports]


def _source(work: Work, share: kinds.Share) -> kinds.Snapshot | None:
    """Return the snapshot that the share is made from, a share's or a member of a group's."""
    if work.data.get('member'):
        return load_member(work, work.data['member'])
    return load_snapshot(work, share.snapshot_id) if share.snapshot_id else None


def try_elsewhere(work: Work) -> None:
    """Nothing of the share is left here, and the scheduler looks for another pool.

    If what is left cannot be deleted this goes no further: the share fails here, and to delete it is to delete that.
    """
    share = load_share(work)
    work.service.driver.delete_share(share)
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        row = shares.by_instance(conn, share.id)
        if row is not None and row.host:        # not so when a process died between this and passing it on
            services.give_back(conn, row.host, share.size)
            shares.update_instance(conn, share.id, host=None, share_server_id=None)
            work.data.setdefault('excluded', {})[row.host] = errors.told(work.error) or 'the backend failed'
    work.send = ('scheduler', '')


def created(conn: Connection, work: Work, ident: str) -> dict:
    """The exports are stored and the share counts as launched."""
    shares.set_exports(conn, ident, [kinds.ExportLocation(**export) for export in work.data['exports']])
    return {'progress': '100%', 'launched_at': timeutils.utcnow()}


def delete(work: Work) -> None:
    """The share is gone at the backend.

    :raises errors.Final: snapshots of it, which their owner sees no more, are still there.
    """
    try:
        share = load_share(work)
    except errors.Final:
        return
    with work.ctx.db.reader() as conn:
        count = snapshots.count_of(conn, share.share_id)
    if count:
        raise errors.Final(f'{count} snapshots of the share could not be deleted at the backend yet.')
    work.service.driver.delete_share(share)


def deleted(conn: Connection, work: Work, ident: str) -> None:
    """The share's row is gone, unless an administrator gave it another status meanwhile."""
    gone(conn, work, ident, states.SHARE['delete'].during)


def gone(conn: Connection, work: Work, ident: str, during: str) -> None:
    """As ``deleted``, of a share that shows ``during``."""
    row = shares.by_instance(conn, ident)
    if transitions.remove(conn, states.SHARE, (ident,), during):
        shares.delete(conn, work.resource_id)
        services.gone(conn, row.host, row.size)
        if row.share_server_id:
            serving.update(conn, row.share_server_id)
    work.service.report_soon()


def extend(work: Work) -> None:
    """The share has its new size at the backend."""
    work.service.driver.extend_share(load_share(work), work.data['new_size'])


def shrink(work: Work) -> None:
    """The share has its new size at the backend."""
    work.service.driver.shrink_share(load_share(work), work.data['new_size'])


def revert(work: Work) -> None:
    """The share holds what the snapshot holds."""
    work.service.driver.revert_to_snapshot(
        load_snapshot(work, work.data['snapshot_id'], size=work.data['new_size']))


def resized(conn: Connection, work: Work, ident: str) -> None:
    """The new size is the size, also of replicas."""
    shares.update(conn, work.resource_id, size=work.data['new_size'], target_size=None)
    follow(conn, work, shares.get(conn, work.ctx.elevated(), work.resource_id))


def follow(conn: Connection, work: Work, share: Any) -> None:
    """Replicas of the share (a row), if it can have any, will be as it is now."""
    if share.replication_type:
        replicating.resync_all(conn, work.ctx, share.id)


def not_resized(conn: Connection, work: Work, ident: str) -> None:
    """The old size holds; quota no longer counts the growth."""
    shares.update(conn, work.resource_id, target_size=None)


def reverted(conn: Connection, work: Work, ident: str) -> None:
    """The share has the snapshot's size, and the snapshot is available again."""
    resized(conn, work, ident)
    transitions.finish(conn, states.SNAPSHOT, 'restore', work.data['snapshot_id'])


def not_reverted(conn: Connection, work: Work, ident: str) -> None:
    """The snapshot is available again."""
    not_resized(conn, work, ident)
    transitions.fail(conn, states.SNAPSHOT, 'restore', work.data['snapshot_id'])


def _shrink_ends(plan: Plan) -> Plan:
    """A backend that refuses to shrink has changed nothing: the share is available as before."""
    def failed(conn: Connection, work: Work, error: Exception) -> None:
        if not isinstance(error, errors.RefusedShrink):
            plan.failed(conn, work, error)
            return
        instance = share_instance(conn, work)
        if instance:
            not_resized(conn, work, instance)
            transitions.finish(conn, states.SHARE, 'shrink', instance)
        tell(conn, work, 'SHARE', Action.SHRINK, Detail.DRIVER_REFUSED_SHRINK, error)
    return dataclasses.replace(plan, failed=failed)


PLANS = [
    verb_plan('share.create', states.SHARE, 'create', create, undo=try_elsewhere, on_done=created,
              row_id=share_instance, action=Action.CREATE, detail=Detail.UNKNOWN_ERROR),
    verb_plan('share.delete', states.SHARE, 'delete', delete, on_done=deleted,
              row_id=share_instance, action=Action.DELETE, detail=Detail.UNKNOWN_ERROR),
    verb_plan('share.extend', states.SHARE, 'extend', extend, on_done=resized, on_failed=not_resized,
              row_id=share_instance, action=Action.EXTEND, detail=Detail.DRIVER_FAILED_EXTEND),
    _shrink_ends(verb_plan('share.shrink', states.SHARE, 'shrink', shrink, on_done=resized, on_failed=not_resized,
                           row_id=share_instance, action=Action.SHRINK, detail=Detail.DRIVER_FAILED_SHRINK)),
    verb_plan('share.revert', states.SHARE, 'revert', revert, on_done=reverted, on_failed=not_reverted,
              row_id=share_instance, action=Action.REVERT_TO_SNAPSHOT, detail=Detail.UNKNOWN_ERROR),
]
