# SPDX-License-Identifier: Apache-2.0
"""The shares of a backend in the order in which they are ensured: by instance id, in batches."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.core import row_locks
from manila_lite.db.queries import shares

_instances = models.share_instances

#: The kind of operation that ensures all shares of a backend.
KIND = 'service.ensure'
_MARK = states.SHARE['ensure'].during
#: Statuses of shares that no backend serves: it may not hold them yet, or any more, or cannot serve them.
NOT_SERVED = frozenset(
    {
        'creating',
        'creating_from_snapshot',
        'migrating_to',
        'deleting',
        'error',
        'error_deleting',
        'manage_starting',
        'manage_error',
        'unmanage_starting',
        'deferred_deleting',
        'error_deferred_deleting',
        'replication_change',
    }
)


def unique_key(host: str) -> str:
    """Return the open key of such an operation: a backend has at most one."""
    return f'ensure:{host}'


def _of(host: str) -> sa.ColumnElement[bool]:
    return _instances.c.host.startswith(f'{host}#', autoescape=True)


def count_shares(conn: Connection, host: str, without: Collection[str]) -> int:
    """Return how many shares a backend has, except for those in the statuses ``without``."""
    return conn.execute(
        sa.select(sa.func.count()).where(
            _of(host), ~_instances.c.is_secondary, _instances.c.status.not_in(tuple(without))
        )
    ).scalar_one()


def list_shares_after(
    conn: Connection, host: str, instance_id: str, limit: int, without: Collection[str], until: str = ''
) -> list[Row[Any]]:
    """Return the next shares of a backend after an instance id, up to the id ``until`` if it is given."""
    query = shares.select().where(
        _of(host), _instances.c.id > instance_id, _instances.c.status.not_in(tuple(without))
    )
    if until:
        query = query.where(_instances.c.id <= until)
    return list(conn.execute(query.order_by(_instances.c.id).limit(limit)))


def list_shares_by_instance(
    conn: Connection, host: str, instance_ids: Iterable[str], without: Collection[str]
) -> list[Row[Any]]:
    """Return the backend's shares among these instance ids."""
    return list(
        conn.execute(
            shares.select()
            .where(
                _instances.c.id.in_(tuple(instance_ids)),
                _of(host),
                _instances.c.status.not_in(tuple(without)),
            )
            .order_by(_instances.c.id)
        )
    )


class Part(NamedTuple):
    """A share instance of a backend, with its share server."""

    id: str
    share_server_id: str | None


def list_part(
    conn: Connection,
    host: str,
    *,
    share_id: str | None = None,
    share_server_id: str | None = None,
    pool: str | None = None,
) -> list[Part]:
    """Return the backend's instances of a share, of a share server, or in a pool."""
    query = sa.select(_instances.c.id, _instances.c.share_server_id).where(
        _of(host), ~_instances.c.is_secondary
    )
    for column, value in (
        (_instances.c.share_id, share_id),
        (_instances.c.share_server_id, share_server_id),
        (_instances.c.host, f'{host}#{pool}' if pool else None),
    ):
        if value is not None:
            query = query.where(column == value)
    return [Part(*row) for row in conn.execute(query)]


def list_ensuring_instances(conn: Connection, host: str) -> list[str]:
    """Return the ids of the backend's instances in status ``ensuring``."""
    return list(
        conn.execute(sa.select(_instances.c.id).where(_of(host), _instances.c.status == _MARK)).scalars()
    )


def lock_instances(conn: Connection, instance_ids: Iterable[str]) -> dict[str, str]:
    """Lock these instances and their rules until the transaction ends. Return the status of each, except for those that
    are gone, that are no longer the share's main instance, or that another transaction holds: waiting for one of many
    would keep all others waiting. To be called before anything else is read or written, as ``access.lock``.
    """
    query = sa.select(_instances.c.id, _instances.c.status).where(
        _instances.c.id.in_(tuple(instance_ids)), ~_instances.c.is_secondary
    )
    locked = dict(conn.execute(query.order_by(_instances.c.id).with_for_update(skip_locked=True)).all())
    row_locks.certify(conn, _instances, _instances.c.id.in_(tuple(locked)))
    return locked
