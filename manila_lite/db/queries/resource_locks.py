# SPDX-License-Identifier: Apache-2.0
"""Resource locks. A lock's row is deleted with the row of the share or access rule that it is on."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.prepared import Query
from manila_lite.db.core.rows import get_row, group_rows, updater

_locks = models.resource_locks
_shares = models.shares

SHARE, RULE = 'share', 'access_rule'
DELETE, SHOW = 'delete', 'show'

_RESOURCE = {
    'resource_id': sa.func.coalesce(_locks.c.access_id, _locks.c.share_id),
    'resource_type': sa.case((_locks.c.access_id.is_(None), SHARE), else_=RULE),
}
_FIELDS: dict[str, Any] = {**{column.name: column for column in _locks.c}, **_RESOURCE}
_SELECT = sa.select(*_locks.c, *(column.label(name) for name, column in _RESOURCE.items()))
_EQUAL = ('id', 'resource_id', 'resource_type', 'resource_action', 'lock_context', 'lock_reason', 'user_id')

#: All columns that a list may be sorted by.
SORTABLE = {
    name: _FIELDS[name]
    for name in (
        'id',
        'created_at',
        'updated_at',
        'resource_id',
        'resource_type',
        'resource_action',
        'lock_context',
        'lock_reason',
        'user_id',
        'project_id',
    )
}


def insert(conn: Connection, **values: Any) -> str:
    """Insert the lock. Return its id."""
    lock_id = uuidutils.generate_uuid()
    conn.execute(_locks.insert().values(id=lock_id, **values))
    return lock_id


def count_on(conn: Connection, share_id: str, access_id: str | None) -> int:
    """Return how many locks are on an access rule, or on the share itself without those that follow a rule's lock."""
    return conn.execute(
        sa.select(sa.func.count())
        .select_from(_locks)
        .where(_locks.c.share_id == share_id, _locks.c.access_id == access_id, _locks.c.because_of.is_(None))
    ).scalar_one()


def get(conn: Connection, lock_id: str, *, project_id: str | None) -> Row[Any]:
    """Return a lock of a project (None: of any).

    :raises errors.NotFound: there is none.
    """
    return get_row(
        conn, _SELECT.where(_locks.c.id == lock_id, *_of_project(project_id)), 'resource lock', lock_id
    )


def _of_project(project_id: str | None) -> list[sa.ColumnElement[bool]]:
    if project_id is None:
        return []
    # A rule's lock does not keep its share from being deleted if its owner may lift it. It is hidden with the share.
    seen = sa.exists().where(_shares.c.id == _locks.c.share_id, ~_shares.c.deletion_deferred)
    return [_locks.c.project_id == project_id, seen]


def _conditions(filters: dict[str, Any], project_id: str | None) -> list[sa.ColumnElement[bool]]:
    return [*_of_project(project_id), *paging.conditions(filters, _FIELDS, _EQUAL, ('lock_reason',))]


def list_locks(
    conn: Connection, filters: dict[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return the locks of a project (None: of all) that fit the filters; times are datetimes."""
    query = _SELECT.where(*_conditions(filters, project_id))
    return list(conn.execute(page.apply(query, SORTABLE, tie=_locks.c.id)))


def count(conn: Connection, filters: dict[str, Any], *, project_id: str | None) -> int:
    """Return how many locks ``list_locks`` would find without a page."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(_locks).where(*_conditions(filters, project_id))
    ).scalar_one()


def _oldest_first(conn: Connection, *conditions: sa.ColumnElement[bool]) -> list[Row[Any]]:
    return list(conn.execute(_SELECT.where(*conditions).order_by(_locks.c.created_at, _locks.c.id)))


_OF_DELETION = Query(
    _SELECT.where(
        _locks.c.share_id == sa.bindparam('share_id', type_=sa.String),
        _locks.c.access_id.is_(None),
        _locks.c.resource_action == DELETE,
    ).order_by(_locks.c.created_at, _locks.c.id)
)


def deletion_locks(conn: Connection, share_id: str) -> list[Any]:
    """Return the locks that prevent a share's deletion, oldest first, of all users."""
    return _OF_DELETION.all(conn, {'share_id': share_id})


def locks_of_rule(conn: Connection, access_id: str, action: str) -> list[Row[Any]]:
    """Return a rule's locks of an action, oldest first, of all users."""
    return _oldest_first(conn, _locks.c.access_id == access_id, _locks.c.resource_action == action)


def locks_of_rules(conn: Connection, share_id: str, action: str) -> dict[str, list[Row[Any]]]:
    """Do as ``locks_of_rule`` for all rules of a share, by rule id, without rules that have no lock. One statement."""
    rows = _oldest_first(
        conn,
        _locks.c.share_id == share_id,
        _locks.c.access_id.is_not(None),
        _locks.c.resource_action == action,
    )
    return group_rows(rows, 'access_id')


def locks_of_share(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return all locks of a share and its rules, oldest first, of all actions."""
    return _oldest_first(conn, _locks.c.share_id == share_id)


def delete_at_transfer(conn: Connection, share_id: str, transfer_id: str) -> None:
    """Mark the present locks of a share and its rules to be deleted when the transfer is accepted."""
    conn.execute(_locks.update().where(_locks.c.share_id == share_id).values(transfer_id=transfer_id))


#: Set these values of the lock.
update = updater(_locks)


def delete(conn: Connection, lock_ids: Iterable[str]) -> None:
    """Delete the locks, and the locks that shares have because of them."""
    conn.execute(_locks.delete().where(_locks.c.id.in_(tuple(lock_ids))))


def delete_following(conn: Connection, lock_id: str) -> None:
    """Delete the lock that a share has because of this one."""
    conn.execute(_locks.delete().where(_locks.c.because_of == lock_id))
