# SPDX-License-Identifier: Apache-2.0
"""Rows whose owner is gone, found by the foreign keys of the tables: a new table needs no new code.

A healthy database has none. They come from partly restored dumps, and from manual SQL.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models

_shares = models.shares
_instances = models.share_instances
_snapshots = models.snapshots
_quotas = models.quotas
_locks = models.quota_locks
_pools = models.pools
_services = models.services


@dataclasses.dataclass(frozen=True)
class Orphans:
    """One kind of orphaned rows. ``harmful``: they count in quota, are shown or block something. ``clear``: the column
    that is set to null instead of deleting the row.
    """

    table: sa.Table
    why: str
    where: sa.ColumnElement[bool]
    harmful: bool = True
    clear: str | None = None

    def find(self, conn: Connection) -> list[str]:
        """Return the keys of the rows."""
        keys = self.table.primary_key.columns
        return [
            '/'.join(str(part) for part in row)
            for row in conn.execute(sa.select(*keys).where(self.where).order_by(*keys))
        ]

    def clean(self, conn: Connection) -> int:
        """Delete the rows that are orphans now, or clear their column. Return their number."""
        if self.clear:
            return _cut(conn, self.table, self.table.c[self.clear], self.where)
        _detach(conn, self.table, self.where)
        return conn.execute(self.table.delete().where(self.where)).rowcount


def _cut(conn: Connection, table: sa.Table, column: sa.Column[Any], where: sa.ColumnElement[bool]) -> int:
    return conn.execute(table.update().where(where).values({column: None})).rowcount


def _detach(conn: Connection, doomed: sa.Table, where: sa.ColumnElement[bool]) -> None:
    """Delete or clear everything that refers to these rows without being deleted by cascade."""
    for table in models.metadata.sorted_tables:
        for key in table.foreign_keys:
            if key.column.table is not doomed or table is doomed or key.ondelete == 'CASCADE':
                continue
            pointing = key.parent.in_(sa.select(key.column).where(where))
            if key.parent.nullable:
                _cut(conn, table, key.parent, pointing)
            else:
                _detach(conn, table, pointing)
                conn.execute(table.delete().where(pointing))


def _none(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    return ~sa.exists().select_from(table).where(*conditions)


def _bare_share(column: sa.Column[Any]) -> sa.ColumnElement[bool]:
    return _none(_instances, _instances.c.share_id == column)


def _special() -> Iterator[Orphans]:
    yield Orphans(_snapshots, 'their share has no instance', _bare_share(_snapshots.c.share_id))
    yield Orphans(
        _shares, 'they have no instance: no list shows them, and quota counts them', _bare_share(_shares.c.id)
    )
    yield Orphans(
        _quotas,
        'their share type is gone',
        sa.and_(
            _quotas.c.share_type_id != '',
            _none(models.share_types, models.share_types.c.id == _quotas.c.share_type_id),
        ),
    )
    yield Orphans(
        _pools,
        'no service reports them',
        _none(_services, _services.c.host == _pools.c.backend_host, _services.c.binary == 'manila-share'),
    )
    yield Orphans(
        _locks,
        'their project has nothing that is counted',
        sa.and_(
            *(
                _none(table, table.c.project_id == _locks.c.project_id)
                for table in (_shares, _snapshots, _quotas, models.share_networks)
            )
        ),
        harmful=False,
    )


def _by_keys() -> Iterator[Orphans]:
    for table in models.metadata.sorted_tables:
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
            owner = key.column.table
            if owner is table:
                continue
            column = key.parent
            yield Orphans(
                table,
                f'their {owner.name} row is gone',
                sa.and_(column.is_not(None), _none(owner, key.column == column)),
                clear=column.name if column.nullable and key.ondelete != 'CASCADE' else None,
            )


def kinds() -> list[Orphans]:
    """Return all kinds, in the order in which they can be cleaned up."""
    makers: tuple[Callable[[], Iterator[Orphans]], ...] = (_special, _by_keys)
    return [kind for maker in makers for kind in maker()]
