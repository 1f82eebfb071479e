# SPDX-License-Identifier: Apache-2.0
"""Destinations in a backend or pool, for a share or for all shares of a share server: one pool, or a pool for each share.

What moves is described by a ``Demand``, which a migration is, too. Only shares that are in its ``parts`` can be spread over
several pools.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import errors
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import pool_reports, share_server_queries
from manila_lite.operation_data.migrations import Demand
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.scheduler.placement import Placement, why_none
from manila_lite.scheduler.spreading import Claim, spread

#: The capability of a pool that says whether its driver can spread the shares of a share server over several pools.
CAPABILITY = 'server_migration_spread_support'


@dataclasses.dataclass(frozen=True)
class Destination:
    """A pool, and the capacity that is needed. ``pools``: the pool of each share by its instance id, if there are several.

    ``claims`` are in the order of their pools, so that two transactions do not wait for each other.
    """

    pool: PoolState
    claims: tuple[Claim, ...]
    pools: Mapping[str, PoolState] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the pool within its backend."""
        return _name(self.pool)

    @property
    def names(self) -> dict[str, str]:
        """The names of the pools of the shares within their backend, if there are several."""
        return {share: _name(pool) for share, pool in self.pools.items()}

    @property
    def claimed(self) -> tuple[str, float]:
        """The pool and the GiB of the claim of it."""
        return self.pool.host, sum(
            needed.size for needed in self.claims if needed.pool.host == self.pool.host
        )

    @property
    def claimed_beside(self) -> dict[str, float]:
        """The GiB of the claims of other pools."""
        return {needed.pool.host: needed.size for needed in self.claims if needed.pool.host != self.pool.host}


def find(
    conn: Connection,
    scheduler: Any,
    data: Demand,
    project_id: str | None,
    pools: Iterable[PoolState] | None = None,
) -> Destination:
    """Return the best destination for what ``data`` describes. Claim nothing.

    ``pools``: the pools to choose from, perhaps with other promises than those of now; without it, all as they are.

    :raises errors.NoValidHost: there is none; the message names the filter.
    """
    return candidates(conn, scheduler, data, project_id, pools)[0]


def candidates(
    conn: Connection,
    scheduler: Any,
    data: Demand,
    project_id: str | None,
    pools: Iterable[PoolState] | None = None,
) -> list[Destination]:
    """Return destinations that suit the shares of every type, the best first. There is at least one. See ``find``.

    :raises errors.NoValidHost: there is none; the message names the filter.
    """
    # Only these are asked, so that a refusal counts and names no pool of another backend.
    there = [
        pool
        for pool in (scheduler.hosts.pools(conn) if pools is None else pools)
        if data.to is None or data.to in pool.host_names
    ]
    if not there:
        raise errors.NoValidHost(
            f'{data.to} has not reported any pool.',
            detail='NO_VALID_HOST',
            told='The destination has not reported any pool.',
        )
    requests = _requests(conn, data, project_id)
    try:
        return _in_one(scheduler.placement, requests, there)
    except errors.NoValidHost as none:
        if not _may_spread(scheduler, data, there):
            raise
        return [_in_several(scheduler.placement, requests, there, data, none)]


def claim(conn: Connection, scheduler: Any, destination: Destination) -> bool:
    """Claim the capacity that the destination needs. Return whether it is still there.

    If it returns False, the transaction may have claimed a part, and has to be rolled back.
    """
    for needed in destination.claims:
        if not pool_reports.claim_space(
            conn, needed.pool.host, needed.pool.generation, needed.size, needed.most
        ):
            return False
    for needed in destination.claims:
        scheduler.hosts.claimed(needed.pool, needed.size)
    return True


def _requests(conn: Connection, data: Demand, project_id: str | None) -> dict[str | None, PlacementRequest]:
    """Return a request for the whole capacity for each share type."""
    # Shares of an old release may have no share type; ``types`` does not count these.
    kinds = dict.fromkeys((*data.types, *(part.type_id for part in data.parts)))
    specs = key_values.of_many(conn, share_type_extra_specs, data.types)
    subnets = share_server_queries.subnets_by_zone(conn, data.network_id) if data.network_id else None
    return {
        kind: PlacementRequest(
            size=data.size,
            proto=data.proto,
            project_id=project_id,
            subnets=subnets,
            extra_specs=specs.get(kind, {}) if kind else {},
            only_host=data.to,
            excluded=data.excluded,
        )
        for kind in kinds
    }


def _may_spread(scheduler: Any, data: Demand, there: list[PoolState]) -> bool:
    """Say whether shares may be spread over the pools: those of one backend, of which the caller named none."""
    # A share manager of an older release could not be told.
    return bool(
        data.to
        and '#' not in data.to
        and len(there) > 1
        and len(data.parts) > 1
        and not _has_older(scheduler)
    )


def _has_older(scheduler: Any) -> bool:
    """Say whether processes of an older release may run, according to ``[upgrade_levels] operations``."""
    return bool(scheduler.services.conf.upgrade_levels.operations != 'auto')


def _in_one(
    placement: Placement, requests: Mapping[str | None, PlacementRequest], there: list[PoolState]
) -> list[Destination]:
    left: dict[str, Destination] | None = None
    for request in requests.values():
        result = placement.place(request, there)
        if not result.candidates:
            text, detail = why_none(result)
            raise errors.NoValidHost(text, detail=detail, told=why_none(result, for_admin=False)[0])
        these = {
            pool.host: Destination(
                pool, (Claim(pool, request.size, pool.claimed_gb + headroom(request, pool)),)
            )
            for pool in result.candidates
        }
        left = these if left is None else {host: these[host] for host in left if host in these}
    if not left:
        raise errors.NoValidHost(
            'No single pool there fits the shares of all share types.', detail='NO_VALID_HOST'
        )
    return list(left.values())


def _in_several(
    placement: Placement,
    requests: Mapping[str | None, PlacementRequest],
    there: list[PoolState],
    data: Demand,
    none: errors.NoValidHost,
) -> Destination:
    """Return a destination with a pool for each share. ``none`` says why there is no single pool.

    :raises errors.NoValidHost: there is none, or the driver does not support it.
    """
    can = all(pool.capabilities.get(CAPABILITY) for pool in there)
    try:
        pools, claims = spread(
            placement,
            [(share, dataclasses.replace(requests[kind], size=size)) for share, kind, size in data.parts],
            there,
        )
    except errors.NoValidHost as neither:
        if not can:
            raise none from None
        raise errors.NoValidHost(
            f'The shares fit neither into one pool of {data.to} nor spread over its pools. {neither}',
            detail=neither.detail,
        ) from None
    if not can:
        raise errors.NoValidHost(
            f'No single pool of {data.to} fits all shares, and its driver cannot spread the shares of one share server over '
            'several pools.',
            detail=none.detail,
        )
    largest = max(data.parts, key=lambda part: part.size)
    return Destination(pools[largest.instance_id], claims, pools)


def _name(pool: PoolState) -> str:
    return pool.host.partition('#')[2]
