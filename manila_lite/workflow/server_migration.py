# SPDX-License-Identifier: Apache-2.0
"""Migrations of share servers in the database."""

from collections.abc import Iterable
from typing import Any

from manila_lite import context, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, messages, server_migration, services, share_server_queries
from manila_lite.engine.begin import Wake, begin, begin_once
from manila_lite.engine.plans import FAST, Work
from manila_lite.operation_data.left_copies import ClearServer, LeftSnapshot, ReleaseServer
from manila_lite.operation_data.migrations import MigrateServer
from manila_lite.states import Migration
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.migration import Migrations, Phase

#: Fields of a migration's data, and of its progress, in notifications.
_TOLD = ('to', 'share_network_id', 'new_share_network_id', 'shares', 'snapshots', 'size')
_TOLD_OF_PROGRESS = ('percent', 'bytes_done', 'bytes_total')


class ServerMigrations(Migrations[MigrateServer]):
    """A share server gets a second server at the target, which takes over its shares, and perhaps its addresses."""

    data = MigrateServer
    kind, check_kind, clear_kind = server_migration.KIND, server_migration.CHECK, server_migration.CLEAR
    resource_type = 'share_server'
    migrate_verb, cut_over_verb = 'server_migrate', 'server_cut_over'
    message_actions = {
        Phase.COPY: messages.Action.MIGRATE_SERVER,
        Phase.COMPLETE: messages.Action.COMPLETE_MIGRATION,
        Phase.CANCEL: messages.Action.CANCEL_MIGRATION,
    }
    leftover = 'target of the migration'

    def swap_task_state(
        self, conn: Connection, resource_id: str, allowed: Iterable[str | None], to: str | None
    ) -> bool:
        """Set the server's task state."""
        return transitions.swap_server_task_state(conn, resource_id, allowed, to)

    def shares(self, conn: Connection, resource_id: str) -> list[Any]:
        """Return the rows of all shares of the server."""
        return server_migration.shares_of(conn, resource_id)

    def snapshots(self, conn: Connection, resource_id: str) -> list[Any]:
        """Return the rows of all snapshots of these shares."""
        return server_migration.snapshots_of(conn, resource_id)

    def restore_source(self, conn: Connection, work: Work[MigrateServer], task_state: Migration) -> None:
        """Set the source to active, with this task state. A host that copied has to be shut out."""
        access.shut_out_copiers(conn, work.resource_id)
        verb = states.SHARE_SERVER['migrate']
        transitions.settle(conn, states.SHARE_SERVER, (work.resource_id,), verb.during, verb.fail)
        transitions.swap_server_task_state(conn, work.resource_id, list(Migration), task_state)

    def remove_target(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Delete the target. One that was idle before is idle again. One with a copy is in error, without its shares, or, if a
        host copied, deleted once more.
        """
        target = work.data.target
        if work.data.left and work.data.by_host:
            self._begin_clear(conn, work)  # its driver would not delete a server with shares
        elif work.data.left:
            transitions.fail(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.ERROR)
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
            access.shut_out_copiers(conn, work.resource_id)
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
        server_migration.cast_rules(conn, resource_id, readonly)
        if data.by_host and not readonly:
            access.shut_out_copiers(conn, resource_id)
            moving = [row.id for row in server_migration.shares_of(conn, resource_id)]
            snapshot_access.begin_all(conn, ctx, moving, data.source_host)
        return apply_rules(conn, ctx, resource_id, data.source_host)

    def leave_note(self, conn: Connection, work: Work[MigrateServer]) -> list[Wake]:
        """Begin the deletion of the target, whether it is new or was idle before."""
        wakes = (
            [self._begin_clear(conn, work)]
            if share_server_queries.list_by_ids(conn, (work.data.target,))
            else []
        )
        self._release_claims(conn, work.data)
        return wakes

    def _begin_clear(self, conn: Connection, work: Work[MigrateServer]) -> Wake:
        """Begin the deletion of the target with everything on it."""
        target, data, left = work.data.target, work.data, what_is_left(conn, work.resource_id)
        transitions.fail(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.ERROR)
        transitions.begin(conn, states.SHARE_SERVER, 'delete', target, source_share_server_id=None)
        return begin(
            conn,
            work.ctx,
            self.clear_kind,
            self.resource_type,
            target,
            topic='share',
            host=work.op.host,
            serial=f'server:{target}',
            open_key=f'server:{target}',
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
            services.release_space(conn, pool, size)

    def payload(self, resource_id: str, data: MigrateServer) -> dict[str, Any]:
        """Return the ids of both servers, the destination, and the progress."""
        return {
            'share_server_id': resource_id,
            'destination_share_server_id': data.target,
            'from': data.source_host,
            **{name: getattr(data, name) for name in _TOLD},
            **{name: getattr(data.progress, name, None) for name in _TOLD_OF_PROGRESS},
        }


#: The adapter of share servers.
SERVERS = ServerMigrations()


def what_is_left(conn: Connection, source: str) -> ReleaseServer:
    """Return the server's shares and snapshots, for a backend that is to delete them when their rows may have changed."""
    rows = server_migration.shares_of(conn, source)
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
            for row in server_migration.snapshots_of(conn, source)
        ],
    )


def apply_rules(conn: Connection, ctx: context.RequestContext, source: str, host: str) -> Wake:
    """Have the backend that the server leaves apply the access rules of all its shares, as they are now."""
    key = f'rules:{source}'
    return begin_once(
        conn,
        ctx,
        server_migration.RULES,
        'share_server',
        source,
        topic='share',
        host=host,
        lane=FAST,
        serial=key,
        open_key=key,
    )
