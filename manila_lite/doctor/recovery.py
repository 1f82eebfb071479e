# SPDX-License-Identifier: Apache-2.0
"""Mending of transient statuses without an operation, and of parked operations: try again, or end as failed."""

import dataclasses
from typing import Any

from manila_lite import context, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import operations
from manila_lite.db.doctor import shares as share_findings
from manila_lite.db.queries import access, messages, shares, snapshots
from manila_lite.db.queries.messages import Detail
from manila_lite.doctor import access as access_questions
from manila_lite.doctor import failed_cutovers, share_servers
from manila_lite.doctor.finding import RepairContext
from manila_lite.doctor.recovery_table import REDO, Redo, read_data
from manila_lite.engine.begin import begin
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.access import ApplyRules
from manila_lite.workflow.access import apply_rules

_ROW = {
    states.SHARE.resource_type: share_findings.find_share,
    states.SNAPSHOT.resource_type: share_findings.find_snapshot,
}
_MESSAGES = {states.SHARE.resource_type: 'SHARE', states.SNAPSHOT.resource_type: 'SHARE_SNAPSHOT'}


#: Statuses that end with the operation of another resource: the verb, and the meaning if there is no such operation.
_WITH_OTHERS = {
    'restoring': ('restore', 'its share is not being reverted'),
    'migrating': ('migrate', 'it is not being moved'),
    'migrating_to': ('receive', 'nothing is moved there'),
    'server_migrating': ('server_migrate', 'its share server is not being moved'),
    'replication_change': ('hand_over', 'no replica takes its place'),
    'ensuring': ('ensure', 'its backend is not being ensured'),
    'backup_creating': ('back_up', 'no backup of it is being made'),
    'backup_restoring': ('take_back', 'no backup is being restored to it'),
}


def mend_status(
    conn: Connection, repair: RepairContext, *, resource_type: str, resource_id: str
) -> str | None:
    """End a status without an operation, of a share or snapshot."""
    row = _take(conn, resource_type, resource_id)
    if row is None:
        return None
    return _end(conn, repair, resource_type, row, operations.last_operation(conn, resource_id))


def mend_parked(conn: Connection, repair: RepairContext, op: Row[Any]) -> str | None:
    """Begin another operation like the parked one, or end the status of its resource."""
    if failed_cutovers.is_cut(op):
        return failed_cutovers.fail(conn, repair, op.id)
    if not operations.delete_parked(conn, op.id):
        return None
    data = read_data(op, OperationData)
    first = data is None or not data.begun_again
    if op.kind == access.SYNC:
        said = access_questions.mend_rules(
            conn, repair, op.resource_id, once_more=first, data=ApplyRules(begun_again=True)
        )
    elif op.resource_type == 'share_server':
        said = share_servers.replace(conn, repair, op, first)
    else:
        said = _replace(conn, repair, op, data, first)
    return f'{said or "nothing waits for it"}; the parked operation is gone'


def _replace(
    conn: Connection, repair: RepairContext, op: Row[Any], data: OperationData | None, first: bool
) -> str | None:
    resource_type = op.resource_type
    row = _take(conn, resource_type, op.resource_id) if resource_type in _ROW else None
    if row is None:
        return None
    redo = REDO[resource_type].get(row.state)
    if redo is None or redo.kind != op.kind or data is None or not first:
        return _end(conn, repair, resource_type, row, op, once_more=first)
    begin(
        conn,
        context.of_operation(op, repair.services),
        op.kind,
        resource_type,
        row.id,
        topic=op.topic,
        host=op.host,
        lane=op.lane,
        data=dataclasses.replace(data, begun_again=True),
        mutex_key=op.mutex_key,
        unique_key=f'{resource_type}:{row.id}',
    )
    return f'{op.kind} was begun again'


def _take(conn: Connection, resource_type: str, resource_id: str) -> Row[Any] | None:
    """Return the row if it is in a transient status that no operation will end, and lock it until the commit."""
    row, machine = _ROW[resource_type](conn, resource_id), states.MACHINES[resource_type]
    if row is None or row.state not in machine.transient:
        return None
    held = row.instance_id if machine is states.SHARE else row.id
    if not transitions.lock(conn, machine, held, row.state):
        return None
    row = _ROW[resource_type](conn, resource_id)
    return None if row is None or row.operation_id else row


def _end(
    conn: Connection,
    repair: RepairContext,
    resource_type: str,
    row: Row[Any],
    last: Row[Any] | None,
    *,
    once_more: bool = True,
) -> str:
    """End the transient status of a row.

    :param last: the last operation of the resource
    :param once_more: whether that operation may be begun again
    """
    redo = REDO[resource_type].get(row.state)
    if redo is None:
        verb, why = _WITH_OTHERS[row.state]
        machine = states.MACHINES[resource_type]
        transitions.fail(conn, machine, verb, row.instance_id if machine is states.SHARE else row.id)
        if machine is states.SHARE and verb == 'migrate' and row.host:  # its rules may be read-only
            apply_rules(conn, repair.owner(row), row.id, row.host, {row.instance_id: False})
        return f'{why}: {machine[verb].fail}'
    data = redo.data(conn, row, last if last is not None and last.kind == redo.kind else None)
    if once_more and data is not None and (row.host or redo.without_host) and redo.proof(row, last):
        return _begin(conn, repair, resource_type, row, redo, last, data)
    return _fail(conn, repair, resource_type, row, redo)


def _begin(
    conn: Connection,
    repair: RepairContext,
    resource_type: str,
    row: Row[Any],
    redo: Redo,
    last: Row[Any] | None,
    data: OperationData,
) -> str:
    asks_for_room = (
        redo.verb == 'extend' and last is not None and (last.kind, last.topic) == (redo.kind, 'scheduler')
    )
    topic = 'share' if row.host and not asks_for_room else 'scheduler'
    ctx = repair.owner(row, getattr(last, 'request_id', None))
    begin(
        conn,
        ctx,
        redo.kind,
        resource_type,
        row.id,
        topic=topic,
        host=row.host if topic == 'share' else '',
        data=data,
        mutex_key=row.instance_id,
        unique_key=f'{resource_type}:{row.id}',
    )
    return f'{redo.kind} was begun again'


def _fail(conn: Connection, repair: RepairContext, resource_type: str, row: Row[Any], redo: Redo) -> str:
    machine = states.MACHINES[resource_type]
    if machine is states.SHARE:
        transitions.fail(conn, machine, redo.verb, row.instance_id)
        shares.update(conn, row.id, target_size=None)
        restoring = states.SNAPSHOT['restore']
        transitions.settle(
            conn, states.SNAPSHOT, snapshots.ids_of(conn, row.id), restoring.during, restoring.fail
        )
    else:
        transitions.fail(conn, machine, redo.verb, row.id)
    messages.create(
        conn,
        repair.owner(row),
        _MESSAGES[resource_type],
        row.id,
        redo.action,
        Detail.UNKNOWN_ERROR,
        'It was interrupted and could not be taken up again.',
    )
    return f'it cannot be taken up again: {machine[redo.verb].fail}'
