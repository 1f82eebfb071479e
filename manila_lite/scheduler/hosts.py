# SPDX-License-Identifier: Apache-2.0
"""What backends reported, as filters see it. The table is the truth: a scheduler that just started knows everything."""

from typing import Any

from manila_lite.db import services
from manila_lite.db.engine import Connection
from manila_lite.scheduler.interface import PoolState


def pools(conn: Connection, conf: Any) -> tuple[list[PoolState], dict[str, str | None]]:
    """Return every pool, and by pool the id of its zone, in one statement."""
    rows = services.pools(conn)
    return [_state(row, conf.service_down_time) for row in rows], {row.host: row.zone_id for row in rows}


def _state(row: Any, down_time: float) -> PoolState:
    return PoolState(
        host=row.host, availability_zone=row.zone, capabilities=row.capabilities, total_gb=row.total_gb,
        free_gb=row.free_gb, reserved_percentage=row.reserved_percentage, allocated_gb=row.allocated_gb,
        claimed_gb=row.claimed_gb, thin_provisioning=row.thin_provisioning,
        max_over_subscription_ratio=row.max_over_subscription_ratio, provisioned_gb=row.provisioned_gb,
        generation=row.generation, up=services.is_up(row.heartbeat_at, row.stopped, down_time), disabled=row.disabled)
