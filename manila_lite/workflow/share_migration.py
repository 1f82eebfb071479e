# SPDX-License-Identifier: Apache-2.0
"""Migrations of single shares in the database, and the removal of second instances, which they can leave behind."""

from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, messages, services, share_migration, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import Wake, backend_of, begin
from manila_lite.engine.plans import Work
from manila_lite.states import Migration
from manila_lite.workflow.migration import Migrations, Phase

_IN_NOTIFICATIONS = ('from', 'to', 'type_id', 'network_id', 'size', 'progress')


class ShareMigrations(Migrations):
    """A share gets a second instance at the target, which takes the place of the first."""

    kind, check_kind, resource_type = share_migration.KIND, share_migration.CHECK, 'share'
    migrate_verb, cut_over_verb = 'migrate', 'cut_over'
    message_actions = dict.fromkeys(Phase, messages.Action.MIGRATE_SHARE)
    leftover = 'second share instance'

    def swap_task_state(self, conn: Connection, resource_id: str, allowed: Iterable[str | None], to: str | None) -> bool:
        """Set the share's task state."""
        return transitions.swap_share_task_state(conn, resource_id, allowed, to)

    def shares(self, conn: Connection, resource_id: str) -> list[Any]:
        """Return the row of the share, if it is still there."""
        return share_migration.share_of(conn, resource_id)

    def snapshots(self, conn: Connection, resource_id: str) -> list[Any]:
        """Return the rows of its snapshots."""
        return share_migration.snapshots_of(conn, resource_id)

    def give_up(self, conn: Connection, work: Work, error: Exception) -> None:
        """End the migration before its cut-over."""
        access.lock(conn, work.resource_id)     # rules may be denied meanwhile, which locks the same rows first
        super().give_up(conn, work, error)

    def restore_source(self, conn: Connection, work: Work, task_state: Migration) -> None:
        """Set the task state of the share."""
        transitions.swap_share_task_state(conn, work.resource_id, list(Migration), task_state)

    def remove_target(self, conn: Connection, work: Work) -> None:
        """Delete the second instance. One in error keeps its capacity, since something of it is on the backend."""
        if work.data.get('left'):
            transitions.fail(conn, states.SHARE, 'receive', work.data['target'])
            return
        transitions.remove(conn, states.SHARE, (work.data['target'],), states.SHARE['receive'].during)
        if work.data.get('claimed'):
            services.release_space(conn, *work.data['claimed'])

    def keep_failed(self, conn: Connection, work: Work) -> None:
        """Set the second instance to error, and the task state of the share."""
        transitions.fail(conn, states.SHARE, 'cut_over_to', work.data['target'])
        transitions.swap_share_task_state(conn, work.resource_id, list(Migration), Migration.ERROR)

    def payload(self, resource_id: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the share's id, and its destination."""
        return {'share_id': resource_id, **{name: data.get(name) for name in _IN_NOTIFICATIONS}}


#: The adapter of shares.
SHARES = ShareMigrations()


# Removal --------------------------------------------------------------------------------------------

def begin_release(conn: Connection, ctx: context.RequestContext, row: Any, left: dict[str, Any] | None = None) -> Wake:
    """Begin the deletion of a share's second instance (a row of ``shares.aside``), on the backend and in the database.

    :param left: as ``what_is_left`` returns it, if the caller knows better than the last operation's data and the rows
    :raises errors.WrongState: it is being deleted already, or a migration needs it.
    """
    verb = states.SHARE['delete']
    if row.status not in verb.allowed:
        raise errors.WrongState(f'Share instance {row.instance_id} is {row.status}; it is deleted with the migration of its '
                                'share.')
    transitions.begin(conn, states.SHARE, verb.name, row.instance_id)
    return begin(conn, ctx, share_migration.RELEASE, 'share', row.id, topic='share', host=row.host,
                 serial=row.instance_id, open_key=f'release:{row.instance_id}', data=left or _noted(conn, row))


def _noted(conn: Connection, row: Any) -> dict[str, Any]:
    for op in reversed(rows.list_of_resource(conn, row.id, share_migration.RELEASE)):
        if op.data.get('instance') == row.instance_id:
            return dict(op.data)
    return what_is_left(row, shares.host_of(conn, row.id), share_migration.snapshots_of(conn, row.id))


def what_is_left(row: Any, here: str | None, snapshots: Iterable[Any]) -> dict[str, Any]:
    """Return everything that a backend needs to delete the second instance ``row``, with the ``snapshots``.

    If the share itself is at that backend (``here``), the snapshots are its own.
    """
    if backend_of(here or '') == backend_of(row.host):
        snapshots = ()
    return {
        'instance': row.instance_id, 'server': row.share_server_id,
        'share': {'id': row.instance_id, 'share_id': row.id, 'project_id': row.project_id, 'size': row.size,
                  'proto': row.share_proto, 'pool': row.host.partition('#')[2]},
        'snapshots': [{'id': snapshot.id, 'size': snapshot.size, 'provider_location': snapshot.provider_location}
                      for snapshot in snapshots]}
