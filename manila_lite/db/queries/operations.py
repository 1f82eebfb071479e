# SPDX-License-Identifier: Apache-2.0
"""Rows of operations: begin, ask for once more, read, call off, delete. Workers use ``operation_claims``, too."""

import datetime
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.core import host_time
from manila_lite.db.core.prepared import Query, Write
from manila_lite.db.core.step_names import NAMES
from manila_lite.db.models import operations
from manila_lite.operation_data import OperationData

STATES = OPEN, DONE, FAILED, PARKED = ('open', 'done', 'failed', 'parked')
#: The states of operations that have ended.
ENDED = (DONE, FAILED, PARKED)
#: The error code of operations that others replaced.
SUPERSEDED = 'superseded'
#: The error codes of operations that a request ended while a worker may have run them.
BY_REQUEST = (SUPERSEDED, 'migration_cancelled', 'evacuation_stopped')

#: The step at which the scheduler places a resource: the only one of each of its plans.
PLACE = 'place'
#: The key of an operation's data with the project of its resource, where a release before 0.2.0 began it for somebody else.
OWNER = '_owner'
#: Values of an operation that begins at the first step of whatever plan its queue has.
BEGINNING: dict[str, Any] = {'step': 0, 'steps': None}


class Operation(NamedTuple):
    """The row of an operation: the columns of the table, whose comments explain them."""

    id: str
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    kind: str
    resource_type: str
    resource_id: str
    project_id: str | None
    user_id: str | None
    request_id: str | None
    topic: str
    host: str
    lane: str
    fair_share_key: str
    unique_key: str | None
    mutex_key: str | None
    state: str
    step: int
    steps: str | None
    undoing: bool
    requested_count: int
    attempts: int
    data: Any
    error: str | None
    error_code: str | None
    next_run_at: datetime.datetime
    owner: str | None
    lease_expires_at: datetime.datetime | None
    finished_at: datetime.datetime | None


#: The order of the operations of a resource, the newest last. Of a kind only one is open, and none was begun after it, even if
#: the clock of the host that began it was behind.
BY_AGE = (operations.c.state == OPEN, operations.c.created_at)
#: The same, the newest first.
NEWEST_FIRST = tuple(column.desc() for column in BY_AGE)

#: A row of an operation with some of its columns, or with all.
Seen = Row[Any] | Operation

_INSERT = Write(operations.insert())


def insert(conn: Connection, **values: Any) -> str:
    """Insert an open operation. Return its id."""
    operation_id = uuidutils.generate_uuid()
    _INSERT.execute(conn, {'id': operation_id, **_new(conn, values)} | values)
    return operation_id


def _new(conn: Connection, values: dict[str, Any]) -> dict[str, Any]:
    now = host_time.now(conn)
    return {
        'state': OPEN,
        'created_at': now,  # the newest operation counts, whichever host made it
        'next_run_at': now,
        'fair_share_key': values.get('project_id') or '',
    }


def request_rerun(conn: Connection, unique_key: str) -> str | None:
    """Have the open operation with this key run once more before it ends. Return its id, or None if none is open."""
    changed = conn.execute(
        operations.update()
        .where(operations.c.unique_key == unique_key)
        .values(requested_count=operations.c.requested_count + 1, next_run_at=host_time.now(conn))
    ).rowcount
    if not changed:
        return None
    return conn.execute(sa.select(operations.c.id).where(operations.c.unique_key == unique_key)).scalar()


def request_reruns(conn: Connection, unique_keys: Iterable[str]) -> set[str]:
    """Do as ``request_rerun`` for many keys in two statements. Return the keys of open operations."""
    known = operations.c.unique_key.in_(tuple(unique_keys))
    if not conn.execute(
        operations.update()
        .where(known)
        .values(requested_count=operations.c.requested_count + 1, next_run_at=host_time.now(conn))
    ).rowcount:
        return set()
    return set(conn.execute(sa.select(operations.c.unique_key).where(known)).scalars())


def insert_many(conn: Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Do as ``insert`` for many rows in one statement."""
    if values := [{'id': uuidutils.generate_uuid(), **_new(conn, row), **row} for row in rows]:
        conn.execute(operations.insert(), values)


def make_due(conn: Connection, operation_id: str) -> None:
    """Make the operation, if open, due now, whatever its delay. If it is running, it runs once more after that."""
    conn.execute(
        operations.update()
        .where(operations.c.id == operation_id, operations.c.state == OPEN)
        .values(next_run_at=host_time.now(conn))
    )


def step_names(row: Any) -> tuple[str, ...]:
    """Return the names of the steps of the operation's plan, or none if no worker has begun."""
    return tuple((row.steps or '').split())


def step_name(row: Any) -> str | None:
    """Return the name of the step that runs now or next, or None if the row does not know it."""
    names = step_names(row)
    return names[row.step] if row.step < len(names) else None


def get_reason(row: Any) -> str:
    """Return why the operation failed, as its owner may read it, or ''."""
    failure = OperationData.from_json(row.data).failure
    return failure.told or '' if failure else ''


def reopen(conn: Connection, row: Any, step: str, unique_key: str) -> bool:
    """Reopen the failed operation, going forward from the step of that name. Return False if it has not failed."""
    # The release before writes no names, and a share manager of that release may be the one that goes on.
    names = step_names(row) if step in step_names(row) else NAMES[row.kind]
    return bool(
        conn.execute(
            operations.update()
            .where(operations.c.id == row.id, operations.c.state == FAILED)
            .values(
                state=OPEN,
                unique_key=unique_key,
                step=names.index(step),
                steps=' '.join(names),
                undoing=False,
                attempts=0,
                error=None,
                error_code=None,
                finished_at=None,
                next_run_at=host_time.now(conn),
            )
        ).rowcount
    )


def get(conn: Connection, operation_id: str) -> Operation | None:
    """Return the operation, or None."""
    row: Operation | None = _ONE.first(conn, {'operation_id': operation_id})
    return row


_ONE = Query(sa.select(operations).where(operations.c.id == sa.bindparam('operation_id')), row=Operation)


def is_open(conn: Connection, unique_key: str) -> bool:
    """Say whether an operation with this key is open."""
    return (
        conn.execute(sa.select(operations.c.id).where(operations.c.unique_key == unique_key)).first()
        is not None
    )


def is_any_open(conn: Connection, unique_keys: Iterable[str]) -> bool:
    """Say whether an operation with one of these keys is open."""
    return (
        conn.execute(
            sa.select(operations.c.id).where(operations.c.unique_key.in_(tuple(unique_keys))).limit(1)
        ).first()
        is not None
    )


def is_any_mutex_open(conn: Connection, mutex_keys: Iterable[str]) -> bool:
    """Say whether an operation of one of these mutex keys is open."""
    return (
        conn.execute(
            sa.select(operations.c.id)
            .where(operations.c.mutex_key.in_(tuple(mutex_keys)), operations.c.state == OPEN)
            .limit(1)
        ).first()
        is not None
    )


def list_of_resource(conn: Connection, resource_id: str, kind: str) -> list[Operation]:
    """Return all operations of this kind on the resource, oldest first, in any state. An open one is the newest."""
    return [
        Operation(*row)
        for row in conn.execute(
            sa.select(operations)
            .where(operations.c.resource_id == resource_id, operations.c.kind == kind)
            .order_by(*BY_AGE)
        )
    ]


def delete(conn: Connection, operation_ids: Iterable[str]) -> None:
    """Delete the operations. One that is running ends without a trace."""
    conn.execute(operations.delete().where(operations.c.id.in_(tuple(operation_ids))))


def is_claimable(rows: Any, now: Any) -> sa.ColumnElement[bool]:
    """Return the condition that operations are due and unclaimed. ``rows`` is the table or an alias of it."""
    return sa.and_(
        rows.c.state == OPEN,
        rows.c.next_run_at <= now,
        sa.or_(rows.c.lease_expires_at.is_(None), rows.c.lease_expires_at < now),
    )


def is_overdue(conn: Connection, operation_id: str, seconds: float) -> bool:
    """Say whether an operation has been due for longer than that, and nobody works on it."""
    due = is_claimable(operations, host_time.now(conn) - datetime.timedelta(seconds=seconds))
    return bool(conn.execute(sa.select(sa.exists().where(operations.c.id == operation_id, due))).scalar())


def call_off(conn: Connection, seen: Seen, error: str, code: str) -> bool:
    """End the operation as failed if it is open or parked, and still at the step at which it was seen. Say whether it was.

    A worker that runs it has lost its claim.
    """
    return bool(
        conn.execute(
            operations.update()
            .where(
                operations.c.id == seen.id,
                operations.c.state.in_((OPEN, PARKED)),
                operations.c.step == seen.step,
                operations.c.topic == seen.topic,
                operations.c.host == seen.host,
            )
            .values(
                state=FAILED,
                unique_key=None,
                owner=None,
                lease_expires_at=None,
                error=error,
                error_code=code,
                finished_at=host_time.now(conn),
            )
        ).rowcount
    )


def fail_parked(conn: Connection, operation_id: str) -> bool:
    """Set the operation to failed if it is parked. Say whether it was."""
    return bool(
        conn.execute(
            operations.update()
            .where(operations.c.id == operation_id, operations.c.state == PARKED)
            .values(state=FAILED)
        ).rowcount
    )


def supersede(conn: Connection, resource_id: str, kinds: Iterable[str]) -> None:
    """End open and parked operations of these kinds on the resource as failed: they are superseded."""
    supersede_many(conn, (resource_id,), kinds)


def supersede_many(conn: Connection, resource_ids: Iterable[str], kinds: Iterable[str]) -> None:
    """Do as ``supersede`` for many resources in one statement."""
    conn.execute(
        operations.update()
        .where(
            operations.c.resource_id.in_(tuple(resource_ids)),
            operations.c.kind.in_(tuple(kinds)),
            operations.c.state.in_((OPEN, PARKED)),
        )
        .values(
            state=FAILED,
            unique_key=None,
            owner=None,
            error='superseded',
            error_code=SUPERSEDED,
            finished_at=host_time.now(conn),
        )
    )


#: A migration of the resource failed: an administrator may complete it or cancel it, and needs its operation for that. Or its
#: former exports may be open, and the end of these asks which migration was the last.
_HALF_MIGRATED = sa.or_(
    *(
        sa.exists().where(
            table.c.id == operations.c.resource_id,
            table.c.task_state.in_((states.Migration.ERROR, states.Migration.COMPLETING)),
        )
        for table in (models.shares, models.share_servers)
    )
)
#: What a migration left, and the operation is to delete, is still there: a repeated deletion needs the data of the last one.
_LEFT = sa.or_(
    sa.and_(
        operations.c.kind.in_(('share.release', 'share.clear')),
        sa.exists().where(models.share_instances.c.id == operations.c.mutex_key),
    ),
    sa.and_(
        operations.c.kind.in_(('share_server.release', 'share_server.clear')),
        sa.exists().where(models.share_servers.c.id == operations.c.resource_id),
    ),
)


def delete_ended(conn: Connection, older_than: datetime.datetime) -> int:
    """Delete operations that ended before ``older_than``. Return their number. Parked ones, those of a resource whose
    migration failed, and those that could not delete what one left, wait for an operator.
    """
    return conn.execute(
        operations.delete().where(
            operations.c.finished_at < older_than,
            operations.c.state != PARKED,
            ~_HALF_MIGRATED,
            ~sa.and_(operations.c.state == FAILED, _LEFT),
        )
    ).rowcount
