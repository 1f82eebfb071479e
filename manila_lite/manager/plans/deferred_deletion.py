# SPDX-License-Identifier: Apache-2.0
"""Deferred deletion at the backend, of shares and snapshots that their owner no longer sees. Failures are tried again
from time to time; only administrators see them, so no user is told.
"""

from typing import Any

from oslo_log import log

from manila_lite import context, engine, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_bin
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import shares
from manila_lite.manager.plans import snapshots as snapshot_plans
from manila_lite.manager.plans.task import share_instance
from manila_lite.operation_data import OperationData

LOG = log.getLogger(__name__)

_SHARE, _SNAPSHOT = states.SHARE['defer'], states.SNAPSHOT['defer']


def _share_gone(conn: Connection, work: Work[Any]) -> None:
    instance = share_instance(conn, work)
    if instance is not None:
        shares.gone(conn, work, instance, _SHARE.during)


def _share_left(conn: Connection, work: Work[Any], error: Exception) -> None:
    instance = share_instance(conn, work)
    if instance is not None:
        transitions.fail(conn, states.SHARE, 'defer', instance)


def _snapshot_gone(conn: Connection, work: Work[Any]) -> None:
    snapshot_plans.deleted(
        conn, work, work.resource_id
    )  # while its row still names the share whose replicas have it
    transitions.finish(conn, states.SNAPSHOT, 'defer', work.resource_id)


def _snapshot_left(conn: Connection, work: Work[Any], error: Exception) -> None:
    transitions.fail(conn, states.SNAPSHOT, 'defer', work.resource_id)


PLANS = [
    Plan('share.deferred_delete', (Step(shares.delete),), _share_gone, _share_left, data=OperationData),
    Plan(
        'snapshot.deferred_delete',
        (Step(snapshot_plans.delete),),
        _snapshot_gone,
        _snapshot_left,
        data=OperationData,
    ),
]


# New tries --------------------------------------------------------------------------------------


def try_again(services: context.Services, host: str) -> None:
    """Try once more to delete what could not be deleted at the backend: snapshots before their shares."""
    with services.db.reader() as conn:
        left = [
            *(('snapshot', row) for row in share_bin.list_deferred_snapshots(conn, host, _SNAPSHOT.fail)),
            *(('share', row) for row in share_bin.list_deferred_shares(conn, host, _SHARE.fail)),
        ]
    for resource_type, row in left:
        try:
            _begin(services, resource_type, row)
        except errors.WrongState:
            LOG.debug('%s: is being deleted already, or was given back', row.id)


def _begin(services: context.Services, resource_type: str, row: Any) -> None:
    ctx = context.admin(services)
    ctx.project_id, ctx.user_id = row.project_id, row.user_id
    with ctx.db.writer() as conn:
        if resource_type == 'share':
            transitions.begin(conn, states.SHARE, 'defer_again', row.instance_id)
        else:
            transitions.begin(conn, states.SNAPSHOT, 'defer_again', row.id)
        wake = engine.begin(
            conn,
            ctx,
            f'{resource_type}.deferred_delete',
            resource_type,
            row.id,
            topic='share',
            host=row.host,
            mutex_key=row.instance_id,
            unique_key=f'{resource_type}:{row.id}',
        )
    wake.send(ctx)
