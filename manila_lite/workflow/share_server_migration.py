# SPDX-License-Identifier: Apache-2.0
"""Migrations of share servers in the database."""

from collections.abc import Iterable
from typing import Any

from manila_lite import context, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import (
    access,
    export_locations,
    messages,
    operations,
    pool_reports,
    share_networks,
    share_server_capabilities,
    share_server_migration,
    share_server_queries,
)
from manila_lite.engine.begin import Wake, backend_of, begin, begin_once
from manila_lite.engine.plans import FAST, Work
from manila_lite.operation_data.left_copies import ClearServer, LeftSnapshot, ReleaseServer
from manila_lite.operation_data.migrations import MigrateServer
from manila_lite.states import Migration
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules_of
from manila_lite.workflow.migration import Migrations, Phase

#: Fields of a migration's data, and of its progress, in notifications.
_TOLD = ('to', 'share_network_id', 'new_share_network_id', 'shares', 'snapshots', 'size')
_TOLD_OF_PROGRESS = ('percent', 'bytes_done', 'bytes_total')


class ServerMigrations(Migrations[MigrateServer]):
    """A share server gets a second server at the target, which takes over its shares, and perhaps its addresses."""

    data = MigrateServer
    kind, check_kind, clear_kind = (
        share_server_migration.KIND,
        share_server_migration.CHECK,
        share_server_migration.CLEAR,
    )
    close_kind = share_server_migration.CLOSE
    resource_type = 'share_server'
    migrate_verb, cut_over_verb = 'server_migrate', 'server_cut_over'
    message_actions = {
        Phase.COPY: messages.Action.MIGRATE_SERVER,
        Phase.COMPLETE: messages.Action.COMPLETE_MIGRATION,
        Phase.CANCEL: messages.Action.CANCEL_MIGRATION,
    }
    leftover = 'target of the migration'
    shares = staticmethod(share_server_migration.shares_of)
    snapshots = staticmethod(share_server_migration.snapshots_of)
    last = staticmethod(share_server_migration.last)

    def task_state(self, conn: Connection, resource_id: str) -> str | None:
        """Return the task state of the source, or None if it is gone."""
        servers = share_server_queries.list_by_ids(conn, (resource_id,))
        return servers[0].task_state if servers else None

    def restore_source(self, conn: Connection, work: Work[MigrateServer], task_state: Migration) -> None:
        """Set the source to active, with this task state. A host that copied has to be shut out."""
        access.shut_out_copy_clients(conn, work.resource_id)
        verb = states.SHARE_SERVER['migrate']
        transitions.settle(conn, states.SHARE_SERVER, (work.resource_id,), verb.during, verb.fail)
        self.swap_task_state(conn, work.resource_id, list(Migration), task_state)

    def remove_target(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Delete the target. One that was idle before is idle again. One that may have a copy is deleted with it once more."""
        target = work.data.target
        if work.data.left:
            self._begin_clear(conn, work)  # its driver would not delete a server with shares
        elif work.data.was_idle:
            transitions.finish(
                conn,
                states.SHARE_SERVER,
                'take_in',
                target,
                source_share_server_id=None,
                is_auto_deletable=True,
            )
        else:
            transitions.remove(conn, states.SHARE_SERVER, (target,), states.SHARE_SERVER['receive'].during)
        self._release_claims(conn, work.data)

    def keep_failed(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Set both servers to error. A host that copied is shut out."""
        if work.data.by_host:
            access.shut_out_copy_clients(conn, work.resource_id)
            self.apply_rules(conn, work.ctx, work.resource_id, work.data, readonly=True)
        transitions.fail(conn, states.SHARE_SERVER, 'cut_over', work.resource_id, task_state=Migration.ERROR)
        transitions.fail(
            conn, states.SHARE_SERVER, 'cut_over_to', work.data.target, task_state=Migration.ERROR
        )

    def apply_rules(
        self,
        conn: Connection,
        ctx: context.RequestContext,
        resource_id: str,
        data: MigrateServer,
        *,
        readonly: bool,
    ) -> Wake:
        """Have the source's backend apply the rules of all shares, and at the end those of snapshots that a host copied."""
        share_server_migration.cast_rules(conn, resource_id, readonly)
        if data.by_host and not readonly:
            access.shut_out_copy_clients(conn, resource_id)
            moving = [row.id for row in share_server_migration.shares_of(conn, resource_id)]
            snapshot_access.begin_all(conn, ctx, moving, data.source_host)
        return apply_rules(conn, ctx, resource_id, data.source_host)

    def leave_note(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Begin the deletion of the target, whether it is new or was idle before."""
        if share_server_queries.list_by_ids(conn, (work.data.target,)):
            self._begin_clear(conn, work)
        self._release_claims(conn, work.data)

    def _begin_clear(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Begin the deletion of the target with everything on it."""
        target, data, left = work.data.target, work.data, what_is_left(conn, work.resource_id)
        transitions.fail(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.ERROR)
        transitions.begin(conn, states.SHARE_SERVER, 'delete', target, source_share_server_id=None)
        begin(
            conn,
            work.ctx,
            self.clear_kind,
            self.resource_type,
            target,
            topic='share',
            host=work.op.host,
            mutex_key=f'server:{target}',
            unique_key=f'server:{target}',
            data=ClearServer(
                source=work.resource_id,
                source_host=data.source_host,
                pool=data.pool,
                pools=data.pools,
                keeps_addresses=data.keeps_addresses,
                options=data.options,
                by_host=data.by_host,
                was_idle=data.was_idle,
                shares=left.shares,
                snapshots=left.snapshots,
            ),
        )

    @staticmethod
    def _release_claims(conn: Connection, data: MigrateServer) -> None:
        """Give back the capacity. This comes last in a transaction, since reports and other requests wait for the pools."""
        for pool, size in sorted(data.claims.items()):
            pool_reports.release_space(conn, pool, size)

    def payload(self, resource_id: str, data: MigrateServer) -> dict[str, Any]:
        return {
            'share_server_id': resource_id,
            'destination_share_server_id': data.target,
            'from': data.source_host,
            **{name: getattr(data, name) for name in _TOLD},
            **{name: getattr(data.progress, name, None) for name in _TOLD_OF_PROGRESS},
        }

    def begin_cut_over(self, conn: Connection, resource_id: str, target: str) -> None:
        transitions.begin(conn, states.SHARE_SERVER, 'cut_over', resource_id, task_state=Migration.COMPLETING)
        transitions.begin(conn, states.SHARE_SERVER, 'cut_over_to', target, task_state=None)
        for machine, row_ids in (
            (states.SHARE, [share.instance_id for share in self.shares(conn, resource_id)]),
            (states.SNAPSHOT, [snapshot.id for snapshot in self.snapshots(conn, resource_id)]),
        ):
            transitions.begin_many(conn, machine, self.cut_over_verb, row_ids)

    def close(
        self, conn: Connection, ctx: context.RequestContext, resource_id: str, data: MigrateServer
    ) -> Wake | None:
        """Have the source's backend end the exports if a host copied the shares. A driver has halted the source."""
        if not data.by_host:
            return None
        return begin_once(
            conn,
            ctx,
            self.close_kind,
            'share_server',
            resource_id,
            topic='share',
            host=data.source_host,
            lane=FAST,
            mutex_key=f'rules:{resource_id}',
            unique_key=f'close:{resource_id}',
        )

    def finish(self, conn: Connection, work: Work[MigrateServer]) -> None:
        source, data = work.resource_id, work.data
        share_networks.lock(conn, data.network_id, states.SHARE_NETWORK.statuses)
        share_server_migration.lock_rules(conn, source)
        # Shares that changed their server at the same backend were not copied.
        copied = backend_of(data.source_host) != work.op.host
        left = what_is_left(conn, source) if copied else ReleaseServer()
        self.settle(conn, work, self.migrate_verb, ok=True)
        rows = self.shares(conn, source)
        _move_all(conn, work, rows)
        _move_rules(conn, work, [row.id for row in rows])
        snapshot_access.begin_all(conn, work.ctx, [row.id for row in rows], work.op.host, moved=True)
        if data.keeps_addresses:
            share_server_migration.take_addresses(conn, source, data.target)
        key_values.replace(conn, share_server_details, data.target, data.moved.details)
        owners = {row.id: row.project_id for row in rows}
        state = self.task_state_at_end(conn, work, owners, left, data.target)
        transitions.finish(
            conn,
            states.SHARE_SERVER,
            'receive',
            data.target,
            task_state=state,
            is_auto_deletable=True,
            **share_server_capabilities.reported(conn, work.op.host),
        )
        transitions.finish(conn, states.SHARE_SERVER, 'migrate', source, task_state=state)
        transitions.begin(conn, states.SHARE_SERVER, 'delete', source)
        begin(
            conn,
            work.ctx,
            share_server_migration.RELEASE,
            'share_server',
            source,
            topic='share',
            host=data.source_host,
            mutex_key=f'server:{source}',
            data=left,
        )
        self.announce_end(work, Phase.COMPLETE)


def _move_all(conn: Connection, work: Work[MigrateServer], rows: Iterable[Any]) -> None:
    """Move the shares, and their snapshots, to the target, with their places there."""
    data, there = work.data, {row.instance_id for row in rows}
    export_locations.set_of_instances(
        conn,
        {
            instance_id: locations
            for instance_id, locations in data.moved.exports.items()
            if instance_id in there
        },
    )
    share_server_migration.set_provider_locations(conn, data.moved.provider_locations)
    share_server_migration.move_shares(
        conn,
        work.resource_id,
        data.target,
        {
            'host': f'{work.op.host}#{data.pool}',
            'availability_zone_id': data.zone_id,
            'cast_rules_to_readonly': False,
            'share_network_id': data.network_id,
            'copy_client': None,
            'copy_client_key': None,
        },
    )
    share_server_migration.set_hosts(
        conn,
        {
            share: f'{work.op.host}#{pool}'
            for share, pool in data.pools.items()
            if share in there and pool != data.pool
        },
    )


def _move_rules(conn: Connection, work: Work[MigrateServer], share_ids: list[str]) -> None:
    """End the work on access rules at the source, which may be down for ever, and have this backend do it.

    The driver was given the rules of the beginning of the cut-over, a host those of the end of its copy, if that is known.
    They are applied once more where they changed since, and where the source had not applied a change yet.
    """
    told = work.data.rules_at_target if work.data.by_host else work.data.moved.rules
    now = access.granted_rules(conn, share_ids)
    late = access.shares_with_pending_rules(conn, share_ids)
    late |= {share_id for share_id in share_ids if rule_levels(now.get(share_id, ())) != told.get(share_id)}
    operations.supersede_many(conn, share_ids, (access.SYNC,))
    apply_rules_of(conn, work.ctx, sorted(late), work.op.host)


def rule_levels(rules: Iterable[Any]) -> list[list[str]]:
    """Return the ids and levels of a set of access rules, to compare it with another."""
    return sorted([rule.id, rule.level] for rule in rules)


#: The adapter of share servers.
SERVERS = ServerMigrations()


def what_is_left(conn: Connection, source: str) -> ReleaseServer:
    """Return the server's shares and snapshots, for a backend that is to delete them when their rows may have changed."""
    rows = share_server_migration.shares_of(conn, source)
    instances = {row.id: row.instance_id for row in rows}
    return ReleaseServer(
        shares=[
            values.Share(
                row.instance_id,
                row.id,
                row.project_id,
                row.size,
                row.share_proto,
                (row.host or '').partition('#')[2],
            )
            for row in rows
        ],
        snapshots=[
            LeftSnapshot(row.id, row.size, row.provider_location, instances[row.share_id])
            for row in share_server_migration.snapshots_of(conn, source)
        ],
    )


def apply_rules(conn: Connection, ctx: context.RequestContext, source: str, host: str) -> Wake:
    """Have the backend that the server leaves apply the access rules of all its shares, as they are now."""
    key = f'rules:{source}'
    return begin_once(
        conn,
        ctx,
        share_server_migration.RULES,
        'share_server',
        source,
        topic='share',
        host=host,
        lane=FAST,
        mutex_key=key,
        unique_key=key,
    )
