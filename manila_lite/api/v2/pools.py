# SPDX-License-Identifier: Apache-2.0
"""Handlers for pools, for administrators. They read the table that backends report to; no scheduler is asked."""

import math
from collections.abc import Callable
from typing import Any

from manila_lite.actions import pools as actions
from manila_lite.api.request import Request

#: Capabilities that clients find in every pool, with the values of a pool whose backend does not report them.
NOT_REPORTED: dict[str, Any] = {
    **dict.fromkeys(('snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support',
                     'mount_snapshot_support', 'mount_point_name_support', 'security_service_update_support',
                     'network_allocation_update_support', 'share_server_multiple_subnet_support',
                     'share_replicas_migration_support', 'dedupe', 'compression', 'qos', 'ipv4_support',
                     'ipv6_support'), False),
    **dict.fromkeys(('replication_type', 'replication_domain', 'sg_consistent_snapshot_support', 'vendor_name',
                     'driver_version')),
}


def part(name: str) -> Callable[[Any, Request], str]:
    """Return a reader of one part of ``host@backend#pool``."""
    return lambda row, req: actions.parts_of_host(row.host)[name]


def capabilities_of(row: Any, req: Request) -> dict[str, Any]:
    """Read the pool's capabilities and capacity. Capacity that was promised since the report counts as provisioned."""
    return {
        **NOT_REPORTED,
        **row.capabilities,
        'pool_name': actions.parts_of_host(row.host)['pool'],
        'total_capacity_gb': _capacity(row.total_gb),
        'free_capacity_gb': _capacity(row.free_gb),
        'allocated_capacity_gb': row.allocated_gb,
        'provisioned_capacity_gb': row.provisioned_gb + row.claimed_gb,
        'reserved_percentage': row.reserved_percentage,
        'thin_provisioning': row.thin_provisioning,
        'max_over_subscription_ratio': row.max_over_subscription_ratio,
        'timestamp': row.reported_at.isoformat(timespec='microseconds'),
    }


def _capacity(size: float) -> float | str:
    """Return a finite capacity in GiB as it is, and others as a word, since JSON has no such numbers."""
    return size if math.isfinite(size) else 'infinite' if size > 0 else 'unknown'


def index(req: Request) -> list[Any]:
    """List the names of pools."""
    return actions.list_pools(req.ctx, req.query)


def detail(req: Request) -> list[Any]:
    """List pools with details."""
    return actions.list_pools(req.ctx, req.query)
