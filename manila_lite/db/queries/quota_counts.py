# SPDX-License-Identifier: Apache-2.0
"""Usage counted from the rows: that of share types and of replicas, for which ``quota_sums`` has no sums.

It depends on two tables that change apart, shares and their instances: a trigger that read the other one might read what is no
longer true when both are committed. So here the time grows with the shares of the project, and is spent only if the share type
has limits, or for a replica.
"""

import dataclasses
import functools
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models
from manila_lite.db.core.prepared import Query

_shares = models.shares
_instances = models.share_instances
_snapshots = models.snapshots

_PROJECT: sa.BindParameter[str] = sa.bindparam('project')
_USER: sa.BindParameter[str] = sa.bindparam('user')
_TYPE: sa.BindParameter[str] = sa.bindparam('type')


@dataclasses.dataclass(frozen=True)
class Usage:
    """Usage, and the growth that running resizes will add."""

    in_use: int = 0
    reserved: int = 0

    @property
    def total(self) -> int:
        """Usage and growth together."""
        return self.in_use + self.reserved


@dataclasses.dataclass(frozen=True)
class Scope:
    """A project, or one user or one share type in it."""

    project_id: str
    user_id: str = ''
    share_type_id: str = ''


_GROWTH = sa.case((_shares.c.target_size > _shares.c.size, _shares.c.target_size - _shares.c.size), else_=0)
_replicas = (
    sa.select(
        _shares.c.project_id,
        _shares.c.user_id,
        _shares.c.deletion_deferred,
        _shares.c.size,
        _GROWTH.label('growth'),
        _instances.c.share_id,
    )
    .join(_instances, _instances.c.share_id == _shares.c.id)
    .where(_shares.c.replication_type.is_not(None), _instances.c.replica_state.is_not(None))
    .subquery()
)


@dataclasses.dataclass(frozen=True)
class _Part:
    """A table of counted resources: the names of their number and GiB, the column with the share that has the type, and the
    growth of the GiB.
    """

    number: str
    gigabytes: str
    table: Any
    share: Any
    growth: Any


_PARTS = (
    _Part('shares', 'gigabytes', _shares, _shares.c.id, _GROWTH),
    _Part('snapshots', 'snapshot_gigabytes', _snapshots, _snapshots.c.share_id, sa.literal_column('0')),
    _Part('share_replicas', 'replica_gigabytes', _replicas, _replicas.c.share_id, _replicas.c.growth),
)
#: Resources for which a share type may have limits of its own.
BY_TYPE = tuple(name for part in _PARTS for name in (part.number, part.gigabytes))
OF_REPLICAS = frozenset({_PARTS[-1].number, _PARTS[-1].gigabytes})


def count(conn: Connection, wanted: Mapping[Scope, Collection[str]]) -> list[dict[str, Usage]]:
    """Return the usage of resources in each scope: at least those that are wanted of it, among ``BY_TYPE``.

    The scopes have one project, and at most one user and one type.
    """
    parts = tuple(
        (bool(scope.user_id), bool(scope.share_type_id), index)
        for scope, names in wanted.items()
        for index, part in enumerate(_PARTS)
        if not {part.number, part.gigabytes}.isdisjoint(names)
    )
    found: list[dict[str, Usage]] = [{} for _ in wanted]
    if not parts:
        return found
    index_of = {
        (bool(scope.user_id), bool(scope.share_type_id)): usage
        for scope, usage in zip(wanted, found, strict=True)
    }
    for which, number, gigabytes, growth in _counting(parts).all(
        conn,
        {
            'project': next(iter(wanted)).project_id,
            'user': max(scope.user_id for scope in wanted),
            'type': max(scope.share_type_id for scope in wanted),
        },
    ):
        by_user, by_type, index = parts[which]
        part = _PARTS[index]
        index_of[by_user, by_type] |= {
            part.number: Usage(int(number)),
            part.gigabytes: Usage(int(gigabytes), int(growth)),
        }
    return found


@functools.cache
def _counting(parts: tuple[tuple[bool, bool, int], ...]) -> Query:
    """Return the query of the usage in parts, each by user or not and by type or not. A row has the number of a part, and its
    figures.
    """
    # Not joined to one row: MariaDB considers every join order of a dozen tables, which takes hours.
    queries = [
        _figures(which, _PARTS[index], by_user, by_type)
        for which, (by_user, by_type, index) in enumerate(parts)
    ]
    return Query(sa.union_all(*queries) if len(queries) > 1 else queries[0])


def _figures(which: int, part: _Part, by_user: bool, by_type: bool) -> sa.Select[Any]:
    columns = part.table.c
    query = sa.select(
        sa.literal_column(str(which), sa.Integer).label('part'),
        sa.func.count().label('number'),
        _sum(columns.size).label('gigabytes'),
        _sum(part.growth).label('growth'),
    ).select_from(part.table)
    query = query.where(columns.project_id == _PROJECT, ~columns.deletion_deferred)
    if by_user:
        query = query.where(columns.user_id == _USER)
    if by_type:
        # While a share is being retyped, both types count it.
        query = query.where(
            sa.exists().where(_instances.c.share_id == part.share, _instances.c.share_type_id == _TYPE)
        )
    return query


def _sum(column: Any) -> Any:
    return sa.func.coalesce(sa.func.sum(column), 0)
