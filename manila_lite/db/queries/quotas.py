# SPDX-License-Identifier: Apache-2.0
"""Quotas: limits, and checks of them against the usage, which the database sums up itself (``quota_sums``).

``check`` runs in the transaction that adds the resource, behind a lock on the project's row: checking and adding are
one step, on every database. A resize in progress counts with the larger size.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.prepared import Query, Write
from manila_lite.db.queries import quota_sums
from manila_lite.db.queries.quota_counts import BY_TYPE, OF_REPLICAS, Scope, Usage, count

__all__ = [
    'BY_TYPE',
    'Usage',
    'check',
    'class_limits',
    'count_new_keys',
    'delete_limits',
    'limits',
    'lock',
    'resources',
    'set_class_limits',
    'set_limits',
    'usages',
]

_quotas = models.quotas
_classes = models.quota_classes
_shares = models.shares

DEFAULT_CLASS = 'default'


def limits(
    conn: Connection, conf: Any, project_id: str, *, user_id: str = '', share_type_id: str = ''
) -> dict[str, int]:
    """Return the limits in force: of the user or type if set, else the project's, its class's, or the configured ones."""
    return _merge(_rows(conn, project_id, user_id, share_type_id), conf, user_id, share_type_id)


_USER: sa.BindParameter[str] = sa.bindparam('user')
_TYPE: sa.BindParameter[str] = sa.bindparam('type')
_PROJECT: sa.BindParameter[str] = sa.bindparam('project')

_LIMITS = Query(
    sa.select(_quotas.c.user_id, _quotas.c.share_type_id, _quotas.c.resource, _quotas.c.hard_limit)
    .where(
        _quotas.c.project_id == _PROJECT,
        sa.or_(
            sa.and_(_quotas.c.user_id == '', _quotas.c.share_type_id.in_(('', _TYPE))),
            sa.and_(_quotas.c.user_id == _USER, _quotas.c.share_type_id == ''),
        ),
    )
    .union_all(
        sa.select(sa.literal('*'), sa.literal('*'), _classes.c.resource, _classes.c.hard_limit).where(
            _classes.c.class_name == DEFAULT_CLASS
        )
    )
)


def _rows(conn: Connection, project_id: str, user_id: str, share_type_id: str) -> list[Any]:
    return _LIMITS.all(conn, {'project': project_id, 'user': user_id, 'type': share_type_id})


def _merge(
    rows: list[Any], conf: Any, user_id: str, share_type_id: str, names: Iterable[str] | None = None
) -> dict[str, int]:
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
    merged.update(
        conn.execute(
            sa.select(_classes.c.resource, _classes.c.hard_limit).where(_classes.c.class_name == class_name)
        ).all()
    )
    return merged


def set_limits(
    conn: Connection,
    project_id: str,
    values: Mapping[str, int],
    *,
    user_id: str = '',
    share_type_id: str = '',
) -> None:
    """Set these limits of the project (or of the user or share type in it). Its other limits stay."""
    _put(
        conn, _quotas, {'project_id': project_id, 'user_id': user_id, 'share_type_id': share_type_id}, values
    )


def set_class_limits(conn: Connection, class_name: str, values: Mapping[str, int]) -> None:
    """Set these limits of the class. Its other limits stay."""
    _put(conn, _classes, {'class_name': class_name}, values)


def _put(conn: Connection, table: sa.Table, key: dict[str, str], values: Mapping[str, int]) -> None:
    if values:
        conn.execute(
            table.delete().where(
                *(table.c[name] == value for name, value in key.items()), table.c.resource.in_(tuple(values))
            )
        )
        conn.execute(
            table.insert(), [{**key, 'resource': name, 'hard_limit': value} for name, value in values.items()]
        )


def delete_limits(conn: Connection, project_id: str, *, user_id: str = '', share_type_id: str = '') -> None:
    """Delete the limits, so that defaults apply; for a whole project, including its users and types."""
    query = _quotas.delete().where(_quotas.c.project_id == project_id)
    if user_id or share_type_id:
        query = query.where(_quotas.c.user_id == user_id, _quotas.c.share_type_id == share_type_id)
    conn.execute(query)


_TURN = Write(
    models.quota_locks.update()
    .where(models.quota_locks.c.project_id == _PROJECT)
    .values(turn=models.quota_locks.c.turn + 1)
)


def lock(conn: Connection, project_id: str) -> None:
    """Keep other transactions from counting this project's usage until this one ends."""
    if not _TURN.execute(conn, {'project': project_id}):
        insert_ignore(conn, models.quota_locks, {'project_id': project_id, 'turn': 0})
        _TURN.execute(conn, {'project': project_id})


def usages(
    conn: Connection, project_id: str, *, user_id: str = '', share_type_id: str = ''
) -> dict[str, Usage]:
    """Return the usage of the project (or of the user or share type in it), by resource."""
    scope = Scope(project_id, user_id, share_type_id)
    if share_type_id:
        return count(conn, {scope: BY_TYPE})[0]
    sums = quota_sums.read(conn, project_id, user_id)
    return (sums.user if user_id else sums.project) | count(conn, {scope: OF_REPLICAS})[0]


def count_new_keys(conn: Connection, project_id: str, key: str | None) -> dict[str, int]:
    """Return the quota needed for a share that is encrypted with ``key``. A key counts once for any number of shares,
    also if they are created at the same time.
    """
    if key is None:
        return {}
    lock(conn, project_id)
    known = (
        sa.select(_shares.c.id)
        .where(
            _shares.c.project_id == project_id,
            _shares.c.encryption_key_ref == key,
            ~_shares.c.deletion_deferred,
        )
        .limit(1)
    )
    return {'encryption_keys': 0 if conn.execute(known).first() else 1}


def check(
    conn: Connection,
    conf: Any,
    project_id: str,
    user_id: str | None,
    share_type_id: str | None,
    add: Mapping[str, int],
    one_share: int = 0,
    *,
    only_type: bool = False,
    written: bool = False,
) -> None:
    """Check that the project, the user and the type may use ``add`` more. The lock is held until the commit.

    ``one_share``: the size in GiB that a single share will have. ``only_type``: the project has this usage already,
    only the type's grows. ``written``: the rows that use it are written in this transaction already. Requests of one project
    wait for the lock, so those that are frequent write first, and hold it for less of their time.

    :raises errors.OverQuota: a limit would be exceeded; the message names resource, scope, limit and usage.
    """
    lock(conn, project_id)
    rows = _rows(conn, project_id, user_id or '', share_type_id or '')
    set_for = {(row[0], row[1]) for row in rows}
    scopes = [] if only_type else [Scope(project_id)]
    if user_id and not only_type and (user_id, '') in set_for:
        scopes.append(Scope(project_id, user_id=user_id))
    if share_type_id and ('', share_type_id) in set_for:
        scopes.append(Scope(project_id, share_type_id=share_type_id))
    sums = None if only_type else quota_sums.read(conn, project_id, user_id or '')
    counted = count(
        conn, {scope: add if scope.share_type_id else OF_REPLICAS.intersection(add) for scope in scopes}
    )
    for scope, few in zip(scopes, counted, strict=True):
        usage = (
            few
            if sums is None or scope.share_type_id
            else few | (sums.user if scope.user_id else sums.project)
        )
        allowed = _merge(rows, conf, scope.user_id, scope.share_type_id, (*add, 'per_share_gigabytes'))
        _check_one(scope, 'per_share_gigabytes', one_share, allowed['per_share_gigabytes'], 0)
        for resource, amount in add.items():
            used = usage.get(resource, Usage()).total
            _check_one(scope, resource, amount, allowed[resource], used - amount if written else used)
    if sums:
        quota_sums.fold(conn, project_id, sums.surplus)


def _check_one(scope: Scope, resource: str, amount: int, limit: int, used: int) -> None:
    if limit < 0 or used + amount <= limit:
        return
    whose = (
        f'user {scope.user_id}'
        if scope.user_id
        else f'share type {scope.share_type_id}'
        if scope.share_type_id
        else 'the project'
    )
    over = errors.OverReplicaQuota if resource in OF_REPLICAS else errors.OverQuota
    raise over(
        f'Quota exceeded for {resource}: asked for {amount}, {used} of {limit} in use by {whose}.',
        code=f'over_quota_{resource}',
    )
