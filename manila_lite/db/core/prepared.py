# SPDX-License-Identifier: Apache-2.0
"""Prepared statements: compiled once for a database, then handed to its driver.

SQLAlchemy looks a statement up, and builds its context, anew each time: ten times the cost of a small statement itself.
Here only values are converted for the driver, and back. Errors are those of any other statement, and listeners to
SQLAlchemy's events (traces, tests) are called with the statement that the driver gets.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

Values = Mapping[str, Any]
#: Converts a value for the driver, or back.
_Change = Callable[[Any], Any]


def send(conn: Connection, text: str, values: Any = (), *, many: bool = False) -> Any:
    """Send a statement in the driver's dialect, in the connection's transaction. Return its cursor.

    Events are those of the engine, which are cheaper to look up than those of the connection.
    """
    cursor = None
    listeners = conn.engine.dispatch
    try:
        cursor = conn.connection.cursor()
        for before in listeners.before_cursor_execute:
            text, values = before(conn, cursor, text, values, None, many)
        (cursor.executemany if many else cursor.execute)(text, values)
        for after in listeners.after_cursor_execute:
            after(conn, cursor, text, values, None, many)
    except Exception as error:
        # As SQLAlchemy does: listeners make it an error of oslo.db, and a broken connection is given up.
        conn._handle_dbapi_exception(error, text, values, cursor, None)  # noqa: SLF001 - there is no public way
    return cursor


@dataclasses.dataclass(frozen=True)
class _Compiled:
    """A statement compiled for one dialect: its text, fixed values, generated values, and parameters."""

    text: str
    fixed: dict[str, Any]
    made: tuple[tuple[str, Callable[[Any], Any]], ...]
    takes: tuple[str, ...]
    changes: tuple[tuple[int, _Change], ...]
    positional: bool

    @classmethod
    def of(cls, statement: Any, dialect: Dialect, names: Sequence[str] | None = None) -> '_Compiled':
        """Compile the statement. For an INSERT, ``names`` are the columns that are given; others have their defaults."""
        compiled = statement.compile(dialect=dialect, column_keys=names)
        if compiled.post_compile_params:
            raise TypeError(f'a list of any length cannot be prepared: {compiled}')
        fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        made: dict[str, Callable[[Any], Any]] = {}
        for column, default in [
            *((column, column.default) for column in compiled.insert_prefetch),
            *((column, column.onupdate) for column in compiled.update_prefetch),
        ]:
            fixed.pop(column.key, None)
            (made if default.is_callable else fixed)[column.key] = default.arg
        takes = tuple(compiled.positiontup or compiled.binds)
        changes = [compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in takes]
        return cls(
            str(compiled),
            fixed,
            tuple(made.items()),
            takes,
            tuple((index, change) for index, change in enumerate(changes) if change is not None),
            compiled.positional,
        )

    def values(self, given: Values) -> Any:
        """Return the values for the driver.

        :raises KeyError: one is missing.
        """
        known = {**self.fixed, **given}
        for name, make in self.made:
            known[name] = make(None)
        taken = [known[name] for name in self.takes]
        for index, change in self.changes:
            taken[index] = change(taken[index])
        return taken if self.positional else dict(zip(self.takes, taken, strict=True))


def one_of(column: Any, choices: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of these values: as ``in_``, but it can be prepared."""
    condition: sa.ColumnElement[bool] = column.in_(
        [
            choice if isinstance(choice, sa.ClauseElement) else sa.literal(choice, column.type)
            for choice in choices
        ]
    )
    return condition


class Query:
    """A SELECT. Its rows are tuples, with names unless ``named`` is off. ``row``: their class, with the same names."""

    def __init__(
        self,
        statement: sa.Select[Any] | sa.CompoundSelect[Any],
        *,
        named: bool = True,
        row: type[tuple[Any, ...]] | None = None,
    ):
        self._statement = statement
        self._columns = tuple(statement.selected_columns)
        kind: Any = row or NamedTuple('Row', [(str(column.key), Any) for column in self._columns])
        self._make = functools.partial(tuple.__new__, kind if named else tuple)  # as kind._make, but in C
        self._named = named
        self._compiled: dict[type, _Compiled] = {}
        self._changes: dict[type, list[tuple[int, _Change]]] = {}

    def all(self, conn: Connection, values: Values | None = None) -> list[Any]:
        """Return all rows."""
        cursor = self._sent(conn, values or {})
        rows = cursor.fetchall()
        changes = self._changes.get(type(conn.dialect))
        if changes is None:
            changes = self._changes[type(conn.dialect)] = self._learnt(conn.dialect, cursor.description)
        cursor.close()
        if changes and rows:
            columns: list[Any] = list(zip(*rows, strict=True))
            for index, change in changes:
                columns[index] = map(change, columns[index])
            rows = list(zip(*columns, strict=True))
        return list(map(self._make, rows)) if self._named else rows

    def first(self, conn: Connection, values: Values | None = None) -> Any:
        """Return the first row, or None. For results of few rows."""
        return next(iter(self.all(conn, values)), None)

    def value(self, conn: Connection, values: Values | None = None) -> Any:
        """Return the first value of the first row, or None. For results of few rows."""
        row = self.first(conn, values)
        return None if row is None else row[0]

    def row(self, values: Values) -> Any:
        """Return a row of these values, as if it was read.

        :raises KeyError: one is missing.
        """
        return self._make([values[str(column.key)] for column in self._columns])

    def _sent(self, conn: Connection, values: Values) -> Any:
        compiled = self._compiled.get(type(conn.dialect))
        if compiled is None:
            compiled = self._compiled[type(conn.dialect)] = _Compiled.of(self._statement, conn.dialect)
        return send(conn, compiled.text, compiled.values(values))

    def _learnt(self, dialect: Dialect, description: Sequence[Any]) -> list[tuple[int, _Change]]:
        changes = [
            (index, column.type.dialect_impl(dialect).result_processor(dialect, description[index][1]))
            for index, column in enumerate(self._columns)
        ]
        return [(index, change) for index, change in changes if change is not None]


class _OfMany:
    """A statement on rows in which ``column`` is one of many values, or for which ``column``, a function of these values,
    returns a condition.

    Databases take a statement of any length, but SQLAlchemy writes a new one for each number of values. Here values are
    split into portions, and each is padded with one of its values, so that there are few different statements.
    """

    #: Values in a portion at most: more than a page has, and about half the limit of SQLite.
    MOST = 16384

    def __init__(self, statement: Any, column: Any):
        self._statement = statement
        self._column = column
        self._of_size: dict[int, Any] = {}

    def _make(self, statement: Any, names: Sequence[Any]) -> Any:
        raise NotImplementedError

    def _portions(self, wanted: Sequence[Any], values: Values) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Yield for each portion the statement and all its values."""
        for start in range(0, len(wanted), self.MOST):
            portion = list(wanted[start : start + self.MOST])
            size = 1 << (len(portion) - 1).bit_length()
            if size not in self._of_size:
                names: list[Any] = [sa.bindparam(f'wanted_{number}') for number in range(size)]
                condition = self._column(names) if callable(self._column) else self._column.in_(names)
                self._of_size[size] = self._make(self._statement.where(condition), names)
            filled = [*portion, *portion[:1] * (size - len(portion))]
            yield (
                self._of_size[size],
                {**values, **{f'wanted_{number}': value for number, value in enumerate(filled)}},
            )


class Among(_OfMany):
    """A SELECT of rows in which ``column`` is one of many values. Rows are tuples, without names unless they are ``named`` or
    have a class: ``row``.
    """

    def __init__(
        self, statement: Any, column: Any, *, named: bool = False, row: type[tuple[Any, ...]] | None = None
    ):
        super().__init__(statement, column)
        self._named, self._row = named or row is not None, row

    def _make(self, statement: Any, names: Sequence[Any]) -> Any:
        return Query(statement, named=self._named, row=self._row)

    def all(self, conn: Connection, wanted: Sequence[Any], values: Values | None = None) -> list[Any]:
        """Return all rows, in one statement for each portion."""
        return [
            row for query, known in self._portions(wanted, values or {}) for row in query.all(conn, known)
        ]


class WriteAmong(_OfMany):
    """An UPDATE or DELETE of rows in which ``column`` is one of many values."""

    def _make(self, statement: Any, names: Sequence[Any]) -> Any:
        return Write(statement)

    def execute(self, conn: Connection, wanted: Sequence[Any], values: Values | None = None) -> int:
        """Execute it, in one statement for each portion. Return the number of affected rows."""
        return sum(write.execute(conn, known) for write, known in self._portions(wanted, values or {}))


class WriteEach(_OfMany):
    """An UPDATE that gives each of many rows, which ``column`` tells apart, its own value in the column ``own``."""

    #: Each row takes three values of a statement: twice that by which it is found, and its own.
    MOST = _OfMany.MOST // 2

    def __init__(self, statement: sa.Update, column: Any, own: Any):
        super().__init__(statement, column)
        self._own = own

    def _make(self, statement: Any, names: Sequence[Any]) -> Any:
        choices = [
            (name, sa.bindparam(f'own_{number}', type_=self._own.type)) for number, name in enumerate(names)
        ]
        return Write(statement.values({self._own.key: sa.case(*choices, value=self._column)}))

    def execute(self, conn: Connection, wanted: Mapping[Any, Any], values: Values | None = None) -> int:
        """Execute it with the own values ``wanted``, in one statement for each portion. Return the number of affected rows."""
        return sum(
            write.execute(conn, {**known, **self._own_values(known, wanted)})
            for write, known in self._portions(list(wanted), values or {})
        )

    @staticmethod
    def _own_values(known: Values, wanted: Mapping[Any, Any]) -> dict[str, Any]:
        keys = {name: value for name, value in known.items() if name.startswith('wanted_')}
        return {name.replace('wanted_', 'own_', 1): wanted[value] for name, value in keys.items()}


class Write:
    """An INSERT, UPDATE or DELETE. An INSERT may leave out columns that have a default."""

    def __init__(self, statement: sa.Insert | sa.Update | sa.Delete, *, by_column: bool | None = None):
        """``by_column``: values have the names of columns, as those of an INSERT usually do."""
        self._statement = statement
        self._by_column = isinstance(statement, sa.Insert) if by_column is None else by_column
        self._compiled: dict[Any, _Compiled] = {}

    def execute(self, conn: Connection, values: Values) -> int:
        """Execute the statement. Return the number of affected rows."""
        compiled = self._of(conn, values)
        cursor = send(conn, compiled.text, compiled.values(values))
        count: int = cursor.rowcount
        cursor.close()
        return count

    def execute_many(self, conn: Connection, rows: Sequence[Values]) -> None:
        """Execute the statement for each of the rows, which all have values for the same columns."""
        if len(rows) == 1:
            self.execute(conn, rows[0])
        elif rows:
            compiled = self._of(conn, rows[0])
            send(conn, compiled.text, [compiled.values(row) for row in rows], many=True).close()

    def _of(self, conn: Connection, values: Values) -> _Compiled:
        names = tuple(values) if self._by_column else None
        key = (type(conn.dialect), names)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = _Compiled.of(self._statement, conn.dialect, names)
        return compiled
