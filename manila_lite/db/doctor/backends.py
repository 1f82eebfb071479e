# SPDX-License-Identifier: Apache-2.0
"""Checks of backends and pools for the doctor, and the repair of the promises of pools.

Every write names the values that were seen, so that it changes nothing if another process was faster.
"""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import values
from manila_lite.db import models
from manila_lite.db.core.database_clock import AS_OF
from manila_lite.db.doctor.operations import ALL_COLUMNS, UNDER_WAY
from manila_lite.db.queries import ensure

_instances = models.share_instances
_operations = models.operations
_pools = models.pools
_services = models.services
_shares = models.shares


def list_services_left_ensuring(conn: Connection) -> list[Row[Any]]:
    """Return the services that are marked as ensuring their shares, without an open operation that does so."""
    work = sa.exists().where(
        _operations.c.kind == ensure.KIND,
        _operations.c.host == _services.c.host,
        _operations.c.state == 'open',
    )
    return list(
        conn.execute(sa.select(_services).where(_services.c.ensuring, ~work).order_by(_services.c.id))
    )


def list_last_ensures(conn: Connection) -> list[Row[Any]]:
    """Return the last run over the shares of each backend that has ended, unless another one is open."""
    later = _operations.alias()
    newer = sa.exists().where(
        later.c.kind == ensure.KIND,
        later.c.host == _operations.c.host,
        sa.or_(later.c.state.in_(UNDER_WAY), later.c.created_at > _operations.c.created_at),
    )
    return list(
        conn.execute(
            sa.select(*ALL_COLUMNS)
            .where(_operations.c.kind == ensure.KIND, _operations.c.state.not_in(UNDER_WAY), ~newer)
            .order_by(_operations.c.host)
        )
    )


def list_served(conn: Connection, host: str, instance_ids: Iterable[str]) -> list[Row[Any]]:
    """Return those of these instances, with their shares, that the backend should serve."""
    return ensure.list_shares_by_instance(conn, host, instance_ids, ensure.NOT_SERVED)


def list_mount_options(conn: Connection, hosts: Iterable[str]) -> list[Row[Any]]:
    """Return shares with the mount options of their export locations: those that have any, and all that are on these pools
    and whose clients need some.
    """
    exports, pairs = models.export_locations, models.export_location_metadata
    options = sa.and_(pairs.c.owner_id == exports.c.id, pairs.c.key == values.MOUNT_OPTIONS)
    return list(
        conn.execute(
            sa.select(
                _shares.c.id,
                _shares.c.project_id,
                _shares.c.share_proto,
                _instances.c.host,
                sa.func.coalesce(pairs.c.value, '').label('options'),
            )
            .distinct()
            .join(_instances, _instances.c.share_id == _shares.c.id)
            .join(exports, exports.c.share_instance_id == _instances.c.id)
            .outerjoin(pairs, options)
            .where(
                _instances.c.status.not_in(tuple(ensure.NOT_SERVED)),
                sa.or_(pairs.c.value.is_not(None), _instances.c.host.in_(tuple(hosts))),
            )
            .order_by(_shares.c.id)
        )
    )


def list_reported_options(conn: Connection) -> dict[str, dict[str, str]]:
    """Return the mount options that clients need, by pool and protocol; only of pools that report them."""
    said = sa.type_coerce(_pools.c.capabilities, sa.Text).contains(f'"{values.MOUNT_OPTIONS}"')
    return {
        row.host: row.capabilities[values.MOUNT_OPTIONS]
        for row in conn.execute(sa.select(_pools.c.host, _pools.c.capabilities).where(said))
        if values.MOUNT_OPTIONS in row.capabilities
    }


def list_pools(conn: Connection) -> list[Row[Any]]:
    """Return every pool with its service's heartbeat, and ``most``: the GiB that its shares can have been promised."""
    growth = sa.case((_shares.c.target_size > _shares.c.size, _shares.c.target_size), else_=_shares.c.size)
    most = (
        sa.select(sa.func.coalesce(sa.func.sum(growth), 0))
        .select_from(_shares.join(_instances))
        .where(_instances.c.host == _pools.c.host)
        .scalar_subquery()
    )
    return list(
        conn.execute(
            sa.select(
                _pools.c.host,
                _pools.c.backend_host,
                _pools.c.generation,
                _pools.c.claimed_gb,
                _pools.c.provisioned_gb,
                _pools.c.reported_at,
                _pools.c.capabilities,
                most.label('most'),
                _services.c.heartbeat_at,
                _services.c.stopped,
                AS_OF,
            )
            .join(
                _services,
                sa.and_(_services.c.host == _pools.c.backend_host, _services.c.binary == 'manila-share'),
            )
            .order_by(_pools.c.host)
        )
    )


def correct_promises(conn: Connection, seen: Row[Any], unseen: float, provisioned: float) -> bool:
    """Set the promised GiB of the pool to the sum of its shares, if it is still as ``seen``."""
    return bool(
        conn.execute(
            _pools.update()
            .where(
                _pools.c.host == seen.host,
                _pools.c.generation == seen.generation,
                _pools.c.claimed_gb == seen.claimed_gb,
            )
            .values(claimed_gb=unseen, provisioned_gb=provisioned, allocated_gb=unseen + provisioned)
        ).rowcount
    )
