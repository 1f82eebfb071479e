# SPDX-License-Identifier: Apache-2.0
"""The backends that can take a share server or a share off a host that is evacuated, the one with most room first."""

import dataclasses
import itertools
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    evacuation,
    services,
    share_migration,
    share_server_migration,
    share_servers,
    shares,
)
from manila_lite.engine import Work
from manila_lite.operation_data.evacuation import Evacuate
from manila_lite.operation_data.migrations import Demand, Part
from manila_lite.scheduler import destinations
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PlacementRequest, PoolState

#: Backends that are asked about one resource at most.
_MOST = 3


@dataclasses.dataclass(frozen=True)
class EvacuationTarget:
    """A destination: the backend or pool ``to``, and the GiB that the resource takes there, by pool.

    ``must_be_writable``: the backend that the resource leaves is down and cannot make its access rules read-only.
    """

    to: str
    claims: Mapping[str, float]
    has_snapshots: bool
    must_be_writable: bool


@dataclasses.dataclass(frozen=True)
class Found:
    """The best destinations of a resource, and why others are none. ``any_backend``: one that may take resources, if any."""

    targets: list[EvacuationTarget]
    refusal: str
    any_backend: str | None = None


def find(work: Work[Evacuate], row: Any, type_: str) -> Found:
    """Return the best destinations of a resource (a row of ``evacuation.list_after``).

    Room that a plan gave to other resources counts as taken.
    """
    with work.ctx.db.reader() as conn:
        data, has_snapshots = _data(conn, work, row, type_)
        if data is None:
            return Found([], 'It is gone.')
        pools = _allowed(conn, work, row)
        if not pools:
            return Found([], f'No backend may take it{_where(work.data)}.')
        named = _in_order(work.data.to, pools, data.size)
        claims = ((to, _claims(conn, work, row, dataclasses.replace(data, to=to), pools)) for to in named)
        fitting = itertools.islice(filter(operator.itemgetter(1), claims), _MOST)
        is_down = _is_down(conn, work, row)
        places = [EvacuationTarget(to, taken, has_snapshots, is_down) for to, taken in fitting]
        return Found(places, '' if places else _refusal(conn, work, row, data, pools), pools[0].backend)


def _is_down(conn: Connection, work: Work[Evacuate], row: Any) -> bool:
    """Say whether the backend that the resource is on is down."""
    mine = [service for service in services.list_backends(conn) if service.host == row.host.partition('#')[0]]
    return not any(services.is_up(service, work.ctx.conf.service_down_time) for service in mine)


def _claims(
    conn: Connection, work: Work[Evacuate], row: Any, data: Demand, pools: Iterable[PoolState]
) -> dict[str, float]:
    """Return the GiB that the resource needs at the destination, by pool. Nothing, if it cannot be there."""
    try:
        found = destinations.find(conn, work.service, data, row.project_id, pools)
    except errors.NoValidHost:
        return {}
    return {claim.pool.host: claim.size for claim in found.claims}


def _refusal(conn: Connection, work: Work[Evacuate], row: Any, data: Demand, pools: list[PoolState]) -> str:
    """Return why there is no destination: how many pools each filter refused, and the reason for one of them."""
    try:
        destinations.find(
            conn, work.service, dataclasses.replace(data, to=None, parts=[]), row.project_id, pools
        )
    except errors.NoValidHost as none:
        return str(none)
    return 'There are pools for its shares, but no backend has all that it needs.'


def _where(data: Evacuate) -> str:
    if data.to:
        return f': none of {", ".join(data.to)} is up and enabled'
    return '' if data.any_zone else ': none in its availability zone is up and enabled'


def _data(conn: Connection, work: Work[Evacuate], row: Any, type_: str) -> tuple[Demand | None, bool]:
    """Return what the resource needs anywhere, and whether there are snapshots. None if the resource is gone."""
    try:
        if type_ == evacuation.SERVER:
            network_id = share_servers.get(conn, row.id).share_network_id
            rows = share_server_migration.shares_of(conn, row.id)
            snapshots = share_server_migration.snapshots_of(conn, row.id)
        else:
            rows = [shares.get(conn, work.ctx, row.id)]
            network_id = rows[0].share_network_id
            snapshots = share_migration.snapshots_of(conn, row.id)
    except errors.NotFound:
        return None, False
    if not rows:
        return None, False
    return Demand(
        to=None,
        types=sorted(share_server_migration.types_of(rows)),
        network_id=network_id,
        proto=rows[0].share_proto,
        size=sum(share.size for share in rows),
        parts=[Part(share.instance_id, share.share_type_id, share.size) for share in rows],
    ), bool(snapshots)


def _allowed(conn: Connection, work: Work[Evacuate], row: Any) -> list[PoolState]:
    """Return the pools elsewhere that the request allows, in the resource's zone unless it says otherwise."""
    data = work.data
    zones = {service.host: service.zone for service in services.list_backends(conn)}
    zone = zones.get(row.host.partition('#')[0])
    pools = [
        pool
        for pool in work.service.hosts.pools(conn)
        if data.host not in pool.host_names
        and pool.up
        and not pool.disabled
        and (not data.to or any(name in pool.host_names for name in data.to))
        and (data.any_zone or data.to or pool.availability_zone == zone)
    ]
    return [pool.promised(claimed_gb=pool.claimed_gb + data.claims.get(pool.host, 0)) for pool in pools]


def _in_order(named: Iterable[str], pools: Iterable[PoolState], size: float) -> list[str]:
    """Return the backends of the pools, or the pools that are named as destinations, the one with most room first."""
    room: dict[str, float] = {}
    only_pools = {name for name in named if '#' in name}
    request = PlacementRequest(size=int(size))
    for pool in pools:
        name = pool.host if pool.host in only_pools else pool.backend
        room[name] = max(room.get(name, 0.0), headroom(request, pool))
    return sorted(room, key=lambda name: (-room[name], name))
