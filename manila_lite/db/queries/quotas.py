# SPDX-License-Identifier: Apache-2.0
"""Quotas: limits are stored, usage is counted. So usage cannot drift, leak or be repaired wrongly.

``check`` runs in the transaction that adds the resource, behind a lock on the project's row: counting and adding are
one step, on every database. A resize in progress counts with the larger size.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.prepared import Query, Write

_quotas = models.quotas
_classes = models.quota_classes
_shares = models.shares
_instances = models.share_instances
_snapshots = models.snapshots
_networks = models.share_networks
_groups = models.share_groups
_group_snapshots = models.share_group_snapshots
_backups = models.share_backups

DEFAULT_CLASS = 'default'

#: Resources for which a share type may have limits of its own.
BY_TYPE = ('shares', 'gigabytes', 'snapshots', 'snapshot_gigabytes', 'share_replicas', 'replica_gigabytes')


@dataclasses.dataclass(frozen=True)
class Usage:
    """Usage, and the growth that running resizes will add."""

    in_use: int = 0
    reserved: int = 0

    @property
    def total(self) -> int:
        """Usage and growth together."""
        return self.in_use + self.reserved


def limits(conn: Connection, conf: Any, project_id: str, *, user_id: str = '', share_type_id: str = '') -> dict[str, int]:
    """Return the limits in force: of the user or type if set, else the project's, its class's, or the configured ones."""
    return _merge(_rows(conn, project_id, user_id, share_type_id), conf, user_id, share_type_id)


_USER, _TYPE = sa.bindparam('user'), sa.bindparam('type')
_PROJECT = sa.bindparam('project')

_LIMITS = Query(sa.select(_quotas.c.user_id, _quotas.c.share_type_id, _quotas.c.resource, _quotas.c.hard_limit).where(
    _quotas.c.project_id == _PROJECT,
    sa.or_(sa.and_(_quotas.c.user_id == '', _quotas.c.share_type_id.in_(('', _TYPE))),
           sa.and_(_quotas.c.user_id == _USER, _quotas.c.share_type_id == ''))).union_all(
    sa.select(sa.literal('*'), sa.literal('*'), _classes.c.resource, _classes.c.hard_limit).where(
        _classes.c.class_name == DEFAULT_CLASS)))


def _rows(conn: Connection, project_id: str, user_id: str, share_type_id: str) -> list[Any]:
    return _LIMITS.all(conn, {'project': project_id, 'user': user_id, 'type': share_type_id})


def _merge(rows: list[Any], conf: Any, user_id: str, share_type_id: str,
           names: Iterable[str] | None = None) -> dict[str, int]:
    merged = {resource: conf.quota[resource] for resource in (resources(conf) if names is None else names)}
    for scope in (('*', '*'), ('', ''), (user_id, share_type_id)):
        merged.update({row[2]: row[3] for row in rows if (row[0], row[1]) == scope})
    return merged


def resources(conf: Any) -> list[str]:
    """Return every resource that has a quota."""
    return sorted(conf.quota)


def class_limits(conn: Connection, conf: Any, class_name: str) -> dict[str, int]:
    """Return the limits of a quota class. Limits that are not set are the configured ones."""
    merged = {resource: conf.quota[resource] for resource in resources(conf)}
    merged.update(conn.execute(sa.select(_classes.c.resource, _classes.c.hard_limit)
                               .where(_classes.c.class_name == class_name)).all())
    return merged


def set_limits(conn: Connection, project_id: str, values: Mapping[str, int], *, user_id: str = '',
               share_type_id: str = '') -> None:
    """Set these limits of the project (or of the user or share type in it). Its other limits stay."""
    _put(conn, _quotas, {'project_id': project_id, 'user_id': user_id, 'share_type_id': share_type_id}, values)


def set_class_limits(conn: Connection, class_name: str, values: Mapping[str, int]) -> None:
    """Set these limits of the class. Its other limits stay."""
    _put(conn, _classes, {'class_name': class_name}, values)


def _put(conn: Connection, table: sa.Table, key: dict[str, str], values: Mapping[str, int]) -> None:
    if values:
        conn.execute(table.delete().where(*(table.c[name] == value for name, value in key.items()),
                                          table.c.resource.in_(tuple(values))))
        conn.execute(table.insert(), [{**key, 'resource': name, 'hard_limit': value} for name, value in values.items()])


def delete_limits(conn: Connection, project_id: str, *, user_id: str = '', share_type_id: str = '') -> None:
    """Delete the limits, so that defaults apply; for a whole project, including its users and types."""
    query = _quotas.delete().where(_quotas.c.project_id == project_id)
    if user_id or share_type_id:
        query = query.where(_quotas.c.user_id == user_id, _quotas.c.share_type_id == share_type_id)
    conn.execute(query)


_TURN = Write(models.quota_locks.update().where(models.quota_locks.c.project_id == _PROJECT).values(
    turn=models.quota_locks.c.turn + 1))


def lock(conn: Connection, project_id: str) -> None:
    """Keep other transactions from counting this project's usage until this one ends."""
    if not _TURN.execute(conn, {'project': project_id}):
        insert_ignore(conn, models.quota_locks, {'project_id': project_id, 'turn': 0})
        _TURN.execute(conn, {'project': project_id})


def usages(conn: Connection, project_id: str, *, user_id: str = '', share_type_id: str = '') -> dict[str, Usage]:
    """Return the usage of the project (or of the user or share type in it), by resource."""
    return _count(conn, [_Scope(project_id, user_id, share_type_id)])[0]


@dataclasses.dataclass(frozen=True)
class _Scope:
    project_id: str
    user_id: str = ''
    share_type_id: str = ''


_GROWTH = sa.case((_shares.c.target_size > _shares.c.size, _shares.c.target_size - _shares.c.size), else_=0)


def _sum(column: Any) -> Any:
    return sa.func.coalesce(sa.func.sum(column), 0)


#: Tables of counted resources, the column with the share that has the type, and figures. Share networks and groups have
#: no type.
_COUNTED: tuple[tuple[sa.Table, Any, dict[str, Any]], ...] = (
    (_shares, _shares.c.id, {'shares': sa.func.count(), 'gigabytes': _sum(_shares.c.size), 'growth': _sum(_GROWTH),
                              'encryption_keys': sa.func.count(sa.distinct(_shares.c.encryption_key_ref))}),
    (_snapshots, _snapshots.c.share_id, {'snapshots': sa.func.count(), 'snapshot_gigabytes': _sum(_snapshots.c.size)}),
    (_networks, None, {'share_networks': sa.func.count()}),
    (_groups, None, {'share_groups': sa.func.count()}),
    (_group_snapshots, None, {'share_group_snapshots': sa.func.count()}),
    (_backups, None, {'backups': sa.func.count(), 'backup_gigabytes': _sum(_backups.c.size)}),
)

_replicas = (sa.select(_shares.c.project_id, _shares.c.user_id, _shares.c.is_going, _shares.c.size, _GROWTH.label('growth'),
                       _instances.c.share_id)
             .join(_instances, _instances.c.share_id == _shares.c.id)
             .where(_shares.c.replication_type.is_not(None), _instances.c.replica_state.is_not(None)).subquery())
#: As above. Counted only when needed, since it reads two tables.
_OF_REPLICAS: tuple[Any, Any, dict[str, Any]] = (_replicas, _replicas.c.share_id, {
    'share_replicas': sa.func.count(), 'replica_gigabytes': _sum(_replicas.c.size),
    'replica_growth': _sum(_replicas.c.growth)})
_REPLICA_RESOURCES = frozenset({'share_replicas', 'replica_gigabytes'})

_PARTS = (*_COUNTED, _OF_REPLICAS)
_WIDTH = max(len(figures) for *_, figures in _PARTS)


def _count(conn: Connection, scopes: list[_Scope], *, replicas: bool = True) -> list[dict[str, Usage]]:
    """Return the usage in each scope. The scopes have one project, and at most one user and one type."""
    query = _counting(tuple((bool(scope.user_id), bool(scope.share_type_id)) for scope in scopes), replicas)
    totals: list[dict[str, int]] = [{name: 0 for *_, figures in _PARTS for name in figures} for _ in scopes]
    for index, part, *numbers in query.all(conn, {
            'project': scopes[0].project_id, 'user': max(scope.user_id for scope in scopes),
            'type': max(scope.share_type_id for scope in scopes)}):
        totals[index].update(zip(_PARTS[part][2], map(int, numbers), strict=False))
    return [_read(total, replicas) for total in totals]


@functools.cache
def _counting(scopes: tuple[tuple[bool, bool], ...], replicas: bool) -> Query:
    """Return the query of the usage in scopes, each by user or not and by type or not. A row has the number of a scope,
    the number of a part, and the part's figures.
    """
    every = _PARTS if replicas else _COUNTED
    # Not joined to one row: MariaDB considers every join order of a dozen tables, which takes hours.
    return Query(sa.union_all(*(
        _figures(index, part, *counted, *scope) for index, scope in enumerate(scopes)
        for part, counted in enumerate(every) if counted[1] is not None or not scope[1])))


def _figures(index: int, part: int, table: Any, share: Any, columns: dict[str, Any], by_user: bool, by_type: bool) -> sa.Select:
    numbers = [sa.literal_column(str(number), sa.Integer) for number in (index, part, *[0] * (_WIDTH - len(columns)))]
    row = (*numbers[:2], *columns.values(), *numbers[2:])
    query = sa.select(*(column.label(f'figure_{place}') for place, column in enumerate(row))).select_from(table)
    query = query.where(table.c.project_id == _PROJECT)
    if 'is_going' in table.c:
        query = query.where(~table.c.is_going)
    if by_user:
        query = query.where(table.c.user_id == _USER)
    if by_type:
        # While a share is being retyped, both types count it.
        query = query.where(sa.exists().where(_instances.c.share_id == share, _instances.c.share_type_id == _TYPE))
    return query


def _read(numbers: Mapping[str, int], replicas: bool) -> dict[str, Usage]:
    usage = {'shares': Usage(numbers['shares']), 'gigabytes': Usage(numbers['gigabytes'], numbers['growth']),
             **{name: Usage(numbers[name]) for name in (
                 'snapshots', 'snapshot_gigabytes', 'share_networks', 'share_groups', 'share_group_snapshots', 'backups',
                 'backup_gigabytes', 'encryption_keys')}}
    if replicas:
        usage['share_replicas'] = Usage(numbers['share_replicas'])
        usage['replica_gigabytes'] = Usage(numbers['replica_gigabytes'], numbers['replica_growth'])
    return usage


def count_new_keys(conn: Connection, project_id: str, key: str | None) -> dict[str, int]:
    """Return the quota needed for a share that is encrypted with ``key``. A key counts once for any number of shares,
    also if they are created at the same time.
    """
    if key is None:
        return {}
    lock(conn, project_id)
    known = sa.select(_shares.c.id).where(_shares.c.project_id == project_id, _shares.c.encryption_key_ref == key,
                                          ~_shares.c.is_going).limit(1)
    return {'encryption_keys': 0 if conn.execute(known).first() else 1}


def check(conn: Connection, conf: Any, project_id: str, user_id: str | None, share_type_id: str | None,
          add: Mapping[str, int], one_share: int = 0, *, only_type: bool = False) -> None:
    """Check that the project, the user and the type may use ``add`` more. The lock is held until the commit.

    ``one_share``: the size in GiB that a single share will have. ``only_type``: the project has this usage already,
    only the type's grows.

    :raises errors.OverQuota: a limit would be exceeded; the message names resource, scope, limit and usage.
    """
    lock(conn, project_id)
    rows = _rows(conn, project_id, user_id or '', share_type_id or '')
    scopes = [] if only_type else [_Scope(project_id)]
    set_for = {(row[0], row[1]) for row in rows}
    if user_id and not only_type and (user_id, '') in set_for:
        scopes.append(_Scope(project_id, user_id=user_id))
    if share_type_id and ('', share_type_id) in set_for:
        scopes.append(_Scope(project_id, share_type_id=share_type_id))
    used = _count(conn, scopes, replicas=not _REPLICA_RESOURCES.isdisjoint(add)) if scopes else ()
    for scope, usage in zip(scopes, used, strict=True):
        allowed = _merge(rows, conf, scope.user_id, scope.share_type_id, (*add, 'per_share_gigabytes'))
        _check_one(scope, 'per_share_gigabytes', one_share, allowed['per_share_gigabytes'], 0)
        for resource, amount in add.items():
            _check_one(scope, resource, amount, allowed[resource], usage[resource].total)


def _check_one(scope: _Scope, resource: str, amount: int, limit: int, used: int) -> None:
    if limit < 0 or used + amount <= limit:
        return
    whose = (f'user {scope.user_id}' if scope.user_id else f'share type {scope.share_type_id}' if scope.share_type_id
             else 'the project')
    over = errors.OverReplicaQuota if resource in _REPLICA_RESOURCES else errors.OverQuota
    raise over(f'Quota exceeded for {resource}: asked for {amount}, {used} of {limit} in use by {whose}.',
               code=f'over_quota_{resource}')
