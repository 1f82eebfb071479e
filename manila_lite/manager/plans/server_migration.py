# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server to this backend: the adapter of ``migration.py`` for share servers.

The target is a second server, which takes over the shares and, in the same share network, the addresses. At the end an
operation of its own deletes the source at its backend (``migration_source.py``).
"""

import dataclasses
from typing import Any

from manila_lite import engine, errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import (
    access,
    operations,
    server_migration,
    share_networks,
    share_server_capabilities,
    share_server_queries,
    shares,
)
from manila_lite.drivers.interface import CAPABILITIES, spreads_servers
from manila_lite.engine import Plan, Step, Wake, Work
from manila_lite.manager.plans import (
    admin_network,
    former_exports,
    host_assisted_servers,
    server_addresses,
    share_servers,
)
from manila_lite.manager.plans.host_assisted_servers import marks
from manila_lite.manager.plans.migration import DriverCalls, Steps
from manila_lite.manager.plans.share_server_values import load, network
from manila_lite.manager.plans.task import to_kind
from manila_lite.network import load as plugins
from manila_lite.operation_data import left_copies
from manila_lite.operation_data.left_copies import ClearServer, ReleaseServer
from manila_lite.operation_data.migrations import Answer, MigrateServer, MovedServer
from manila_lite.states import Migration
from manila_lite.workflow import server_migration as server_migration_workflow
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules_of
from manila_lite.workflow.migration import Phase
from manila_lite.workflow.server_migration import SERVERS


class ServerSteps(Steps[MigrateServer]):
    """Migrations of share servers to this backend."""

    migrations = SERVERS
    ability = values.Ability.MIGRATE_SERVER
    refusal = 'The driver of the backend does not support the migration of share servers to it.'
    interval_option = 'server_migration_driver_continue_update_interval'

    def driver_calls(self, work: Work[Any]) -> DriverCalls:
        """Return the driver's methods."""
        driver = work.service.driver
        return DriverCalls(
            check=driver.share_server_migration_check_compatibility,
            start=driver.share_server_migration_start,
            carry_on=driver.share_server_migration_continue,
            progress=driver.share_server_migration_get_progress,
            complete=driver.share_server_migration_complete,
            cancel=driver.share_server_migration_cancel,
        )

    def host_calls(self, work: Work[Any]) -> DriverCalls:
        """Return the methods of this host."""
        return host_assisted_servers.calls(work)

    def migration(self, work: Work[MigrateServer], *, planned: bool = False) -> values.ServerMigration:
        """Return the migration as it is now. A target without a row is one that is only planned."""
        data = work.data
        with work.ctx.db.reader() as conn:
            source, target = _servers(conn, work)
            rows = server_migration.shares_of(conn, source.id)
            exports = shares.export_locations_of(conn, [row.instance_id for row in rows])
            rules = access.granted_rules(conn, [row.id for row in rows], cast=False)
            snapshots = server_migration.snapshots_of(conn, source.id)
        moving = {row.id: to_kind(row, {}, exports.get(row.instance_id, ()), server=source) for row in rows}
        return values.ServerMigration(
            source,
            data.source_host,
            target,
            data.pool,
            tuple(moving.values()),
            tuple(
                values.Snapshot(
                    row.id, moving[row.share_id], row.size, provider_location=row.provider_location
                )
                for row in snapshots
            ),
            {moving[share_id].id: tuple(granted) for share_id, granted in rules.items()},
            data.keeps_addresses,
            data.was_idle,
            data.pools,
            **data.options,
        )

    def task_state(self, conn: Connection, work: Work[MigrateServer]) -> str | None:
        """Return the task state of the source, or None if it is gone."""
        servers = share_server_queries.list_by_ids(conn, (work.resource_id,))
        return servers[0].task_state if servers else None

    def lock(self, target: str) -> Any:
        """Return the lock of the target."""
        return share_servers.alone(target)

    def ask_driver(self, work: Work[MigrateServer]) -> Answer:
        """Return the answer of the driver, with the idle server that it chooses as the target, if any.

        :raises errors.Final: it refuses, or is another one than the scheduler knew, and cannot spread shares.
        """
        _driver_must_fit(work)
        support = super().ask_driver(work)
        with work.ctx.db.reader() as conn:
            can = share_server_capabilities.reported(conn, work.service.host)
        return dataclasses.replace(
            support,
            replicas=can[CAPABILITIES[values.Ability.MIGRATE_REPLICATED]],
            server=self._chosen(work) if support.compatible and not work.data.keeps_addresses else None,
        )

    def _chosen(self, work: Work[MigrateServer]) -> str | None:
        network_id = work.data.network_id
        with work.ctx.db.reader() as conn:
            subnets = share_server_queries.subnets_for(conn, network_id, work.data.zone_id)
            idle = load(
                conn,
                share_server_queries.list_idle(
                    conn, work.op.host, network_id, [subnet.id for subnet in subnets]
                ),
            )
        chosen = work.service.driver.choose_share_server_compatible_for_migration(
            tuple(idle.values()), self.migration(work)
        )
        if chosen is not None and chosen not in idle:
            raise errors.ManilaLiteError(
                f'The backend chose share server {chosen}, which is not among those that are idle.'
            )
        return None if chosen is None else str(chosen)

    def reserve(self, work: Work[MigrateServer]) -> None:
        """Give the target addresses, unless it takes over those of the source; in the administrators' network of this backend
        in any case.

        :raises errors.Final: the driver is another one than the scheduler knew, and cannot spread shares.
        """
        if not work.data.by_host:
            _driver_must_fit(work)
        self.enter(work, Migration.IN_PROGRESS)
        target = work.data.target
        admin_network.allocate(work, target)
        if work.data.keeps_addresses:
            return
        with work.ctx.db.reader() as conn:
            subnets = share_server_queries.subnets_of(conn, (target,)).get(target, [])
        plugin = plugins.make(work.ctx.conf)
        for subnet in subnets:
            server_addresses.allocate(
                work.ctx.services,
                plugin,
                target,
                subnet,
                work.service.driver.ALLOCATIONS_PER_SUBNET,
                work.hold,
            )

    def release(self, work: Work[MigrateServer]) -> None:
        """Free the target's addresses, unless it had them before."""
        if not work.data.cut and not work.data.was_idle:
            admin_network.free(work, work.data.target)
            server_addresses.free(
                work.ctx.services, plugins.make(work.ctx.conf), work.data.target, hold=work.hold
            )

    def apply_rules(self, conn: Connection, work: Work[MigrateServer], *, readonly: bool) -> Wake:
        """Have the source's backend apply the rules of all shares."""
        work.hold(conn)
        return SERVERS.apply_rules(conn, work.ctx, work.resource_id, work.data, readonly=readonly)

    def noted(self, work: Work[ClearServer]) -> values.ServerMigration:
        """Return the migration that the note is about. Its source may be gone by now."""
        data = work.data
        with work.ctx.db.reader() as conn:
            target = share_servers.load_server(conn, work)
            source = load(conn, (data.source,)).get(data.source) or dataclasses.replace(
                target, id=data.source
            )
        moving = left_copies.on(data.shares, source)
        return values.ServerMigration(
            source,
            data.source_host,
            target,
            data.pool,
            tuple(moving.values()),
            tuple(snapshot.of(moving[snapshot.share]) for snapshot in data.snapshots),
            keeps_addresses=data.keeps_addresses,
            was_idle=data.was_idle,
            pools=data.pools,
            **data.options,
        )

    def keep(
        self, work: Work[MigrateServer], migration: values.ServerMigration, moved: values.MigratedServer
    ) -> None:
        """Keep where the shares and their snapshots are now."""
        missing = [share.id for share in migration.shares if share.id not in moved.export_locations]
        if missing:
            raise errors.ManilaLiteError(f'The backend did not report where {len(missing)} shares are now.')
        work.data.moved = MovedServer(
            rules={share.share_id: marks(migration.rules.get(share.id, ())) for share in migration.shares},
            details=dict(moved.details),
            provider_locations=dict(moved.provider_locations),
            exports={
                instance_id: list(locations) for instance_id, locations in moved.export_locations.items()
            },
        )

    def begin_to_close(self, conn: Connection, work: Work[MigrateServer]) -> Wake | None:
        """Have the source's backend end the exports if a host copied the shares. A driver has halted the source."""
        if not work.data.by_host:
            return None
        return former_exports.begin_server(conn, work.ctx, work.resource_id, work.data.source_host)

    def finish(self, conn: Connection, work: Work[MigrateServer]) -> None:
        """Move shares, snapshots and addresses to the target, and begin to delete the source."""
        source, target, data = work.resource_id, work.data.target, work.data
        share_networks.lock(conn, data.network_id, states.SHARE_NETWORK.statuses)
        server_migration.lock_rules(conn, source)
        left = _what_is_left(conn, source, copied=engine.backend_of(data.source_host) != work.op.host)
        SERVERS.settle(conn, work, SERVERS.migrate_verb, ok=True)
        rows = server_migration.shares_of(conn, source)
        there, moved = {row.instance_id for row in rows}, [row.id for row in rows]
        shares.set_export_locations_of(
            conn,
            {
                instance_id: locations
                for instance_id, locations in data.moved.exports.items()
                if instance_id in there
            },
        )
        server_migration.set_provider_locations(conn, data.moved.provider_locations)
        server_migration.move_shares(
            conn,
            source,
            target,
            {
                'host': f'{work.op.host}#{data.pool}',
                'availability_zone_id': data.zone_id,
                'cast_rules_to_readonly': False,
                'share_network_id': data.network_id,
                'copier': None,
                'copier_key': None,
            },
        )
        server_migration.set_hosts(
            conn,
            {
                share: f'{work.op.host}#{pool}'
                for share, pool in data.pools.items()
                if share in there and pool != data.pool
            },
        )
        _move_rules(conn, work, moved)
        snapshot_access.begin_all(conn, work.ctx, moved, work.op.host, moved=True)
        if data.keeps_addresses:
            server_migration.take_addresses(conn, source, target)
        key_values.replace(conn, share_server_details, target, data.moved.details)
        state = former_exports.end(
            conn, work, server_migration.CLOSE, {row.id: row.project_id for row in rows}, left, target
        )
        transitions.finish(
            conn,
            states.SHARE_SERVER,
            'receive',
            target,
            task_state=state,
            is_auto_deletable=True,
            **share_server_capabilities.reported(conn, work.op.host),
        )
        transitions.finish(conn, states.SHARE_SERVER, 'migrate', source, task_state=state)
        transitions.begin(conn, states.SHARE_SERVER, 'delete', source)
        engine.begin(
            conn,
            work.ctx,
            server_migration.RELEASE,
            'share_server',
            source,
            topic='share',
            host=data.source_host,
            serial=f'server:{source}',
            data=left,
        )
        SERVERS.announce_end(work, Phase.COMPLETE)


def _driver_must_fit(work: Work[MigrateServer]) -> None:
    """Refuse to spread shares if the driver cannot. Its last report is of the time before, if it was replaced since."""
    if work.data.pools and not spreads_servers(work.service.driver):
        raise errors.Final(
            f'The driver of {work.op.host} cannot spread the shares of one share server over several pools.'
        )


def _move_rules(conn: Connection, work: Work[MigrateServer], share_ids: list[str]) -> None:
    """End the work on access rules at the source, which may be down for ever, and have this backend do it.

    The driver was given the rules of the beginning of the cut-over, a host those of the end of its copy, if that is known.
    They are applied once more where they changed since, and where the source had not applied a change yet.
    """
    told = work.data.rules_at_target if work.data.by_host else work.data.moved.rules
    now = access.granted_rules(conn, share_ids)
    late = access.shares_with_pending_rules(conn, share_ids)
    late |= {share_id for share_id in share_ids if marks(now.get(share_id, ())) != told.get(share_id)}
    operations.supersede_many(conn, share_ids, (access.SYNC,))
    apply_rules_of(conn, work.ctx, sorted(late), work.op.host)


def _servers(conn: Connection, work: Work[MigrateServer]) -> tuple[values.ShareServer, values.ShareServer]:
    """Return source and target. A target that takes over the source's addresses has them from the cut-over on."""
    data = work.data
    loaded = load(conn, (work.resource_id, data.target))
    source = loaded.get(work.resource_id)
    if source is None:
        raise errors.Final(f'Share server {work.resource_id} is gone.')
    target = loaded.get(data.target) or values.ShareServer(
        data.target,
        share_network_id=data.network_id,
        project_id=source.project_id,
        networks=tuple(
            network(subnet, (), {})
            for subnet in share_server_queries.subnets_for(conn, data.network_id, data.zone_id)
        ),
    )
    if data.cut and data.keeps_addresses:
        target = dataclasses.replace(target, networks=source.networks)
    return source, target


def _what_is_left(conn: Connection, source: str, *, copied: bool) -> ReleaseServer:
    """Return what the source's backend may delete once it is no longer needed: nothing if the shares were not ``copied``,
    but changed their server at the same backend.
    """
    return server_migration_workflow.what_is_left(conn, source) if copied else ReleaseServer()


STEPS = ServerSteps()
PLANS: list[Plan[Any]] = [
    *STEPS.plans(Step(STEPS.reserve, STEPS.release)),
    Plan(
        SERVERS.clear_kind,
        (Step(STEPS.clear), Step(share_servers.teardown), Step(share_servers.free, name='deallocate')),
        share_servers.removed,
        share_servers.not_removed,
        data=ClearServer,
    ),
]
