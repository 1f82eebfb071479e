# SPDX-License-Identifier: Apache-2.0
"""Ends of share migrations before their cut-over, at any step; and the removal of what they leave behind."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, messages, services, share_migration, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import Wake, backend_of, begin
from manila_lite.engine.plans import Work
from manila_lite.rpc import notices
from manila_lite.states import Migration
from manila_lite.workflow.access import tell_rules
from manila_lite.workflow.server_migration import cancelled

#: Notification names of the phases.
COPY, COMPLETE, CANCEL = 'share.migrate', 'share.migration_complete', 'share.migration_cancel'
_ABOUT = ('from', 'to', 'type_id', 'network_id', 'size', 'progress')


def settle(conn: Connection, work: Work, verb: str, to: str) -> None:
    """Move the share and its snapshots, as far as they are in the verb's transient status, to the status ``to``."""
    transitions.settle(conn, states.SHARE, (work.data['instance'],), states.SHARE[verb].during, to)
    taken = [row.id for row in share_migration.snapshots_of(conn, work.resource_id)]
    transitions.settle(conn, states.SNAPSHOT, taken, states.SNAPSHOT[verb].during, to)


def given_up(conn: Connection, work: Work, error: Exception) -> None:
    """Restore the share. Delete its second instance, or set it to error if the copy on the backend could not be removed."""
    share_id, target = work.resource_id, work.data['target']
    access.lock(conn, share_id)
    settle(conn, work, 'migrate', states.SHARE['migrate'].fail)
    transitions.share_task(conn, share_id, list(Migration), Migration.CANCELLED if cancelled(error) else Migration.ERROR)
    if work.data.get('left'):
        transitions.fail(conn, states.SHARE, 'receive', target)
    else:
        transitions.remove(conn, states.SHARE, (target,), states.SHARE['receive'].during)
        if work.data.get('claimed'):
            services.release_space(conn, *work.data['claimed'])
    if work.data.get('frozen'):
        tell_rules(conn, work.ctx, share_id, work.data['from'], {work.data['instance']: False})
    _say(conn, work, error)


def fail_cutover(conn: Connection, work: Work, error: Exception) -> None:
    """Set the share and its snapshots to error, and keep them for another try."""
    settle(conn, work, 'cut_over', states.SHARE['cut_over'].fail)
    transitions.fail(conn, states.SHARE, 'cut_over_to', work.data['target'])
    transitions.share_task(conn, work.resource_id, list(Migration), Migration.ERROR)
    notify(conn, work, error)
    announce(work.ctx, work.resource_id, work.data, f'{COMPLETE}.error', work.op.host, error)


def _say(conn: Connection, work: Work, error: Exception) -> None:
    if not cancelled(error):
        notify(conn, work, error)
        announce(work.ctx, work.resource_id, work.data, f'{COPY}.error', work.op.host, error)
    elif work.data.get('left'):
        left = errors.Final('What was copied could not be removed from the backend; delete the second share instance.')
        notify(conn, work, left)
        announce(work.ctx, work.resource_id, work.data, f'{CANCEL}.error', work.op.host, left)
    else:
        announce(work.ctx, work.resource_id, work.data, f'{CANCEL}.end', work.op.host)


def notify(conn: Connection, work: Work, error: Exception) -> None:
    """Tell the owner of the share why its migration failed."""
    detail, why = messages.Detail.of(error), errors.told(error)
    messages.create(conn, work.ctx, 'SHARE', work.resource_id, messages.Action.MIGRATE_SHARE, detail, why)
    bad = {row.id: row.project_id for row in share_migration.snapshots_of(conn, work.resource_id) if row.status == 'error'}
    messages.create_many(conn, work.ctx, 'SHARE_SNAPSHOT', bad, messages.Action.MIGRATE_SHARE, detail, why)


def announce(ctx: context.RequestContext, share_id: str, data: Mapping[str, Any], event: str, host: str | None = None,
             error: Exception | None = None) -> None:
    """Emit a notification about a migration; ``data`` is its operation's. See ``rpc.notices`` for ``host``."""
    payload = {'share_id': share_id, 'phase': 2 if data.get('cut') else 1, **{name: data.get(name) for name in _ABOUT}}
    if 'phase_one_began' in data:
        payload['seconds'] = round(time.time() - data['phase_one_began'], 3)
    if error is not None:
        payload['error'] = errors.told(error) or 'Something went wrong; the log says what.'
    notices.emit(ctx, event, payload, host)


# Removal --------------------------------------------------------------------------------------------

def begin_release(conn: Connection, ctx: context.RequestContext, row: Any, left: dict[str, Any] | None = None) -> Wake:
    """Begin the deletion of a share's second instance (a row of ``shares.aside``), on the backend and in the database.

    :param left: as ``what_is_left`` returns it, if the caller knows better than the last operation's data and the rows
    :raises errors.WrongState: it is being deleted already, or a migration needs it.
    """
    verb = states.SHARE['delete']
    if row.status not in verb.allowed:
        raise errors.WrongState(f'Share instance {row.instance_id} is {row.status}; it goes with the migration of its share.')
    transitions.begin(conn, states.SHARE, verb.name, row.instance_id)
    return begin(conn, ctx, share_migration.RELEASE, 'share', row.id, topic='share', host=row.host,
                 serial=row.instance_id, open_key=f'release:{row.instance_id}', data=left or _noted(conn, row))


def _noted(conn: Connection, row: Any) -> dict[str, Any]:
    for op in reversed(rows.list_of_resource(conn, row.id, share_migration.RELEASE)):
        if op.data.get('instance') == row.instance_id:
            return dict(op.data)
    return what_is_left(row, shares.host_of(conn, row.id), share_migration.snapshots_of(conn, row.id))


def what_is_left(row: Any, here: str | None, taken: Iterable[Any]) -> dict[str, Any]:
    """Return everything that a backend needs to delete the second instance ``row``, with the snapshots ``taken``.

    If the share itself is at that backend (``here``), the snapshots are its own.
    """
    if backend_of(here or '') == backend_of(row.host):
        taken = ()
    return {
        'instance': row.instance_id, 'server': row.share_server_id,
        'share': {'id': row.instance_id, 'share_id': row.id, 'project_id': row.project_id, 'size': row.size,
                  'proto': row.share_proto, 'pool': row.host.partition('#')[2]},
        'snapshots': [{'id': found.id, 'size': found.size, 'provider_location': found.provider_location} for found in taken]}
