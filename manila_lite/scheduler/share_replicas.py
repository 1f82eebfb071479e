# SPDX-License-Identifier: Apache-2.0
"""Placing replicas: on another backend of the replication domain."""

from collections.abc import Callable
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors, states
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import share_replicas, share_server_queries, shares
from manila_lite.engine import PLACE, Plan, Step, Work, backend_of, nothing
from manila_lite.operation_data.share_replicas import CreateReplica, DeleteReplica
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.workflow import share_replicas as replica_workflow

LOG = log.getLogger(__name__)


def plans(choose: Callable[[Connection, Work[Any], PlacementRequest], PoolState]) -> list[Plan[Any]]:
    """Return the plans. ``choose`` claims the best pool for a request."""

    def place(work: Work[CreateReplica]) -> None:
        """Choose a pool for the replica, claim its capacity, and pass the operation on to its backend.

        :raises errors.NoValidHost: no pool is suitable.
        :raises errors.Again: other requests were faster at every suitable pool, or a backend that just started may yet
            report one.
        """
        with work.writer() as conn:
            request = _request(conn, work)
            chosen = choose(conn, work, request)
            shares.update_instance(
                conn,
                work.resource_id,
                host=chosen.host,
                scheduled_at=timeutils.utcnow(),
                availability_zone_id=chosen.availability_zone_id,
            )
            work.data.claimed = (chosen.host, request.size)
            work.send = ('share', chosen.host)
            LOG.info(
                '%s: replica of share %s, placed on %s', work.resource_id, work.data.share_id, chosen.host
            )

    return [
        Plan(share_replicas.CREATE, (Step(place),), nothing, replica_workflow.not_made, data=CreateReplica),
        Plan(
            share_replicas.DELETE,
            (Step(nothing, name=PLACE),),  # a replica that never had a backend leaves nothing behind
            lambda conn, work: transitions.finish(conn, states.SHARE, 'delete', work.resource_id),
            replica_workflow.not_deleted,
            data=DeleteReplica,
        ),
    ]


def _request(conn: Connection, work: Work[CreateReplica]) -> PlacementRequest:
    row = share_replicas.as_share(conn, work.resource_id)
    if row is None:
        raise errors.Final(f'Replica {work.resource_id} is gone.')
    every = share_replicas.of_share(conn, row.id)
    return PlacementRequest(
        size=row.size,
        proto=row.share_proto,
        project_id=row.project_id,
        extra_specs=key_values.of(conn, share_type_extra_specs, row.share_type_id),
        availability_zone=work.data.zone,
        only_host=work.data.only_host,
        even_disabled=bool(work.data.only_host),
        active_host=next((other.host for other in every if not other.is_secondary), None),
        replica_hosts=frozenset(
            backend_of(other.host) for other in every if other.host and other.id != row.instance_id
        ),
        subnets=share_server_queries.subnets_of_request(
            conn, row.share_network_id, named=work.data.named_subnets
        ),
    )
