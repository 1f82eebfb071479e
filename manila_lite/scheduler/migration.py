# SPDX-License-Identifier: Apache-2.0
"""Placing migrations: a share, or a share server, whose shares must all fit into one pool of the other backend."""

from manila_lite import errors
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import operations, share_server_queries, shares
from manila_lite.db.queries import services as rows
from manila_lite.engine import PLACE, Plan, Step, Work
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PoolState, Request
from manila_lite.scheduler.placement import why_none
from manila_lite.workflow.server_migration import SERVERS
from manila_lite.workflow.share_migration import SHARES


def fits(work: Work) -> None:
    """Find a pool of the backend that passes all filters for all shares that move; ask its manager next. Claim nothing.

    :raises errors.NoValidHost: there is no such pool; the message names the filter.
    """
    with work.ctx.db.reader() as conn:
        chosen = _candidates(conn, work)[0][0]
    work.data['pool'] = chosen.host.partition('#')[2]
    work.send = ('share', chosen.host)


def claim(work: Work) -> None:
    """Claim the pool's capacity for all shares that move, and pass the operation on to its backend. Both are one
    transaction, since a report in between would forget the claim.

    :raises errors.NoValidHost: no pool of the backend passes every filter.
    :raises errors.Again: other requests were faster.
    """
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        for pool, request in _candidates(conn, work):
            if rows.claim_space(conn, pool.host, pool.generation, request.size, pool.claimed_gb + headroom(request, pool)):
                work.data['pool'] = pool.host.partition('#')[2]
                work.data['claimed'] = [pool.host, request.size]
                if work.op.kind == SHARES.kind:
                    shares.update_instance(conn, work.data['target'], host=pool.host)
                work.pass_on(conn, 'share', pool.backend)
                work.service.hosts.claimed(pool, request.size)
                return
    raise errors.Again(0.2)


def _candidates(conn: Connection, work: Work) -> list[tuple[PoolState, Request]]:
    """Return pools that suit the shares of every type, the best first, each with a request for the whole capacity."""
    # Only these are asked, so that a refusal counts and names no pool of another backend.
    there = [pool for pool in work.service.hosts.pools(conn) if work.data['to'] in pool.places]
    if not there:
        raise errors.NoValidHost(f'{work.data["to"]} has not reported any pool.', detail='NO_VALID_HOST')
    left: dict[str, tuple[PoolState, Request]] | None = None
    for request in _requests(conn, work):
        result = work.service.placement.place(request, there)
        if not result.candidates:
            raise errors.NoValidHost(why_none(result)[0], detail=why_none(result)[1])
        these = {pool.host: (pool, request) for pool in result.candidates}
        left = these if left is None else {host: these[host] for host in left if host in these}
    if not left:
        raise errors.NoValidHost('No single pool there fits the shares of all share types.', detail='NO_VALID_HOST')
    return list(left.values())


def _requests(conn: Connection, work: Work) -> list[Request]:
    specs = key_values.of_many(conn, share_type_extra_specs, work.data['types'])
    network_id = work.data['network_id']
    subnets = share_server_queries.subnets_by_zone(conn, network_id) if network_id else None
    return [Request(size=work.data['size'], proto=work.data['proto'], project_id=work.op.project_id, subnets=subnets,
                    extra_specs=specs.get(kind, {}), only_host=work.data['to'],
                    excluded=work.data.get('excluded', {})) for kind in work.data['types']]


def _no_end(conn: Connection, work: Work) -> None:
    """Do nothing: operations that were passed on end elsewhere."""


def does_not_fit(conn: Connection, work: Work, error: Exception) -> None:
    """Store the refusal as the answer of the check."""
    operations.move(conn, work.op.id, work.op.owner, data=work.data | {
        'support': {'compatible': False, 'reason': errors.user_text(error)}})


PLANS = [
    *(Plan(migrations.check_kind, (Step(fits, name=PLACE),), _no_end, does_not_fit) for migrations in (SHARES, SERVERS)),
    *(Plan(migrations.kind, (Step(claim, name=PLACE),), _no_end, migrations.give_up) for migrations in (SHARES, SERVERS)),
]
