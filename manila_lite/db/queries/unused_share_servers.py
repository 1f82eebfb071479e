# SPDX-License-Identifier: Apache-2.0
"""Share servers that serve no share: whether one is used, and which may be deleted or taken for a new share."""

import datetime
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite.db import models
from manila_lite.db.core import host_time
from manila_lite.db.queries import share_server_queries

_groups = models.share_groups
_instances = models.share_instances
_servers = models.share_servers


def is_used(conn: Connection, server_id: str) -> bool:
    """Say whether the server has shares, also ones that are being created there, or a group."""
    return bool(
        conn.execute(
            sa.select(
                sa.or_(
                    sa.exists().where(_instances.c.share_server_id == server_id),
                    sa.exists().where(_groups.c.share_server_id == server_id),
                )
            )
        ).scalar()
    )


def list_unused(conn: Connection, host: str, seconds: float) -> list[str]:
    """Return the ids of auto-deletable servers of a backend that have been unused for so many seconds."""
    before = host_time.now(conn) - datetime.timedelta(seconds=seconds)
    return list(
        conn.execute(
            _at_rest(host).where(
                _servers.c.status.in_(('active', 'error')),
                sa.func.coalesce(_servers.c.updated_at, _servers.c.created_at) < before,
            )
        ).scalars()
    )


def list_idle(conn: Connection, host: str, network_id: str, subnet_ids: Iterable[str]) -> list[str]:
    """Return the ids of a backend's active servers in these subnets of a network that are unused and auto-deletable."""
    return list(
        conn.execute(
            _at_rest(host).where(
                _servers.c.status == 'active',
                _servers.c.share_network_id == network_id,
                share_server_queries.maps_to(subnet_ids),
            )
        ).scalars()
    )


def _at_rest(host: str) -> sa.Select[Any]:
    """Return the SELECT of a backend's auto-deletable servers without shares, groups and open operations."""
    return (
        sa.select(_servers.c.id)
        .where(
            _servers.c.host == host,
            _servers.c.is_auto_deletable,
            ~sa.exists().where(_instances.c.share_server_id == _servers.c.id),
            ~sa.exists().where(_groups.c.share_server_id == _servers.c.id),
            ~sa.exists().where(
                models.operations.c.resource_id == _servers.c.id, models.operations.c.state == 'open'
            ),
        )
        .order_by(_servers.c.id)
    )
