# SPDX-License-Identifier: Apache-2.0
"""Plans of the verbs of ``states.py``: their steps, then the *ok* or *fail* status, and perhaps a user message.

Status and message are written in the transaction that ends the operation.
"""

from collections.abc import Callable, Collection
from typing import Any

from manila_lite import errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import messages, shares, snapshots
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine.plans import Data, Plan, Step, Work
from manila_lite.rpc import notifications

#: Writes further changes at the end of an operation on the row of this id; may return values to set with its status.
Ending = Callable[[Connection, Work[Data], str], dict[str, Any] | None]


def verb_plan(
    kind: str,
    data: type[Data],
    machine: states.StateMachine,
    verb: str,
    *steps: Step[Data],
    action: Action | None,
    detail: Detail = Detail.UNKNOWN_ERROR,
    row_id: Callable[[Connection, Work[Data]], str | None] = lambda conn, work: work.resource_id,
    on_done: Ending[Data] | None = None,
    on_failed: Ending[Data] | None = None,
    told: Collection[str] = (),
) -> Plan[Data]:
    """Return the plan of one verb: the steps, then the verb's *ok* or *fail* status for the row of ``row_id``, if it is there.

    ``on_done`` and ``on_failed`` write further changes. Without ``action``, no user is told of a failure; ``detail`` is for
    the message if the error names none. ``told``: the notifications at the ends: ``end``, ``error``.
    """

    def done(conn: Connection, work: Work[Data]) -> None:
        resource_id = row_id(conn, work)
        if resource_id is None:
            return
        values = on_done(conn, work, resource_id) if on_done else None
        transitions.finish(conn, machine, verb, resource_id, **values or {})
        if 'end' in told:
            _emit(work, 'end')

    def failed(conn: Connection, work: Work[Data], error: Exception) -> None:
        resource_id = row_id(conn, work)
        if resource_id is None:
            return
        values = on_failed(conn, work, resource_id) if on_failed else None
        transitions.fail(conn, machine, verb, resource_id, **values or {})
        if action:
            notify(conn, work, RESOURCES[machine.resource_type], action, detail, error)
        if 'error' in told:
            _emit(work, 'error', error=errors.reason(error, work.ctx.request_id))

    return Plan(kind, steps, done, failed, data=data)


#: The resource types in user messages, by type.
RESOURCES = {machine: machine.upper() for machine in states.MACHINES} | {'snapshot': 'SHARE_SNAPSHOT'}


def _emit(work: Work[Any], event: str, **more: Any) -> None:
    resource = {f'{work.op.resource_type}_id': work.resource_id}
    notifications.emit(work.ctx, f'{work.op.kind}.{event}', resource | more, work.op.host)


def notify(
    conn: Connection,
    work: Work[Any],
    resource_type: str,
    action: Action,
    detail: Detail,
    error: Exception,
    resource_id: str | None = None,
) -> None:
    """Tell the owner of the operation's resource, or of the named resource, why it failed."""
    messages.create(
        conn,
        work.ctx,
        resource_type,
        resource_id or work.resource_id,
        action,
        Detail.of(error, detail),
        errors.user_text(error),
    )


def share_row(conn: Connection, work: Work[Any]) -> Any:
    """Return the row of the operation's share.

    :raises errors.Final: it is gone.
    """
    try:
        return shares.get(conn, work.ctx, work.resource_id)
    except errors.NotFound as gone:
        raise errors.Final(str(gone)) from None


def share_instance(conn: Connection, work: Work[Any]) -> str | None:
    """Return the instance id of the operation's share, or None if the share is gone."""
    try:
        return str(shares.get(conn, work.ctx, work.resource_id).instance_id)
    except errors.NotFound:
        return None


def snapshot_id(conn: Connection, work: Work[Any]) -> str | None:
    """Return the id of the operation's snapshot, or None if it is gone."""
    return work.resource_id if snapshots.with_share(conn, work.resource_id) else None
