# SPDX-License-Identifier: Apache-2.0
"""Turns: projects that wait in a queue take turns, and the project with the fewest running operations goes first.

One statement, whose cost grows with the waiting projects and not with the operations of each: in each lane, the
projects are found one after the other by ``ix_operations_turns``, and the oldest operation of each is taken.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db.core import host_time
from manila_lite.db.core.prepared import Query
from manila_lite.db.models import operations
from manila_lite.db.queries.operations import OPEN, is_claimable

_topic, _host, _now = (
    sa.bindparam(name, type_=operations.c[column].type)
    for name, column in (('topic', 'topic'), ('host', 'host'), ('now', 'next_run_at'))
)

_with_interrupted = sa.bindparam('with_interrupted', type_=sa.Boolean)

_SEEN = (
    'id',
    'kind',
    'resource_id',
    'topic',
    'host',
    'lane',
    'fair_share_key',
    'mutex_key',
    'step',
    'steps',
    'attempts',
    'next_run_at',
)
#: Projects whose further operations one statement reads, at most.
PROJECTS = 16


def list_claimable(
    conn: Connection,
    topic: str,
    host: str,
    most: int,
    lanes: Collection[str],
    *,
    scarce: Collection[str] = (),
    skip: Collection[str] = (),
    busy: Collection[str] = (),
    with_interrupted: bool = True,
) -> list[Any]:
    """Return at most ``most`` operations to claim next, best first: of each lane and project the oldest that is due,
    and that is not in ``skip`` nor has a mutex key in ``busy``. In ``scarce`` lanes, only of projects with no running
    operation there. Without ``with_interrupted``, no ``interrupted`` ones.

    ``running``: how many operations of its project are claimed in that lane, by any process. ``more``: another one of
    the same project waits behind it. ``interrupted``: its last try has left no word, so it may be what ended that process.
    Rows come without data, which are read with the claim: unreadable data block no other operation.
    """
    size = _padded(len(skip), len(busy))
    query = _query(conn.dialect.name, tuple(lanes), tuple(scarce), size)
    return query.all(
        conn,
        {
            'topic': topic,
            'host': host,
            'now': host_time.now(conn),
            'most': most,
            'with_interrupted': with_interrupted,
            **_numbered('skip', skip, size),
            **_numbered('busy', busy, size),
        },
    )


def list_behind(
    conn: Connection,
    topic: str,
    host: str,
    wanted: Mapping[tuple[str, str], int],
    *,
    skip: Collection[str] = (),
    busy: Collection[str] = (),
    with_interrupted: bool = True,
) -> list[Any]:
    """Return further operations of at most ``PROJECTS`` projects: so many of each (lane, project) as ``wanted`` says, the
    oldest first, without those in ``skip`` or with a mutex key in ``busy``. For operations behind those of ``list_claimable``.
    """
    size, parts = _padded(len(skip), len(busy)), list(wanted.items())[:PROJECTS]
    count = 1 << (len(parts) - 1).bit_length()
    values: dict[str, Any] = {
        'topic': topic,
        'host': host,
        'now': host_time.now(conn),
        'with_interrupted': with_interrupted,
        **_numbered('skip', skip, size),
        **_numbered('busy', busy, size),
    }
    for number, ((lane, fair_share_key), most) in enumerate(
        [*parts, *[(('', ''), 0)] * (count - len(parts))]
    ):
        values |= {f'lane_{number}': lane, f'turn_{number}': fair_share_key, f'most_{number}': most}
    return _behind(count, size).all(conn, values)


@functools.cache
def _behind(count: int, size: int) -> Query:
    parts = []
    for number in range(count):
        rows = operations.alias(f'of_{number}')
        lane, fair_share_key = (
            sa.bindparam(f'{name}_{number}', type_=sa.String) for name in ('lane', 'turn')
        )
        due = _due(rows, lane, fair_share_key, size, *_SEEN).add_columns(
            _interrupted(rows).label('interrupted')
        )
        parts.append(sa.select(due.limit(sa.bindparam(f'most_{number}', type_=sa.Integer)).subquery()))
    return Query(sa.union_all(*parts) if count > 1 else parts[0])


def _padded(*counts: int) -> int:
    """Return a size for lists of so many values, so that there are few different statements for any number."""
    return 1 << max(*counts, 1).bit_length()


def _numbered(name: str, values: Collection[str], size: int) -> dict[str, str]:
    """Return ``size`` parameters. Surplus ones have a value that no row has."""
    return {f'{name}_{number}': value for number, value in enumerate([*values, *[''] * (size - len(values))])}


def _none_of(column: Any, name: str, size: int) -> sa.ColumnElement[bool]:
    none: sa.ColumnElement[bool] = column.not_in(
        [sa.bindparam(f'{name}_{number}', type_=column.type) for number in range(size)]
    )
    return none


@functools.cache
def _query(dialect: str, lanes: tuple[str, ...], scarce: tuple[str, ...], size: int) -> Query:
    waiting = (_grouped if dialect in ('mysql', 'mariadb') else _walked)(lanes)
    first, which = (_beside if dialect == 'postgresql' else _by_id)(waiting, size)
    running = _running()
    count = sa.func.coalesce(running.c.running, 0)
    return Query(
        sa.select(
            *(first.c[name] for name in _SEEN),
            _interrupted(first).label('interrupted'),
            count.label('running'),
            _oldest(waiting, size, behind=1).scalar_subquery().is_not(None).label('more'),
        )
        .select_from(waiting)
        .join(first, which)
        .outerjoin(
            running,
            sa.and_(running.c.lane == first.c.lane, running.c.fair_share_key == first.c.fair_share_key),
        )
        .where(
            sa.or_(count == 0, first.c.lane.not_in([sa.literal(lane) for lane in scarce]))
            if scarce
            else sa.true()
        )
        .order_by(count, first.c.next_run_at)
        .limit(sa.bindparam('most', type_=sa.Integer))
    )


def _by_id(waiting: sa.CTE, size: int) -> tuple[Any, sa.ColumnElement[bool]]:
    first = operations.alias('first')
    return first, first.c.id == _oldest(waiting, size).scalar_subquery()


def _beside(waiting: sa.CTE, size: int) -> tuple[Any, sa.ColumnElement[bool]]:
    """Do as ``_by_id`` for PostgreSQL, which would read the whole table instead of one row by its id per project."""
    return _oldest(waiting, size, *_SEEN, 'error').lateral('first'), sa.true()


def _here(rows: Any) -> sa.ColumnElement[bool]:
    return sa.and_(rows.c.topic == _topic, rows.c.host == _host)


def _walked(lanes: tuple[str, ...]) -> sa.CTE:
    """Return lanes with the projects that have open operations there, found one after the other by the index."""
    rows = operations.alias('walked')
    all_lanes = sa.union_all(
        *(sa.select(sa.cast(sa.literal(lane), sa.String).label('lane')) for lane in lanes)
    ).subquery('lanes')

    def first(lane: Any, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
        return (
            sa.select(rows.c.fair_share_key)
            .where(_here(rows), rows.c.state == OPEN, rows.c.lane == lane, *where)
            .order_by(rows.c.fair_share_key)
            .limit(sa.literal_column('1'))
            .correlate(lane.table)
            .scalar_subquery()
        )

    waiting = sa.select(all_lanes.c.lane, first(all_lanes.c.lane).label('fair_share_key')).cte(
        'waiting', recursive=True
    )
    return waiting.union_all(
        sa.select(
            waiting.c.lane, first(waiting.c.lane, rows.c.fair_share_key > waiting.c.fair_share_key)
        ).where(waiting.c.fair_share_key.is_not(None))
    )


def _grouped(lanes: tuple[str, ...]) -> sa.CTE:
    """Do as ``_walked`` for MariaDB, which does not look up the next value after one that it has just found. It reads
    one index entry per group, if it looks for more than one lane and knows how many rows there are.
    """
    group = [operations.c[name] for name in ('topic', 'host', 'state', 'lane', 'fair_share_key')]
    several = operations.c.lane.in_([sa.literal(lane) for lane in (*lanes, '')])
    return (
        sa.select(operations.c.lane, operations.c.fair_share_key)
        .where(_here(operations), operations.c.state == OPEN, several)
        .group_by(*group)
        .cte('waiting')
    )


def _oldest(waiting: sa.CTE, size: int, *columns: str, behind: int = 0) -> sa.Select[Any]:
    """Return the project's oldest operation that may be claimed now, or the one ``behind`` it: its id, or these columns."""
    rows = operations.alias(f'behind_{behind}')
    return (
        _due(rows, waiting.c.lane, waiting.c.fair_share_key, size, *columns or ('id',))
        .limit(sa.literal_column('1'))
        .offset(sa.literal_column(str(behind)))
        .correlate(waiting)
    )


def _due(rows: Any, lane: Any, fair_share_key: Any, size: int, *columns: str) -> sa.Select[Any]:
    """Return the project's operations in the lane that may be claimed now, the oldest first: these columns."""
    return (
        sa.select(*(rows.c[name] for name in columns))
        .where(
            _here(rows),
            rows.c.lane == lane,
            rows.c.fair_share_key == fair_share_key,
            is_claimable(rows, _now),
            _none_of(rows.c.id, 'skip', size),
            sa.or_(rows.c.mutex_key.is_(None), _none_of(rows.c.mutex_key, 'busy', size)),
            sa.or_(_with_interrupted, sa.not_(_interrupted(rows))),
        )
        .order_by(rows.c.next_run_at)
    )


def _interrupted(rows: Any) -> sa.ColumnElement[bool]:
    return sa.and_(rows.c.attempts > 0, rows.c.error.is_(None))


def _running() -> sa.Subquery:
    """Count the queue's claimed operations. Only open ones have an owner; that condition makes the index usable."""
    return (
        sa.select(operations.c.lane, operations.c.fair_share_key, sa.func.count().label('running'))
        .where(_here(operations), operations.c.owner > '', operations.c.lease_expires_at >= _now)
        .group_by(operations.c.lane, operations.c.fair_share_key)
        .subquery('claimed')
    )
