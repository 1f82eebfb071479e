# SPDX-License-Identifier: Apache-2.0
"""Placing of many new shares, or of the growth of many, at once: one look at shares and types, one claim for each pool,
one write for each backend.
"""

import collections
import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, extra_specs
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import pool_reports, shares
from manila_lite.engine import Work
from manila_lite.engine.plans import hold_many, pass_on_many
from manila_lite.operation_data.shares import CreateShare, ResizeShare
from manila_lite.scheduler import host_states
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PlacementRequest, PoolState

LOG = log.getLogger(__name__)

#: Columns of a share that make placing look at other shares. Such a share is placed alone.
_MORE_COLUMNS = ('snapshot_id', 'share_group_id', 'source_share_group_snapshot_member_id', 'share_network_id')


@dataclasses.dataclass
class _Promise:
    """The shares for one pool. ``most``: what may be claimed of it since its report, by the strictest of them."""

    pool: PoolState
    most: float = math.inf
    size: int = 0
    chosen: list[tuple[Work[Any], Any]] = dataclasses.field(default_factory=list)


def _by_name() -> collections.defaultdict[str, list[Work[Any]]]:
    return collections.defaultdict(list)


def place_many(works: Sequence[Work[CreateShare]]) -> None:
    """Choose pools for shares, claim their capacity, and pass the operations on to the backends, in one transaction.

    Shares that need a look at other shares are left out, and those for which no pool was found or claimed: to say why, or
    to wait, is the matter of placing one share.
    """
    with works[0].ctx.db.writer() as conn:
        hold_many(conn, works)
        promises = _choose(conn, works[0].service, _requests(conn, works))
        kept = [
            promise
            for promise in promises
            if pool_reports.claim_space(
                conn, promise.pool.host, promise.pool.generation, promise.size, promise.most
            )
        ]
        now, by_backend = timeutils.utcnow(), _by_name()
        for promise in kept:
            shares.update_instances(
                conn,
                [row.instance_id for _, row in promise.chosen],
                host=promise.pool.host,
                scheduled_at=now,
                availability_zone_id=promise.pool.availability_zone_id,
            )
            by_backend[promise.pool.backend] += [work for work, _ in promise.chosen]
        for backend, passed in by_backend.items():
            pass_on_many(conn, passed, 'share', backend)
    for promise in kept:
        for work, row in promise.chosen:
            context.known_as(work.ctx)
            LOG.info('%s: placed on %s', row.id, promise.pool.host)


def _requests(
    conn: Connection, works: Sequence[Work[CreateShare]]
) -> list[tuple[Work[CreateShare], Any, PlacementRequest]]:
    """Return the share's row and the request of each work that can be placed without a look at other shares."""
    rows = shares.list_by_ids(conn, [work.resource_id for work in works])
    plain = [
        (work, rows[work.resource_id])
        for work in works
        if work.resource_id in rows
        and not (work.data.hints or work.data.excluded or work.data.member)
        and not any(getattr(rows[work.resource_id], name) for name in _MORE_COLUMNS)
    ]
    specs = _specs(conn, plain)
    return [
        (
            work,
            row,
            PlacementRequest(
                size=row.size,
                proto=row.share_proto,
                project_id=row.project_id,
                availability_zone=work.data.zone,
                extra_specs=specs_for(work, specs.get(row.share_type_id, {})),
            ),
        )
        for work, row in plain
    ]


def _specs(conn: Connection, chosen: Iterable[tuple[Work[Any], Any]]) -> dict[str, dict[str, str]]:
    """Return the extra specs of the types of these shares, by type."""
    return key_values.of_many(
        conn, share_type_extra_specs, {row.share_type_id for _, row in chosen if row.share_type_id}
    )


def specs_for(work: Work[CreateShare], specs: Mapping[str, str]) -> dict[str, str]:
    """Return the extra specs of a share's type, without its zones if the request is of a version that ignores them."""
    wanted = dict(specs)
    if not work.data.zones_of_type:
        wanted.pop(extra_specs.ZONES, None)
    return wanted


def _choose(
    conn: Connection, scheduler: Any, requests: Sequence[tuple[Work[Any], Any, PlacementRequest]]
) -> list[_Promise]:
    """Choose the best pool for each request, as if the ones before had been granted. Return the pools in a fixed order, since
    other schedulers claim them too.
    """
    promises: dict[str, _Promise] = {}
    for work, row, request in requests:
        candidates = scheduler.placement.place(request, scheduler.hosts.pools(conn)).candidates
        if not candidates:
            continue
        pool = candidates[0]
        most = pool.claimed_gb + headroom(request, pool)
        promise = promises.get(pool.host)
        if promise is None or promise.pool.generation != pool.generation:
            promise = promises[pool.host] = _Promise(pool, most)
        promise.most = min(promise.most, most)
        promise.size += request.size
        promise.chosen.append((work, row))
        scheduler.hosts.claimed(pool, request.size)
    return [promises[host] for host in sorted(promises)]


def grow_many(works: Sequence[Work[ResizeShare]]) -> None:
    """Claim the capacity that shares grow by on their pools, and pass the operations on to the backends, in one transaction.

    Shares that do not fit are left out, and those of pools that changed meanwhile: to say why is the matter of one share.
    """
    with works[0].ctx.db.writer() as conn:
        hold_many(conn, works)
        by_backend = _by_name()
        for promise in _growth(conn, works):
            if pool_reports.claim_space(
                conn, promise.pool.host, promise.pool.generation, promise.size, promise.most
            ):
                by_backend[promise.pool.backend] += [work for work, _ in promise.chosen]
        for backend, passed in by_backend.items():
            pass_on_many(conn, passed, 'share', backend)


def _growth(conn: Connection, works: Sequence[Work[ResizeShare]]) -> list[_Promise]:
    """Return the growth that fits each pool, with its shares, in a fixed order of the pools."""
    rows = shares.list_by_ids(conn, [work.resource_id for work in works])
    placed = [
        (work, rows[work.resource_id])
        for work in works
        if work.resource_id in rows and rows[work.resource_id].host
    ]
    specs = _specs(conn, placed)
    pools = host_states.now(conn, {row.host for _, row in placed}, works[0].ctx.conf.service_down_time)
    promises = {host: _Promise(pool) for host, pool in sorted(pools.items())}
    for work, row in placed:
        if row.host in promises:
            promise, pool = promises[row.host], pools[row.host]
            more = work.data.growth
            request = PlacementRequest(
                size=more,
                proto=row.share_proto,
                project_id=row.project_id,
                extra_specs=specs.get(row.share_type_id, {}),
            )
            most = min(promise.most, pool.claimed_gb + headroom(request, pool))
            if pool.claimed_gb + promise.size + more <= most:
                promise.most, promise.size = most, promise.size + more
                promise.chosen.append((work, row))
    return [promise for promise in promises.values() if promise.chosen]
