# SPDX-License-Identifier: Apache-2.0
"""Placing migrations: a share, or a share server, whose shares must all fit into one pool of the other backend."""

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations, shares
from manila_lite.engine import PLACE, Plan, Step, Work
from manila_lite.scheduler import destinations
from manila_lite.workflow.server_migration import SERVERS
from manila_lite.workflow.share_migration import SHARES


def fits(work: Work) -> None:
    """Find a pool of the backend that passes all filters for all shares that move; ask its manager next. Claim nothing.

    :raises errors.NoValidHost: there is no such pool; the message names the filter.
    """
    with work.ctx.db.reader() as conn:
        found = destinations.find(conn, work.service, work.data, work.op.project_id)
    work.data['pool'] = found.pool_name
    work.send = ('share', found.pool.host)


def claim(work: Work) -> None:
    """Claim the pool's capacity for all shares that move, and pass the operation on to its backend. Both are one
    transaction, since a report in between would forget the claim.

    :raises errors.NoValidHost: no pool of the backend passes every filter.
    :raises errors.Again: other requests were faster.
    """
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        for found in destinations.candidates(conn, work.service, work.data, work.op.project_id):
            if destinations.claim(conn, work.service, found):
                work.data['pool'] = found.pool_name
                work.data['claimed'] = [found.pool.host, found.claims[0].size]
                if work.op.kind == SHARES.kind:
                    shares.update_instance(conn, work.data['target'], host=found.pool.host)
                work.pass_on(conn, 'share', found.pool.backend)
                return
    raise errors.Again(0.2)


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
