# SPDX-License-Identifier: Apache-2.0
"""The one plan of a cluster: from its present state to what its rows ask for. Creation, other shares, scaling and
deletion differ only in the rows; steps that are done already are not repeated.

No step fails for a cause that lies with a user or a node: the row says what failed, and the rest goes on. Requests that
came meanwhile are done after the last step, for then the operation begins anew.
"""

from typing import Any

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.siblings.dataproc import actions, mounting, nodes, notifications, states, steps
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.work import Plan, Step, Work

_ENDED = ('Active', 'Error')


def _done(conn: Connection, work: Work) -> None:
    """Set the status of the cluster from its nodes and mounts, unless a newer request is waiting."""
    row = store.find_cluster(conn, work.resource_id)
    operation = rows.get(conn, work.op.id)
    if row is None or operation is None or operation.requested_count != work.asked:
        return
    if row.status == states.CLUSTER['delete'].during and not store.instances(conn, (row.id,)):
        transitions.finish(conn, states.CLUSTER, 'delete', row.id)
        notifications.emit_cluster(work, row, 'delete', row.status)
        return
    faults = _faults(conn, row)
    of_new_nodes = [why for node_id, why in faults if row.scaling and node_id not in row.scaling['nodes']]
    if of_new_nodes:
        actions.undo_scaling(conn, work.ctx, row, '; '.join(of_new_nodes))
        return
    _end(conn, work, row, 'Error' if faults else 'Active', '; '.join(why for _, why in faults) or row.fault)


def _faults(conn: Connection, row: Any) -> list[tuple[str, str]]:
    """Return the id of each node with a fault, and the fault."""
    faults = [
        (node.id, f'{node.name}: {node.fault or node.state}')
        for node in store.instances(conn, (row.id,))
        if node.state != states.NODE['spawn'].ok
    ]
    return faults + [
        (
            mount.instance_id,
            f'{mount.node}: share {mount.share_id} at {mount.path}: {mount.fault or mount.state}',
        )
        for mount in store.mounts(conn, (row.id,))
        if mount.state != states.MOUNT['mount'].ok
    ]


def _end(conn: Connection, work: Work, row: Any, status: str, why: str | None) -> None:
    store.update(
        conn,
        'cluster',
        row.id,
        {'progress': steps.ended(row.progress, successful=status == 'Active'), 'scaling': None},
    )
    if row.status == status:
        store.update(conn, 'cluster', row.id, {'status_description': why})
        return
    transitions.settle(conn, states.CLUSTER, (row.id,), row.status, status, status_description=why)
    notifications.emit_cluster(work, row, 'update', status, why)


def _failed(conn: Connection, work: Work, error: Exception) -> None:
    row = store.find_cluster(conn, work.resource_id)
    if row is not None and row.status not in _ENDED:
        _end(conn, work, row, 'Error', errors.reason(error, work.ctx.request_id))


PLAN = Plan(
    actions.KIND,
    (
        Step(nodes.arrange),
        Step(mounting.unmount),
        Step(mounting.release),
        Step(nodes.retire),
        Step(nodes.spawn),
        Step(mounting.prepare),
        Step(mounting.grant),
        Step(mounting.mount),
    ),
    _done,
    _failed,
)
