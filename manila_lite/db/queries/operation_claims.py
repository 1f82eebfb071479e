# SPDX-License-Identifier: Apache-2.0
"""Claims of operations: compare-and-swap with a lease; progress, release and end of a claimed operation.

Claims are conditional UPDATEs with a look at the row count, which holds on SQLite, PostgreSQL, MariaDB and Galera
alike. Every later write names the owner, so that a worker whose claim was taken over writes nothing
(``errors.LostClaim``).
"""

import collections
import datetime
import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db.core import host_time
from manila_lite.db.core.prepared import Among, WriteAmong
from manila_lite.db.models import operations
from manila_lite.db.queries import operations as rows


def _as_seen(seen: rows.Seen, now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.and_(
        operations.c.id == seen.id,
        operations.c.attempts == seen.attempts,
        operations.c.step == seen.step,
        operations.c.topic == seen.topic,
        operations.c.host == seen.host,
        rows.is_claimable(operations, now),
    )


def claim(
    conn: Connection, seen: rows.Seen, owner: str, lease: float, /, **values: Any
) -> rows.Operation | None:
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
    return rows.get(conn, seen.id) if won else None


def _given(name: str, column: str) -> Any:
    return sa.bindparam(name, type_=operations.c[column].type)


_CLAIM_MANY = WriteAmong(
    operations.update()
    .where(
        operations.c.topic == _given('of_topic', 'topic'),
        operations.c.host == _given('of_host', 'host'),
        operations.c.step == _given('seen_step', 'step'),
        sa.func.coalesce(operations.c.steps, '') == _given('seen_steps', 'steps'),
        rows.is_claimable(operations, _given('now', 'next_run_at')),
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
    sa.select(operations).where(operations.c.owner == _given('me', 'owner')),
    operations.c.id,
    row=rows.Operation,
)


def claim_many(
    conn: Connection, seen: Iterable[tuple[rows.Seen, dict[str, Any]]], owner: str, lease: float
) -> list[rows.Operation]:
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
    won = {row.id: row for row in _CLAIMED.all(conn, order, {'me': owner})} if order else {}
    return [won[operation_id] for operation_id in order if operation_id in won]


def park(conn: Connection, seen: rows.Seen, why: str) -> None:
    """Park the operation for an operator to look at, if it is still as it was ``seen``."""
    conn.execute(
        operations.update()
        .where(_as_seen(seen, host_time.now(conn)))
        .values(state=rows.PARKED, unique_key=None, error=why, finished_at=host_time.now(conn))
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
        state=rows.DONE,
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
                operations.c.state == rows.OPEN,
                operations.c.owner.is_not(None),
            )
        ).scalars()
    )


def free_claims_of(conn: Connection, owner: str) -> int:
    """Free all claims of a dead owner. Return their number."""
    return conn.execute(
        operations.update()
        .where(operations.c.owner == owner, operations.c.state == rows.OPEN)
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
