# SPDX-License-Identifier: Apache-2.0
"""Placing migrations: a share, or a share server with its shares, in one pool of the other backend or in several."""

from typing import Any

from oslo_log import log

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import shares
from manila_lite.engine import PLACE, Plan, Step, Work, nothing
from manila_lite.operation_data.migrations import Migrate
from manila_lite.scheduler import destinations, grace_period
from manila_lite.workflow.migration import M, Migrations, store_refusal
from manila_lite.workflow.share_migration import SHARES
from manila_lite.workflow.share_server_migration import SERVERS

LOG = log.getLogger(__name__)


def fits(work: Work[Migrate]) -> None:
    """Find pools of the backend that pass all filters for the shares that move; ask its manager next. Claim nothing.

    :raises errors.NoValidHost: there are no such pools; the message names the filter.
    :raises errors.Again: there will be, once a backend is back that is restarted.
    """
    with work.ctx.db.reader() as conn:
        found = _candidates(conn, work)[0]
    work.data.pool, work.data.pools = found.name, found.names
    work.send = ('share', found.pool.host)


def claim(work: Work[Migrate]) -> None:
    """Claim the capacity of every pool that shares move to, and pass the operation on to the backend. All of this is one
    transaction, since a report in between would forget the claims.

    :raises errors.NoValidHost: the pools of the backend do not pass every filter.
    :raises errors.Again: other requests were faster, or the backend is restarted; nothing is claimed.
    """
    with work.writer() as conn:
        try:
            candidates = _candidates(conn, work)
        except errors.NoValidHost as none:
            LOG.info('%s: %s', work.resource_id, none)
            raise errors.NoValidHost(none.told, detail=none.detail) from None
        for found in candidates:
            if destinations.claim(conn, work.service, found):
                work.data.pool, work.data.pools = found.name, found.names
                work.data.claimed, work.data.claimed_beside = found.claimed, found.claimed_beside
                work.data.parts = []  # ``pools`` has what is needed from now on
                if work.op.kind == SHARES.kind:
                    shares.update_instance(conn, work.data.target, host=found.pool.host)
                work.pass_on(conn, 'share', found.pool.backend)
                return
        raise errors.Again(0.2)  # within the transaction, so that claims of some pools are taken back


def _candidates(conn: Connection, work: Work[Migrate]) -> list[destinations.Destination]:
    """Return the destinations, the best first.

    :raises errors.NoValidHost: there is none.
    :raises errors.Again: there will be one, once a backend is back that is restarted.
    """
    try:
        return destinations.candidates(conn, work.service, work.data, work.op.project_id)
    except errors.NoValidHost as none:
        try:
            destinations.candidates(
                conn, work.service, work.data, work.op.project_id, grace_period.pools(conn, work)
            )
        except errors.NoValidHost:
            raise none from None
        raise errors.Again(grace_period.LOOK_AGAIN) from None


def _plans(migrations: Migrations[M]) -> list[Plan[M]]:
    """Return the plans of check and migration of one resource type."""
    return [
        Plan(migrations.check_kind, (Step(fits, name=PLACE),), nothing, store_refusal, data=migrations.data),
        Plan(migrations.kind, (Step(claim, name=PLACE),), nothing, migrations.give_up, data=migrations.data),
    ]


PLANS: list[Plan[Any]] = [*_plans(SHARES), *_plans(SERVERS)]
