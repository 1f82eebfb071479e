# SPDX-License-Identifier: Apache-2.0
"""Triggers that write each change of usage to ``quota_changes``, in the transaction of the change and whoever makes it.

They read only the row that changes: a value read from another row could be old by the time of the commit. They only insert,
so that they wait for nobody. Revision 0024 makes them. A revision that changes one drops it before; one that makes a counted
table anew on SQLite, as ``batch_alter_table`` does, loses its triggers and makes them again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors

TABLE = 'quota_changes'
#: The columns that tell sums apart, and the sums.
KEYS = ('project_id', 'user_id', 'resource', 'encryption_key_ref')
SUMS = ('number', 'gigabytes', 'growth')

#: The number of MariaDB's error if a user without SUPER makes triggers while there is a binary log.
_NEEDS_SUPER = 1419
_ALLOW = (
    'the database has a binary log, and then it permits triggers only to its administrators. Execute as one of them '
    '"SET GLOBAL log_bin_trust_function_creators = 1", then run "manila-manage db sync" again'
)

_GROWTH = 'CASE WHEN {row}target_size > {row}size THEN {row}target_size - {row}size ELSE 0 END'


class Counted(NamedTuple):
    """A table that quotas count: the columns that usage depends on, and expressions in them. ``{row}`` stands for ``OLD.``,
    ``NEW.`` or nothing.
    """

    table: str
    columns: tuple[str, ...]
    gigabytes: str = '0'
    growth: str = '0'
    key: str = "''"

    def condition(self, row: str = '') -> str:
        """Return the condition that a row is counted."""
        return f'NOT {row}is_going' if 'is_going' in self.columns else '1 = 1'

    def values(self, row: str = '', sign: str = '') -> dict[str, str]:
        """Return the values of ``KEYS`` and ``SUMS``. ``sign``: ``-`` for a row that is counted no longer."""
        values = (
            '{row}project_id',
            "COALESCE({row}user_id, '')",
            f"'{self.table}'",
            self.key,
            f'{sign}1',
            f'{sign}({self.gigabytes})',
            f'{sign}({self.growth})',
        )
        return {name: value.format(row=row) for name, value in zip((*KEYS, *SUMS), values, strict=True)}


_OWNER = ('project_id', 'user_id')
COUNTED = (
    Counted(
        'shares',
        (*_OWNER, 'is_going', 'size', 'target_size', 'encryption_key_ref'),
        '{row}size',
        _GROWTH,
        "COALESCE({row}encryption_key_ref, '')",
    ),
    Counted('snapshots', (*_OWNER, 'is_going', 'size'), '{row}size'),
    Counted('share_networks', (*_OWNER, 'is_going')),
    Counted('share_groups', _OWNER),
    Counted('share_group_snapshots', _OWNER),
    Counted('share_backups', (*_OWNER, 'size'), '{row}size'),
)
#: The rows that an event takes from the usage, and those that it adds.
_EVENTS = {'INSERT': {'NEW.': ''}, 'UPDATE': {'OLD.': '-', 'NEW.': ''}, 'DELETE': {'OLD.': '-'}}


class _Trigger(NamedTuple):
    counted: Counted
    event: str

    @property
    def name(self) -> str:
        return f'{TABLE}_{self.counted.table}_{self.event.lower()}'

    @property
    def on(self) -> str:
        """The event and the table, with the columns that matter, on databases where a trigger can name them."""
        of = f' OF {", ".join(self.counted.columns)}' if self.event == 'UPDATE' else ''
        return f'{self.event}{of} ON {self.counted.table}'

    def when(self, differ: str) -> str:
        """Return the condition for a change of usage. ``differ``: that of two values which may be null."""
        if self.event != 'UPDATE':
            return '1 = 1'
        return ' OR '.join(differ.format(f'OLD.{name}', f'NEW.{name}') for name in self.counted.columns)

    def inserts(self, pattern: str) -> str:
        """Return the statements of the trigger, each by a pattern with ``condition``, ``into`` and ``values``."""
        return ' '.join(
            pattern.format(
                condition=self.counted.condition(row),
                into=f'{TABLE} ({", ".join((*KEYS, *SUMS))})',
                values=', '.join(self.counted.values(row, sign).values()),
            )
            for row, sign in _EVENTS[self.event].items()
        )


def _sqlite(trigger: _Trigger) -> Iterator[str]:
    yield (
        f'CREATE TRIGGER {trigger.name} AFTER {trigger.on} WHEN {trigger.when("{} IS NOT {}")} BEGIN '
        f'{trigger.inserts("INSERT INTO {into} SELECT {values} WHERE {condition};")} END'
    )


_IF = 'IF {condition} THEN INSERT INTO {into} VALUES ({values}); END IF;'


def _postgresql(trigger: _Trigger) -> Iterator[str]:
    yield (
        f'CREATE OR REPLACE FUNCTION {trigger.name}() RETURNS trigger LANGUAGE plpgsql AS '
        f'$$ BEGIN {trigger.inserts(_IF)} RETURN NULL; END $$'
    )
    yield (
        f'CREATE TRIGGER {trigger.name} AFTER {trigger.on} FOR EACH ROW WHEN '
        f'({trigger.when("{} IS DISTINCT FROM {}")}) EXECUTE FUNCTION {trigger.name}()'
    )


def _mariadb(trigger: _Trigger) -> Iterator[str]:
    # Each change of the schema is committed by itself: an interrupted revision begins anew.
    yield f'DROP TRIGGER IF EXISTS {trigger.name}'
    # Not INSERT ... SELECT: that locks the counter of the table's ids until the end of the whole statement.
    yield (
        f'CREATE TRIGGER {trigger.name} AFTER {trigger.event} ON {trigger.counted.table} FOR EACH ROW '
        f'IF {trigger.when("NOT ({} <=> {})")} THEN {trigger.inserts(_IF)} END IF'
    )


_DIALECTS: dict[str, Callable[[_Trigger], Iterator[str]]] = {
    'sqlite': _sqlite,
    'postgresql': _postgresql,
    'mysql': _mariadb,
}


#: The statements that list triggers.
_CATALOGS = {
    'sqlite': "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    'postgresql': 'SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = CURRENT_SCHEMA()',
    'mysql': 'SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()',
}
_TRIGGERS = {
    trigger.name: trigger
    for trigger in (_Trigger(counted, event) for counted in COUNTED for event in _EVENTS)
}


def absent(conn: Connection) -> list[str]:
    """Return the names of the triggers that are missing."""
    there = set(conn.exec_driver_sql(_CATALOGS[conn.engine.url.get_backend_name()]).scalars())
    return [name for name in _TRIGGERS if name not in there]


def create(conn: Connection, names: Iterable[str] = _TRIGGERS) -> None:
    """Make triggers; all, if none are named.

    :raises errors.Conflict: MariaDB or MySQL refuses them to this user.
    """
    try:
        for name in names:
            for statement in _DIALECTS[conn.engine.url.get_backend_name()](_TRIGGERS[name]):
                conn.exec_driver_sql(statement)
    except sa.exc.OperationalError as refused:
        if _NEEDS_SUPER in getattr(refused.orig, 'args', ()):
            raise errors.Conflict(_ALLOW) from None
        raise


def missing(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the SELECT of what the sums lack: as ``KEYS`` and ``SUMS``, what the rows of the counted tables come to, less the
    sum of all changes.

    One statement, for then the rows and the changes are of the same moment.
    """
    changes = sa.table(TABLE, *map(sa.column, (*KEYS, *SUMS))).c
    less = sa.select(*(changes[name] for name in KEYS), *((-changes[name]).label(name) for name in SUMS))
    every = sa.union_all(less, *map(_counting, COUNTED)).subquery('every_change').c
    keys = [every[name] for name in KEYS]
    sums = {name: sa.func.sum(every[name]) for name in SUMS}
    columns = [*keys, *(total.label(name) for name, total in sums.items())]
    return (
        sa.select(*columns)
        .where(*conditions)
        .group_by(*keys)
        .having(sa.or_(*(total != 0 for total in sums.values())))
    )


def _counting(counted: Counted) -> sa.Select[Any]:
    columns: list[sa.Label[Any]] = [
        sa.literal_column(value).label(name) for name, value in counted.values().items()
    ]
    query: sa.Select[Any] = sa.select(*columns).select_from(sa.table(counted.table))
    return query.where(sa.text(counted.condition()))


def fill(conn: Connection, *conditions: sa.ColumnElement[bool]) -> int:
    """Add the changes that are missing. Return how many."""
    names = (*KEYS, *SUMS)
    return conn.execute(
        sa.table(TABLE, *map(sa.column, names)).insert().from_select(names, missing(*conditions))
    ).rowcount
