# SPDX-License-Identifier: Apache-2.0
"""Pools over HTTP, for administrators. Read from the table that backends report to: no scheduler need be asked."""

import math
from collections.abc import Callable
from typing import Any

from manila_lite.actions import pools as actions
from manila_lite.api.request import Request


def part(name: str) -> Callable[[Any, Request], str]:
    """Read one part of ``host@backend#pool``."""
    return lambda row, req: actions.names(row.host)[name]


def capabilities_of(row: Any, req: Request) -> dict[str, Any]:
    """Read what the pool can do, and how much room it has; what was promised since the report counts as provisioned."""
    return {
        **row.capabilities,
        'pool_name': actions.names(row.host)['pool'],
        'total_capacity_gb': _room(row.total_gb),
        'free_capacity_gb': _room(row.free_gb),
        'allocated_capacity_gb': row.allocated_gb,
        'provisioned_capacity_gb': row.provisioned_gb + row.claimed_gb,
        'reserved_percentage': row.reserved_percentage,
        'thin_provisioning': row.thin_provisioning,
        'max_over_subscription_ratio': row.max_over_subscription_ratio,
        'timestamp': row.reported_at.isoformat(timespec='microseconds'),
    }


def _room(size: float) -> float | str:
    """A number is JSON; that there is no end to it is a word."""
    return size if math.isfinite(size) else 'infinite' if size > 0 else 'unknown'


def index(req: Request) -> list[Any]:
    """List the names of pools."""
    return actions.list_pools(req.ctx, req.query)


def detail(req: Request) -> list[Any]:
    """List pools in full."""
    return actions.list_pools(req.ctx, req.query)
