# SPDX-License-Identifier: Apache-2.0
"""Destinations in a backend or pool, for a share or for all shares of a share server, which must fit into one pool.

What moves is described by plain data, as operations have it: ``to`` (a backend or a pool), ``size`` (GiB of all shares),
``types`` (ids of their share types), ``proto`` and ``network_id``; ``excluded`` if pools are excluded.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import services, share_server_queries
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PoolState, Request
from manila_lite.scheduler.placement import why_none


@dataclasses.dataclass(frozen=True)
class Claim:
    """Capacity to be claimed: ``size`` GiB of the pool, of which ``most`` GiB may be claimed."""

    pool: PoolState
    size: float
    most: float


@dataclasses.dataclass(frozen=True)
class Destination:
    """The pool that suits all shares, and the capacity that they need there."""

    pool: PoolState
    claims: tuple[Claim, ...]

    @property
    def pool_name(self) -> str:
        """The name of the pool within its backend."""
        return self.pool.host.partition('#')[2]


def find(conn: Connection, scheduler: Any, data: Mapping[str, Any], project_id: str | None) -> Destination:
    """Return the best destination for what ``data`` describes. Claim nothing.

    :raises errors.NoValidHost: there is none; the message names the filter.
    """
    return candidates(conn, scheduler, data, project_id)[0]


def candidates(conn: Connection, scheduler: Any, data: Mapping[str, Any], project_id: str | None) -> list[Destination]:
    """Return destinations that suit the shares of every type, the best first. There is at least one.

    :raises errors.NoValidHost: there is none; the message names the filter.
    """
    # Only these are asked, so that a refusal counts and names no pool of another backend.
    there = [pool for pool in scheduler.hosts.pools(conn) if data['to'] in pool.places]
    if not there:
        raise errors.NoValidHost(f'{data["to"]} has not reported any pool.', detail='NO_VALID_HOST')
    left: dict[str, Destination] | None = None
    for request in _requests(conn, data, project_id):
        result = scheduler.placement.place(request, there)
        if not result.candidates:
            raise errors.NoValidHost(why_none(result)[0], detail=why_none(result)[1])
        these = {pool.host: _in_one(pool, request) for pool in result.candidates}
        left = these if left is None else {host: these[host] for host in left if host in these}
    if not left:
        raise errors.NoValidHost('No single pool there fits the shares of all share types.', detail='NO_VALID_HOST')
    return list(left.values())


def claim(conn: Connection, scheduler: Any, destination: Destination) -> bool:
    """Claim the capacity that the destination needs. Return whether it is still there.

    If it returns False, the transaction may have claimed a part, and has to be rolled back.
    """
    for needed in destination.claims:
        if not services.claim_space(conn, needed.pool.host, needed.pool.generation, needed.size, needed.most):
            return False
    for needed in destination.claims:
        scheduler.hosts.claimed(needed.pool, needed.size)
    return True


def _requests(conn: Connection, data: Mapping[str, Any], project_id: str | None) -> list[Request]:
    specs = key_values.of_many(conn, share_type_extra_specs, data['types'])
    network_id = data['network_id']
    subnets = share_server_queries.subnets_by_zone(conn, network_id) if network_id else None
    return [Request(size=data['size'], proto=data['proto'], project_id=project_id, subnets=subnets,
                    extra_specs=specs.get(kind, {}), only_host=data['to'],
                    excluded=data.get('excluded', {})) for kind in data['types']]


def _in_one(pool: PoolState, request: Request) -> Destination:
    return Destination(pool, (Claim(pool, request.size, pool.claimed_gb + headroom(request, pool)),))
