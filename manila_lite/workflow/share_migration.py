# SPDX-License-Identifier: Apache-2.0
"""Migrations of single shares in the database, and the removal of second instances, which they can leave behind."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from oslo_utils import timeutils

from manila_lite import context, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    export_locations,
    messages,
    pool_reports,
    share_migration,
    share_server_migration,
    shares,
)
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import Wake, backend_of, begin, begin_once
from manila_lite.engine.plans import FAST, Work
from manila_lite.operation_data.left_copies import ClearShare, LeftSnapshot, ReleaseShare
from manila_lite.operation_data.migrations import CloseShare, MigrateShare
from manila_lite.states import Migration
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules
from manila_lite.workflow.migration import Migrations, Phase

#: The classes of the operations that delete a second instance, by kind: the one that knows more first.
_REMOVALS: dict[str, type[ReleaseShare]] = {
    share_migration.CLEAR: ClearShare,
    share_migration.RELEASE: ReleaseShare,
}


class ShareMigrations(Migrations[MigrateShare]):
    """A share gets a second instance at the target, which takes the place of the first."""

    data = MigrateShare
    kind, check_kind, clear_kind = share_migration.KIND, share_migration.CHECK, share_migration.CLEAR
    close_kind = share_migration.CLOSE
    resource_type = 'share'
    migrate_verb, cut_over_verb = 'migrate', 'cut_over'
    message_actions = dict.fromkeys(Phase, messages.Action.MIGRATE_SHARE)
    leftover = 'second share instance'
    shares = staticmethod(share_migration.share_of)
    snapshots = staticmethod(share_migration.snapshots_of)
    last = staticmethod(share_migration.last)

    def task_state(self, conn: Connection, resource_id: str) -> str | None:
        task_state: str | None = self._share(conn, resource_id).task_state
        return task_state

    def _share(self, conn: Connection, share_id: str) -> Any:
        """Return the row of the share.

        :raises errors.Final: it is gone.
        """
        for row in self.shares(conn, share_id):
            return row
        raise errors.Final(f'Share {share_id} is gone.')

    def lock(self, conn: Connection, resource_id: str) -> None:
        """Lock the rules of the share: they may be denied meanwhile, which locks the same rows first."""
        access.lock(conn, resource_id)

    def check_cut_over(self, conn: Connection, resource_id: str) -> None:
        status = self._share(conn, resource_id).status
        if status != states.SHARE['migrate'].during:
            raise errors.Final(f'The migration of share {resource_id} was stopped: its status is {status}.')

    def restore_source(self, conn: Connection, work: Work[MigrateShare], task_state: Migration) -> None:
        self.swap_task_state(conn, work.resource_id, list(Migration), task_state)

    def remove_target(self, conn: Connection, work: Work[MigrateShare]) -> None:
        """Delete the second instance. One in error keeps its capacity, since something of it is on the backend."""
        if work.data.left:
            transitions.fail(conn, states.SHARE, 'receive', work.data.target)
            return
        transitions.remove(conn, states.SHARE, (work.data.target,), states.SHARE['receive'].during)
        if work.data.claimed:
            pool_reports.release_space(conn, *work.data.claimed)

    def keep_failed(self, conn: Connection, work: Work[MigrateShare]) -> None:
        """Set the second instance to error, and the task state of the share. A host that copied is shut out."""
        if work.data.by_host:
            shares.update_instance(conn, work.data.target, copy_client=None, copy_client_key=None)
            self.apply_rules(conn, work.ctx, work.resource_id, work.data, readonly=True)
        transitions.fail(conn, states.SHARE, 'cut_over_to', work.data.target)
        self.swap_task_state(conn, work.resource_id, list(Migration), Migration.ERROR)

    def apply_rules(
        self,
        conn: Connection,
        ctx: context.RequestContext,
        resource_id: str,
        data: MigrateShare,
        *,
        readonly: bool,
    ) -> Wake:
        """Have the source's backend apply the rules of the share, and at the end those of snapshots that a host copied."""
        if data.snapshots_opened and not readonly:
            snapshot_access.begin_all(conn, ctx, (resource_id,), data.source_host)
        return apply_rules(conn, ctx, resource_id, data.source_host, {data.instance: readonly})

    def leave_note(self, conn: Connection, work: Work[MigrateShare]) -> None:
        """Begin the deletion of the second instance. It keeps its capacity until then."""
        data = work.data
        for row in shares.list_second_instances(conn, instance_id=data.target):
            transitions.fail(conn, states.SHARE, 'receive', row.instance_id)
            transitions.begin(conn, states.SHARE, 'delete', row.instance_id)
            shares.update_instance(conn, row.instance_id, copy_client=None, copy_client_key=None)
            source = self._share(conn, work.resource_id)
            left = what_is_left(row, None, self.snapshots(conn, work.resource_id))
            note = ClearShare(
                instance=left.instance,
                server=left.server,
                share=left.share,
                snapshots=left.snapshots,
                source_host=data.source_host,
                options=data.options,
                by_host=data.by_host,
                source=source.instance_id,
                source_pool=source.host.partition('#')[2],
            )
            _begin_removal(conn, work.ctx, row, self.clear_kind, note)

    def payload(self, resource_id: str, data: MigrateShare) -> dict[str, Any]:
        return {
            'share_id': resource_id,
            'from': data.source_host,
            'to': data.to,
            'type_id': data.type_id,
            'network_id': data.network_id,
            'size': data.size,
            'progress': data.progress and dataclasses.asdict(data.progress),
        }

    def begin_cut_over(self, conn: Connection, resource_id: str, target: str) -> None:
        transitions.begin(conn, states.SHARE, 'cut_over', self._share(conn, resource_id).instance_id)
        transitions.begin(conn, states.SHARE, 'cut_over_to', target)
        snapshot_ids = [snapshot.id for snapshot in self.snapshots(conn, resource_id)]
        transitions.begin_many(conn, states.SNAPSHOT, 'cut_over', snapshot_ids)
        self.set_task_state(conn, resource_id, Migration.COMPLETING)

    def close(
        self, conn: Connection, ctx: context.RequestContext, resource_id: str, data: MigrateShare
    ) -> Wake:
        """Have the source's backend end the exports of this instance of the share, and of its snapshots there."""
        # It runs beside no change of the rules, which has the same mutex key.
        return begin_once(
            conn,
            ctx,
            self.close_kind,
            'share',
            resource_id,
            topic='share',
            host=data.source_host,
            lane=FAST,
            mutex_key=access.unique_key(resource_id),
            unique_key=f'close:{resource_id}',
            data=CloseShare(instance=data.instance),
        )

    def finish(self, conn: Connection, work: Work[MigrateShare]) -> None:
        share_id, data = work.resource_id, work.data
        self.lock(conn, share_id)
        # The source's backend applies no rules any more; the target's applies all rules once more, below.
        rows.supersede(conn, share_id, (access.SYNC,))
        source, target = self._share(conn, share_id), second_instance(conn, data.target)
        left = what_is_left(source, target.host, self.snapshots(conn, share_id))
        self.settle(conn, work, self.migrate_verb, ok=True)
        _swap_instances(conn, data, source, target)
        shares.update(conn, share_id, **data.abilities)
        state = self.task_state_at_end(conn, work, {share_id: source.project_id}, left, share_id)
        self.set_task_state(conn, share_id, state)
        apply_rules(conn, work.ctx, share_id, target.host)
        snapshot_access.begin_all(conn, work.ctx, (share_id,), target.host, moved=True)
        for row in shares.list_second_instances(conn, instance_id=source.instance_id):
            begin_release(conn, work.ctx, row, left)
        self.announce_end(work, Phase.COMPLETE)
        work.service.report_soon()


def second_instance(conn: Connection, instance_id: str) -> Any:
    """Return the row of a share's second instance.

    :raises errors.Final: it is gone.
    """
    for row in shares.list_second_instances(conn, instance_id=instance_id):
        return row
    raise errors.Final(f'Share instance {instance_id} is gone.')


def _swap_instances(conn: Connection, data: MigrateShare, source: Any, target: Any) -> None:
    """Put the second instance, a row, in the place of the first."""
    transitions.finish(conn, states.SHARE, 'receive', target.instance_id)
    shares.update_instance(conn, source.instance_id, is_secondary=True, cast_rules_to_readonly=False)
    shares.update_instance(
        conn,
        target.instance_id,
        is_secondary=False,
        copy_client=None,
        copy_client_key=None,
        progress=source.progress,
        launched_at=timeutils.utcnow(),
        access_rules_status=source.access_rules_status,
    )
    if data.abilities.get('replication_type'):
        transitions.set_replica_state(conn, target.instance_id, states.Replica.ACTIVE)
    export_locations.set_of_instances(conn, {target.instance_id: data.moved.exports})
    share_server_migration.set_provider_locations(conn, data.moved.provider_locations)


#: The adapter of shares.
SHARES = ShareMigrations()


# Removal --------------------------------------------------------------------------------------------


def begin_release(
    conn: Connection, ctx: context.RequestContext, row: Any, left: ReleaseShare | None = None
) -> Wake:
    """Begin the deletion of a share's second instance (a row of ``shares.aside``), on the backend and in the database.

    :param left: its data, if the caller knows better than the last operation's data and the rows
    :raises errors.WrongState: it is being deleted already, or a migration needs it, also one whose cut-over failed.
    """
    verb = states.SHARE['delete']
    if row.status not in verb.allowed:
        raise errors.WrongState(
            f'Share instance {row.instance_id} is {row.status}; it is deleted with the migration of its '
            'share.'
        )
    if share_migration.is_half_moved(conn, row.id, row.instance_id):
        raise errors.WrongState(
            f'Share instance {row.instance_id} may have the only data of share {row.id}, whose cut-over failed.',
            code='cut_over_failed',
        )
    transitions.begin(conn, states.SHARE, verb.name, row.instance_id)
    kind, data = (share_migration.RELEASE, left) if left else _noted(conn, row)
    return _begin_removal(conn, ctx, row, kind, data)


def _begin_removal(
    conn: Connection, ctx: context.RequestContext, row: Any, kind: str, data: ReleaseShare
) -> Wake:
    return begin(
        conn,
        ctx,
        kind,
        'share',
        row.id,
        topic='share',
        host=row.host,
        mutex_key=row.instance_id,
        unique_key=f'release:{row.instance_id}',
        data=data,
        owner=row.project_id,
    )


def _noted(conn: Connection, row: Any) -> tuple[str, ReleaseShare]:
    """Return kind and data of the operation that deletes the second instance: of the last one, if there was one."""
    for kind, removal in _REMOVALS.items():
        for op in reversed(rows.list_of_resource(conn, row.id, kind)):
            data = removal.from_json(op.data)
            if data.instance == row.instance_id:
                return kind, data.afresh()
    left = what_is_left(row, shares.host_of(conn, row.id), share_migration.snapshots_of(conn, row.id))
    return share_migration.RELEASE, left


def what_is_left(row: Any, here: str | None, snapshots: Iterable[Any]) -> ReleaseShare:
    """Return everything that a backend needs to delete the second instance ``row``, with the ``snapshots``.

    If the share itself is at that backend (``here``), the snapshots are its own.
    """
    if backend_of(here or '') == backend_of(row.host):
        snapshots = ()
    return ReleaseShare(
        instance=row.instance_id,
        server=row.share_server_id,
        share=values.Share(
            row.instance_id, row.id, row.project_id, row.size, row.share_proto, row.host.partition('#')[2]
        ),
        snapshots=[
            LeftSnapshot(snapshot.id, snapshot.size, snapshot.provider_location) for snapshot in snapshots
        ],
    )
