# SPDX-License-Identifier: Apache-2.0
"""Deferred deletion at the backend, of shares and snapshots that their owner no longer sees. Failures are tried again
from time to time; only administrators see them, so no user is told.
"""

import functools
from typing import Any

from oslo_log import log

from manila_lite import context, engine, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.queries import share_bin
from manila_lite.engine import Plan, Step
from manila_lite.manager.plans import shares
from manila_lite.manager.plans import snapshots as snapshot_plans
from manila_lite.operation_data import OperationData
from manila_lite.workflow.verbs import share_instance, verb_plan

LOG = log.getLogger(__name__)


PLANS: list[Plan[Any]] = [
    verb_plan(
        'share.deferred_delete',
        OperationData,
        states.SHARE,
        'defer',
        Step(shares.delete),
        row_id=share_instance,
        on_done=functools.partial(shares.gone, during=states.SHARE['defer'].during),
        action=None,
    ),
    verb_plan(
        'snapshot.deferred_delete',
        OperationData,
        states.SNAPSHOT,
        'defer',
        Step(snapshot_plans.delete),
        on_done=snapshot_plans.deleted,
        action=None,
    ),
]


# New tries --------------------------------------------------------------------------------------


def try_again(manager: Any) -> None:
    """Try once more to delete what could not be deleted at the backend: snapshots before their shares."""
    services, host = manager.services, manager.host
    with services.db.reader() as conn:
        left = [
            *(('snapshot', row) for row in share_bin.list_deferred(conn, host, states.SNAPSHOT)),
            *(('share', row) for row in share_bin.list_deferred(conn, host, states.SHARE)),
        ]
    for resource_type, row in left:
        try:
            _begin(services, resource_type, row)
        except errors.WrongState:
            LOG.debug('%s: is being deleted already, or was given back', row.id)


def _begin(services: context.Services, resource_type: str, row: Any) -> None:
    ctx = context.admin(services, row.project_id, row.user_id)
    with ctx.db.writer() as conn:
        if resource_type == 'share':
            transitions.begin(conn, states.SHARE, 'defer_again', row.instance_id)
        else:
            transitions.begin(conn, states.SNAPSHOT, 'defer_again', row.id)
        engine.begin(
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
