# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server to this backend: the adapter of ``migration.py`` for share servers.

The target is a second server, which takes over the shares and, in the same share network, the addresses. At the end an
operation of its own deletes the source at its backend (``migration_source.py``).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    export_locations,
    share_server_capabilities,
    share_server_migration,
    share_server_queries,
    unused_share_servers,
)
from manila_lite.drivers.interface import CAPABILITIES, spreads_servers
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import admin_network, allocated_addresses, host_assisted_servers, share_servers
from manila_lite.manager.plans.migration import DriverCalls, Steps
from manila_lite.manager.plans.share_server_values import load, network
from manila_lite.manager.plans.task import to_driver_share
from manila_lite.network import load as plugins
from manila_lite.operation_data import left_copies
from manila_lite.operation_data.left_copies import ClearServer
from manila_lite.operation_data.migrations import Answer, MigrateServer, MovedServer
from manila_lite.states import Migration
from manila_lite.workflow.share_server_migration import SERVERS, rule_levels


def driver_calls(work: Work[Any]) -> DriverCalls:
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


def load_migration(work: Work[MigrateServer], planned: bool) -> values.ServerMigration:
    """Return the migration as it is now. A target without a row is one that is only planned."""
    data = work.data
    with work.ctx.db.reader() as conn:
        source, target = _servers(conn, work)
        rows = share_server_migration.shares_of(conn, source.id)
        exports = export_locations.of_instances(conn, [row.instance_id for row in rows])
        rules = access.granted_rules(conn, [row.id for row in rows], cast=False)
        snapshots = share_server_migration.snapshots_of(conn, source.id)
    moving = {
        row.id: to_driver_share(row, {}, exports.get(row.instance_id, ()), server=source) for row in rows
    }
    return values.ServerMigration(
        source,
        data.source_host,
        target,
        data.pool,
        tuple(moving.values()),
        tuple(
            values.Snapshot(row.id, moving[row.share_id], row.size, provider_location=row.provider_location)
            for row in snapshots
        ),
        {moving[share_id].id: tuple(granted) for share_id, granted in rules.items()},
        data.keeps_addresses,
        data.was_idle,
        data.pools,
        **data.options,
    )


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


def noted(work: Work[ClearServer]) -> values.ServerMigration:
    """Return the migration that the note is about. Its source may be gone by now."""
    data = work.data
    with work.ctx.db.reader() as conn:
        target = share_servers.load_server(conn, work)
        source = load(conn, (data.source,)).get(data.source) or dataclasses.replace(target, id=data.source)
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


def keep(work: Work[MigrateServer], migration: values.ServerMigration, moved: values.MigratedServer) -> None:
    """Keep where the shares and their snapshots are now."""
    missing = [share.id for share in migration.shares if share.id not in moved.export_locations]
    if missing:
        raise errors.ManilaLiteError(f'The backend did not report where {len(missing)} shares are now.')
    work.data.moved = MovedServer(
        rules={share.share_id: rule_levels(migration.rules.get(share.id, ())) for share in migration.shares},
        details=dict(moved.details),
        provider_locations=dict(moved.provider_locations),
        exports={instance_id: list(locations) for instance_id, locations in moved.export_locations.items()},
    )


def _complete_answer(work: Work[MigrateServer], ask: Callable[[], Answer]) -> Answer:
    """Return the answer of the driver, with the idle server that it chooses as the target, if any.

    :raises errors.Final: it refuses, or is another one than the scheduler knew, and cannot spread shares.
    """
    _driver_must_fit(work)
    support = ask()
    with work.ctx.db.reader() as conn:
        can = share_server_capabilities.reported(conn, work.service.host)
    return dataclasses.replace(
        support,
        replicas=can[CAPABILITIES[values.Ability.MIGRATE_REPLICATED]],
        server=_chosen(work) if support.compatible and not work.data.keeps_addresses else None,
    )


def _chosen(work: Work[MigrateServer]) -> str | None:
    network_id = work.data.network_id
    with work.ctx.db.reader() as conn:
        subnets = share_server_queries.subnets_for(conn, network_id, work.data.zone_id)
        idle = load(
            conn,
            unused_share_servers.list_idle(conn, work.op.host, network_id, [subnet.id for subnet in subnets]),
        )
    chosen = work.service.driver.choose_share_server_compatible_for_migration(
        tuple(idle.values()), load_migration(work, True)
    )
    if chosen is not None and chosen not in idle:
        raise errors.ManilaLiteError(
            f'The backend chose share server {chosen}, which is not among those that are idle.'
        )
    return None if chosen is None else str(chosen)


def _driver_must_fit(work: Work[MigrateServer]) -> None:
    """Refuse to spread shares if the driver cannot. Its last report is of the time before, if it was replaced since."""
    if work.data.pools and not spreads_servers(work.service.driver):
        raise errors.Final(
            'The driver of the destination cannot spread the shares of one share server over several pools.'
        )


STEPS = Steps(
    SERVERS,
    ability=values.Ability.MIGRATE_SERVER,
    refusal='The driver of the backend does not support the migration of share servers to it.',
    interval_option='server_migration_driver_continue_update_interval',
    lock=share_servers.alone,
    driver_calls=driver_calls,
    host_calls=host_assisted_servers.calls,
    load=load_migration,
    noted=noted,
    keep=keep,
    complete_answer=_complete_answer,
)


def reserve(work: Work[MigrateServer]) -> None:
    """Give the target addresses, unless it takes over those of the source; in the administrators' network of this backend
    in any case.

    :raises errors.Final: the driver is another one than the scheduler knew, and cannot spread shares.
    """
    if not work.data.by_host:
        _driver_must_fit(work)
    STEPS.enter(work, Migration.IN_PROGRESS)
    target = work.data.target
    admin_network.allocate(work, target)
    if work.data.keeps_addresses:
        return
    with work.ctx.db.reader() as conn:
        subnets = share_server_queries.subnets_of(conn, (target,)).get(target, [])
    plugin = plugins.make(work.ctx.conf)
    for subnet in subnets:
        allocated_addresses.allocate(
            work.ctx.services, plugin, target, subnet, work.service.driver.ALLOCATIONS_PER_SUBNET, work.hold
        )


def release(work: Work[MigrateServer]) -> None:
    """Free the target's addresses, unless it had them before, or something of it is left that may use them."""
    if not (work.data.cut or work.data.was_idle or work.data.left):
        admin_network.free(work, work.data.target)
        allocated_addresses.free(
            work.ctx.services, plugins.make(work.ctx.conf), work.data.target, hold=work.hold
        )


PLANS: list[Plan[Any]] = [
    *STEPS.plans(Step(reserve, release)),
    Plan(
        SERVERS.clear_kind,
        (Step(STEPS.clear), Step(share_servers.teardown), Step(share_servers.free, name='deallocate')),
        share_servers.removed,
        share_servers.not_removed,
        data=ClearServer,
    ),
]
