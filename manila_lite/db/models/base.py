# SPDX-License-Identifier: Apache-2.0
"""The metadata and the column shapes that all tables share."""

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from manila_lite.host import clock

#: A column with a ``key`` has that name in the code. Its name in the database is older and stays: during an upgrade,
#: services of the release before read it.
metadata = sa.MetaData(
    naming_convention={
        'ix': 'ix_%(table_name)s_%(column_0_N_name)s',
        'uq': 'uq_%(table_name)s_%(column_0_N_name)s',
        'fk': 'fk_%(table_name)s_%(column_0_N_name)s',
        'pk': 'pk_%(table_name)s',
    }
)

#: Microseconds on every database; the API shows them.
Time = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
#: GiB, factors of GiB, and seconds, in double precision: a plain FLOAT has that everywhere else.
Gigabytes = Seconds = sa.Float().with_variant(mysql.DOUBLE(asdecimal=False), 'mysql', 'mariadb')
Name = sa.String(255)
Id = sa.String(36)
#: See db/maintenance/secrets.py. SQLite ignores the length, and the column keeps its old type there.
Secret = sa.Text().with_variant(sa.String(255), 'sqlite')


class Json(sa.TypeDecorator[Any]):
    """A JSON value kept as text."""

    impl = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        return None if value is None else json.dumps(value, sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        return None if value is None else json.loads(value)


def primary_key(name: str = 'id', **kwargs: Any) -> sa.Column[Any]:
    """Return the column of a UUID primary key."""
    return sa.Column(name, Id, primary_key=True, **kwargs)


def ref(
    name: str, target: str, *, nullable: bool = False, cascade: bool = False, index: bool = True
) -> sa.Column[Any]:
    """Return a column of UUIDs that point to another table's rows. ``cascade``: rows are deleted with those."""
    return sa.Column(
        name,
        Id,
        sa.ForeignKey(target, ondelete='CASCADE' if cascade else None),
        nullable=nullable,
        index=index,
    )


def times() -> tuple[sa.Column[Any], sa.Column[Any]]:
    """Return the columns created_at and updated_at, which are set automatically."""
    return (
        sa.Column('created_at', Time, nullable=False, default=clock.without_jumps),
        sa.Column('updated_at', Time, onupdate=clock.without_jumps),
    )


def by_change(name: str) -> sa.Index:
    """Return the index of the table ``name`` by the time of the last change. A row that never changed has no ``updated_at``."""
    return sa.Index(f'ix_{name}_updated_at_created_at', 'updated_at', 'created_at')


def flag(name: str, default: bool = False, *, key: str | None = None) -> sa.Column[Any]:
    """Return a boolean column that is never null. ``key``: its name in the code, if that differs."""
    return sa.Column(
        name,
        sa.Boolean,
        nullable=False,
        default=default,
        key=key or name,
        server_default=sa.true() if default else sa.false(),
    )


def pairs(name: str, owner: str, *, value_length: int = 1023) -> sa.Table:
    """Return a table of key/value pairs of ``owner`` (table name), which are deleted with their owner."""
    return sa.Table(
        name,
        metadata,
        sa.Column('owner_id', Id, sa.ForeignKey(f'{owner}.id', ondelete='CASCADE'), primary_key=True),
        sa.Column('key', Name, primary_key=True),
        sa.Column('value', sa.String(value_length), nullable=False),
        sa.Index(f'ix_{name}_key_value', 'key', 'owner_id'),
    )
