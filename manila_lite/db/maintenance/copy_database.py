# SPDX-License-Identifier: Apache-2.0
"""Copying of all rows of a database into an empty one: from a SQLite file to PostgreSQL or MariaDB, for many hosts.

Rows are copied unchanged, in one transaction of the other database: if it ends early, none of them is there.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core.engine import UNUSABLE, Database
from manila_lite.db.maintenance import schema_revisions
from manila_lite.db.models.base import Json
from manila_lite.db.queries import services

#: Rows in memory at a time.
_BATCH = 500
#: The isolation level at which a transaction reads one state of the database; SQLite always does.
_ONE_MOMENT = {'postgresql': 'REPEATABLE READ', 'mysql': 'REPEATABLE READ', 'mariadb': 'REPEATABLE READ'}
_PORTS = {'postgresql': 5432, 'mysql': 3306, 'mariadb': 3306}
_VERSION = 'alembic_version'
#: The table that has a row as soon as the schema is made; the source's row counts.
_CHECK = models.secret_checks.name
#: The table that the target's triggers fill from the other rows. It may have old rows, whose sum is nothing.
_WRITTEN_THERE = models.quota_changes.name
#: Errors that mean that the other database cannot do what was asked. oslo.db lets some of SQLAlchemy's through.
_REFUSALS = (*UNUSABLE, sa.exc.SQLAlchemyError, ValueError)

_operations = models.operations


class Step(NamedTuple):
    """Progress of a copy: the rows of this table, and of all tables, that are copied, and their number."""

    table: str
    done: int
    of: int
    all_done: int
    all_of: int


# Identity of a database --------------------------------------------------------------------------


def shown_url(db: Database) -> str:
    """Return the URL of a database without user and password.

    :raises errors.BadConfig: its URL names none. The message does not quote it, for it may hold a password.
    """
    url = db.engine.url
    if url.database in (None, '', ':memory:') or '@' in (url.host or ''):
        raise errors.BadConfig('the URL to copy to must name a database; in a password write @ as %40')
    return sa.URL.create(
        url.drivername, host=url.host, port=url.port, database=url.database
    ).render_as_string()


def same(one: Database, other: Database) -> bool:
    """Say whether both are the same database, as far as their URLs tell: a host may have several names."""
    return _identity(one) == _identity(other)


def _identity(db: Database) -> tuple[Any, ...]:
    url, kind = db.engine.url, db.engine.dialect.name
    if kind == 'sqlite':
        return kind, os.path.realpath(url.database or '')
    sockets = tuple(url.query.get(name) for name in ('host', 'port', 'unix_socket'))
    return kind, url.host, url.port or _PORTS.get(kind), url.database, sockets


# Checks of both databases ------------------------------------------------------------------------


@contextlib.contextmanager
def one_moment(db: Database) -> Iterator[Connection]:
    """Yield a connection that reads one state of the database, however long that takes."""
    with db.engine.connect() as conn:
        if level := _ONE_MOMENT.get(conn.dialect.name):
            conn.execution_options(isolation_level=level)
        transaction = conn.begin()
        try:
            yield conn
        finally:
            transaction.rollback()


def alive(conn: Connection, down_time: float) -> list[str]:
    """Return the signs that the database is in use: services that are up, valid leases and claims."""
    now = timeutils.utcnow()
    rows = services.list_services(conn)
    signs = [f'{row.binary} on {row.host} is up' for row in rows if services.is_up(row, down_time)]
    signs += [
        f'{row.binary} on {row.host} is down and its lease is not over'
        for row in rows
        if not services.is_up(row, down_time)
        and row.lease_owner
        and row.lease_expires_at
        and row.lease_expires_at >= now
    ]
    claimed = conn.execute(
        sa.select(sa.func.count()).where(
            _operations.c.state == 'open',
            _operations.c.owner.is_not(None),
            _operations.c.lease_expires_at >= now,
        )
    ).scalar_one()
    return [*signs, *([f'{claimed} operations are being worked on'] if claimed else [])]


def prepare(target: Database) -> None:
    """Create the newest schema in the target, by its revisions.

    :raises errors.Conflict: the target is not empty; it is unchanged.
    """
    with _as_ours('the database to copy to'):
        revision = schema_revisions.current(target)
        with target.engine.connect() as conn:
            wrong = _not_empty(conn, revision, schema_revisions.head(target))
    if wrong:
        raise errors.Conflict(
            f'{shown_url(target)} {wrong}. Nothing was changed. Make an empty database and name that.'
        )
    from manila_lite.db.maintenance import schema_migrations  # needs alembic

    with _as_ours('the schema cannot be created there; create that database again'):
        schema_migrations.upgrade(target)


def _not_empty(conn: Connection, revision: str | None, newest: str) -> str:
    """Return the reason why the target is not usable, or nothing."""
    tables = sorted(set(sa.inspect(conn).get_table_names()) - {_VERSION})
    foreign = [name for name in tables if name not in models.metadata.tables]
    if foreign:
        return f'has tables that are not ours: {_some(foreign)}'
    if revision is None:
        return f'has tables and no revision of the schema: {_some(tables)}' if tables else ''
    if revision != newest:
        return f'has a schema at {revision}, not at {newest}'
    filled = [
        name
        for name in tables
        if name not in (_CHECK, _WRITTEN_THERE)
        and conn.execute(sa.select(sa.literal(1)).select_from(sa.table(name)).limit(1)).first()
    ]
    return f'is not empty: there are rows in {_some(filled)}' if filled else ''


def _some(names: Sequence[str]) -> str:
    return ', '.join(names[:3]) + (f' and {len(names) - 3} more' if len(names) > 3 else '')


@contextlib.contextmanager
def _as_ours(what: str) -> Iterator[None]:
    """Turn a database error into one line after ``what``, without the statement and without user and password."""
    try:
        yield
    except _REFUSALS as bad:
        if isinstance(bad.__context__, KeyboardInterrupt):
            # oslo.db fails on an interrupted connection to SQLite.
            raise bad.__context__ from None
        inner = getattr(bad, 'inner_exception', None) or bad
        said = ' '.join(str(getattr(inner, 'orig', None) or inner).split())
        raise errors.Conflict(f'{what}: {said}') from None


# The rows ----------------------------------------------------------------------------------------


class _Table(NamedTuple):
    """A table for copying: without defaults, and with JSON as its stored text.

    ``late``: columns that refer to rows which may be copied later, for instance of the same table.
    """

    model: sa.Table
    plain: sa.TableClause
    late: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        return [column.name for column in self.model.primary_key]


def _tables(metadata: sa.MetaData) -> list[_Table]:
    """Return the tables to copy, ordered so that a table comes after those that it refers to."""
    order = metadata.sorted_tables
    index_of = {table: number for number, table in enumerate(order)}
    return [
        _Table(
            table,
            sa.table(table.name, *(sa.column(column.name, _plain(column.type)) for column in table.columns)),
            tuple(
                sorted(
                    {
                        key.parent.name
                        for key in table.foreign_keys
                        if index_of[key.column.table] >= index_of[table]
                    }
                )
            ),
        )
        for table in order
        if table.name != _WRITTEN_THERE
    ]


def _plain(kind: Any) -> Any:
    return sa.Text() if isinstance(kind, Json) else kind


def copy(source: Connection, target: Database, report: Callable[[Step], None]) -> dict[str, int]:
    """Copy all rows of the source to the target, which is prepared. Return how many, by table.

    :raises errors.Conflict: it cannot take them; none of them is there.
    """
    tables = _tables(models.metadata)
    counts = {table.model.name: _count(source, table) for table in tables}
    done = 0
    with _committed(target) as conn:
        conn.execute(models.secret_checks.delete())
        for table in tables:
            name = table.model.name
            for copied in _fill(source, conn, table):
                report(Step(name, copied, counts[name], done + copied, sum(counts.values())))
            done += counts[name]
        for table in tables:
            _fill_late(source, conn, table)
            _pass_sequence(conn, table)
        _compare(counts, {table.model.name: _count(conn, table) for table in tables})
    return counts


@contextlib.contextmanager
def _committed(target: Database) -> Iterator[Connection]:
    what = 'nothing was copied'
    try:
        with target.writer() as conn:
            with _as_ours(what):
                yield conn
            what = 'the last step failed, so the copy may be incomplete; check that database'
    except _REFUSALS:
        with _as_ours(what):
            raise


def _count(conn: Connection, table: _Table) -> int:
    return conn.execute(sa.select(sa.func.count()).select_from(table.plain)).scalar_one()


def _batches(source: Connection, query: sa.Select[Any]) -> Iterator[list[dict[str, Any]]]:
    result = source.execute(query, execution_options={'yield_per': _BATCH})
    return ([dict(row) for row in rows] for rows in result.mappings().partitions())


def _fill(source: Connection, conn: Connection, table: _Table) -> Iterator[int]:
    """Yield how many rows of the table are copied, after each batch."""
    copied = 0
    for rows in _batches(source, sa.select(table.plain)):
        with _as_ours(f'nothing was copied, because of table {table.model.name}'):
            conn.execute(table.plain.insert(), [row | dict.fromkeys(table.late) for row in rows])
        copied += len(rows)
        yield copied


def _fill_late(source: Connection, conn: Connection, table: _Table) -> None:
    if not table.late:
        return
    columns = table.plain.c
    update = (
        table.plain.update()
        .where(*(columns[name] == sa.bindparam(f'key_{name}') for name in table.keys))
        .values({name: sa.bindparam(f'late_{name}') for name in table.late})
    )
    wanted = [
        *(columns[name].label(f'key_{name}') for name in table.keys),
        *(columns[name].label(f'late_{name}') for name in table.late),
    ]
    for rows in _batches(
        source, sa.select(*wanted).where(sa.or_(*(columns[name].is_not(None) for name in table.late)))
    ):
        conn.execute(update, rows)


def _pass_sequence(conn: Connection, table: _Table) -> None:
    """Set the table's sequence above the copied numbers. Only PostgreSQL needs that."""
    column = table.model.autoincrement_column
    if column is None or conn.dialect.name != 'postgresql':
        return
    last = sa.func.max(table.plain.c[column.name])
    sequence = sa.func.pg_get_serial_sequence(table.model.name, column.name)
    conn.execute(sa.select(sa.func.setval(sequence, sa.func.coalesce(last, 1), last.is_not(None))))


def _compare(counts: Mapping[str, int], copied: Mapping[str, int]) -> None:
    wrong = [
        f'{name} has {copied[name]} of {count}' for name, count in counts.items() if copied[name] != count
    ]
    if wrong:
        raise errors.Conflict(f'nothing was copied: another process wrote to the target, too: {_some(wrong)}')
