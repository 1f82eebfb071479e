# SPDX-License-Identifier: Apache-2.0
"""Capacity that is promised to share servers on their way: no share is at the destination yet, so the operation has it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models
from manila_lite.db.queries import share_server_migration
from manila_lite.operation_data.migrations import Reached

_operations = models.operations
_servers = models.share_servers
#: States of operations that have not ended.
_UNDER_WAY = ('open', 'parked')


def select(backend_host: str | None = None) -> sa.Select[Any]:
    """Select state and data, as text, of the migrations of share servers to a backend, or to all, that have a copy there.

    Those that failed count as long as their target is kept in error.
    """
    kept = sa.exists().where(
        _servers.c.source_share_server_id == _operations.c.resource_id,
        _servers.c.status == 'error',
        sa.type_coerce(_operations.c.data, sa.Text).contains(_servers.c.id),
    )
    query = sa.select(_operations.c.state, sa.type_coerce(_operations.c.data, sa.Text).label('data')).where(
        _operations.c.kind == share_server_migration.KIND,
        _operations.c.topic == 'share',
        sa.or_(_operations.c.state.in_(_UNDER_WAY), sa.and_(_operations.c.state == 'failed', kept)),
    )
    return query if backend_host is None else query.where(_operations.c.host == backend_host)


def of_row(state: str, text: str) -> Iterator[tuple[str, float, bool]]:
    """Yield the promises of a row of ``select``: pool, GiB, and whether the backend's figures include the copy."""
    data = Reached.from_json(json.loads(text))
    ended = state not in _UNDER_WAY
    if ended and not (data.cut or data.left):
        return
    for pool, size in data.claims.items():
        yield pool, size, ended or data.copied


def list_all(conn: Connection) -> dict[str, float]:
    """Return the GiB that are promised to share servers on their way to each pool."""
    return _sum((pool, size) for row in conn.execute(select()) for pool, size, _ in of_row(*row))


def _sum(promises: Iterable[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for pool, size in promises:
        total[pool] = total.get(pool, 0.0) + size
    return total
