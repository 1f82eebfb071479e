# SPDX-License-Identifier: Apache-2.0
"""Rows of operations: open, claim by compare-and-swap with a lease, move on, finish.

Claims are conditional UPDATEs with a look at the row count, which holds on SQLite, PostgreSQL, MariaDB and Galera
alike. Every later write names the owner, so that a worker whose claim was taken over writes nothing
(``errors.LostClaim``).
"""

import collections
import datetime
import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.db.core import host_time
from manila_lite.db.core.prepared import Among, Query, Write, WriteAmong
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
    """Return all operations of this kind on the resource, oldest first, in any state."""
    return [
        Operation(*row)
        for row in conn.execute(
            sa.select(operations)
            .where(operations.c.resource_id == resource_id, operations.c.kind == kind)
            .order_by(operations.c.created_at)
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


def _as_seen(seen: Seen, now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.and_(
        operations.c.id == seen.id,
        operations.c.attempts == seen.attempts,
        operations.c.step == seen.step,
        operations.c.topic == seen.topic,
        operations.c.host == seen.host,
        is_claimable(operations, now),
    )


def claim(conn: Connection, seen: Seen, owner: str, lease: float, /, **values: Any) -> Operation | None:
    """Claim the operation for ``lease`` seconds, and set ``values``. Return it as it is now, or None if it changed since
    ``seen``.

    :raises ValueError: its data cannot be read.
    """
    now = host_time.now(conn)
    won = conn.execute(
        operations.update()
        .where(_as_seen(seen, now))
        .values(
            owner=owner,
            lease_expires_at=now + datetime.timedelta(seconds=lease),
            attempts=seen.attempts + 1,
            **values,
        )
    ).rowcount
    return get(conn, seen.id) if won else None


def _given(name: str, column: str) -> Any:
    return sa.bindparam(name, type_=operations.c[column].type)


_CLAIM_MANY = WriteAmong(
    operations.update()
    .where(
        operations.c.topic == _given('of_topic', 'topic'),
        operations.c.host == _given('of_host', 'host'),
        operations.c.step == _given('seen_step', 'step'),
        sa.func.coalesce(operations.c.steps, '') == _given('seen_steps', 'steps'),
        is_claimable(operations, _given('now', 'next_run_at')),
    )
    .values(
        owner=_given('me', 'owner'),
        lease_expires_at=_given('until', 'lease_expires_at'),
        attempts=operations.c.attempts + 1,
        step=_given('to_step', 'step'),
        steps=_given('to_steps', 'steps'),
    ),
    operations.c.id,
)
_CLAIMED = Among(
    sa.select(operations).where(operations.c.owner == _given('me', 'owner')), operations.c.id, row=Operation
)


def claim_many(
    conn: Connection, seen: Iterable[tuple[Seen, dict[str, Any]]], owner: str, lease: float
) -> list[Operation]:
    """Do as ``claim`` for several operations, each with its new ``step`` and ``steps``, in a statement for each step and one
    more. Return those that were claimed, in the same order.

    :raises ValueError: the data of one cannot be read; none is claimed if the transaction is rolled back.
    """
    now, alike = host_time.now(conn), collections.defaultdict(list)
    order: list[str] = []
    for row, values in seen:
        place = values or {'step': row.step, 'steps': row.steps}
        alike[row.topic, row.host, row.step, row.steps or '', place['step'], place['steps']].append(row.id)
        order.append(row.id)
    for key in sorted(alike, key=repr):  # else two workers might wait for each other
        _CLAIM_MANY.execute(
            conn,
            sorted(alike[key]),
            {
                'me': owner,
                'until': now + datetime.timedelta(seconds=lease),
                'now': now,
                **dict(
                    zip(
                        ('of_topic', 'of_host', 'seen_step', 'seen_steps', 'to_step', 'to_steps'),
                        key,
                        strict=True,
                    )
                ),
            },
        )
    rows = {row.id: row for row in _CLAIMED.all(conn, order, {'me': owner})} if order else {}
    return [rows[operation_id] for operation_id in order if operation_id in rows]


def park(conn: Connection, seen: Seen, why: str) -> None:
    """Park the operation for an operator to look at, if it is still as it was ``seen``."""
    conn.execute(
        operations.update()
        .where(_as_seen(seen, host_time.now(conn)))
        .values(state=PARKED, unique_key=None, error=why, finished_at=host_time.now(conn))
    )


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


def renew(conn: Connection, operation_ids: Iterable[str], owner: str, lease: float) -> None:
    """Extend the owner's claims to ``lease`` seconds from now."""
    conn.execute(
        operations.update()
        .where(operations.c.id.in_(tuple(operation_ids)), operations.c.owner == owner)
        .values(lease_expires_at=host_time.now(conn) + datetime.timedelta(seconds=lease))
    )


def move(conn: Connection, operation_id: str, owner: str | None, /, **values: Any) -> None:
    """Set ``values`` of the owner's operation, which stays the owner's.

    :raises errors.LostClaim: another worker took it over.
    """
    if not conn.execute(
        operations.update()
        .where(operations.c.id == operation_id, operations.c.owner == owner)
        .values(**values)
    ).rowcount:
        raise errors.LostClaim(f'Operation {operation_id} is no longer ours.')


def move_many(conn: Connection, operation_ids: Collection[str], owner: str | None, /, **values: Any) -> None:
    """Do as ``move`` for several operations with the same values in one statement.

    :raises errors.LostClaim: another worker took one of them over.
    """
    if _move_many(tuple(sorted(values))).execute(
        conn, sorted(operation_ids), {'me': owner, **{f'new_{name}': value for name, value in values.items()}}
    ) < len(operation_ids):
        raise errors.LostClaim(f'One of {len(operation_ids)} operations is no longer ours.')


@functools.cache
def _move_many(names: tuple[str, ...]) -> WriteAmong:
    return WriteAmong(
        operations.update()
        .where(operations.c.owner == _given('me', 'owner'))
        .values({name: _given(f'new_{name}', name) for name in names}),
        operations.c.id,
    )


def postpone(
    conn: Connection,
    operation_id: str,
    owner: str | None,
    /,
    after: float = 0.0,
    seen: datetime.datetime | None = None,
    **values: Any,
) -> None:
    """Free the operation, to be due in ``after`` seconds; ``values`` (topic, host, data ...) change with it.

    ``seen``: when it was due at its claim. If that changed since (``make_due``, ``request_rerun``), it is due now. A time that
    is earlier counts, too: the clock of another process may be behind.
    """
    now = host_time.now(conn)
    due_at: Any = now + datetime.timedelta(seconds=after)
    if seen is not None:
        due_at = sa.case((operations.c.next_run_at != seen, now), else_=due_at)
    move(
        conn, operation_id, owner, **{'owner': None, 'lease_expires_at': None, 'next_run_at': due_at} | values
    )


def finish(
    conn: Connection,
    operation_id: str,
    owner: str,
    state: str,
    error: str | None = None,
    requested_count: int | None = None,
    error_code: str | None = None,
) -> bool:
    """End the operation. With ``wanted``: if it was asked for again since (``request_rerun``), restart it at its first step
    and first try instead, and return False.

    :raises errors.LostClaim: another worker took it over.
    """
    query = operations.update().where(operations.c.id == operation_id, operations.c.owner == owner)
    if requested_count is not None:
        query = query.where(operations.c.requested_count <= requested_count)
    if conn.execute(
        query.values(
            state=state,
            unique_key=None,
            owner=None,
            lease_expires_at=None,
            error=error,
            error_code=error_code,
            finished_at=host_time.now(conn),
        )
    ).rowcount:
        return True
    move(conn, operation_id, owner, step=0, attempts=1)
    return False


_FINISH_MANY = WriteAmong(
    operations.update()
    .where(
        operations.c.owner == _given('me', 'owner'),
        operations.c.requested_count <= _given('asked', 'requested_count'),
    )
    .values(
        state=DONE,
        unique_key=None,
        owner=None,
        lease_expires_at=None,
        error=None,
        error_code=None,
        finished_at=_given('now', 'finished_at'),
    ),
    operations.c.id,
)


def finish_many(conn: Connection, asked: Mapping[str, int], owner: str) -> None:
    """End operations as done, by id; none may have been asked for more often than its number here says.

    :raises errors.LostClaim: another worker took one over, or one was asked for again. Then none may be ended together.
    """
    for requested_count in sorted(set(asked.values())):
        ended = sorted(operation_id for operation_id, count in asked.items() if count == requested_count)
        if _FINISH_MANY.execute(
            conn, ended, {'me': owner, 'asked': requested_count, 'now': host_time.now(conn)}
        ) < len(ended):
            raise errors.LostClaim(
                f'One of {len(ended)} operations is no longer ours, or was asked for again.'
            )


def claim_owners(conn: Connection, topic: str, host: str) -> set[str]:
    """Return the owners of present claims in this worker's queue."""
    return set(
        conn.execute(
            sa.select(operations.c.owner)
            .distinct()
            .where(
                operations.c.topic == topic,
                operations.c.host == host,
                operations.c.state == OPEN,
                operations.c.owner.is_not(None),
            )
        ).scalars()
    )


def free_claims_of(conn: Connection, owner: str) -> int:
    """Free all claims of a dead owner. Return their number."""
    return conn.execute(
        operations.update()
        .where(operations.c.owner == owner, operations.c.state == OPEN)
        .values(owner=None, lease_expires_at=None)
    ).rowcount


def release_unsaved(conn: Connection, operation_id: str, owner: str, after: float, uncounted: bool) -> None:
    """Free the operation, if it is still the owner's, as it was last saved; it is due in ``after`` seconds.

    ``uncounted``: this try does not count.
    """
    conn.execute(
        operations.update()
        .where(operations.c.id == operation_id, operations.c.owner == owner)
        .values(
            owner=None,
            lease_expires_at=None,
            next_run_at=host_time.now(conn) + datetime.timedelta(seconds=after),
            attempts=operations.c.attempts - (1 if uncounted else 0),
        )
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


def delete_ended(conn: Connection, older_than: datetime.datetime) -> int:
    """Delete operations that ended before ``older_than``. Return their number. Parked ones wait for an operator."""
    return conn.execute(
        operations.delete().where(operations.c.finished_at < older_than, operations.c.state != PARKED)
    ).rowcount
