# SPDX-License-Identifier: Apache-2.0
"""The capabilities of a pool: what administrators see of it, and what share types can require, are the same values."""

import datetime
import math
from collections.abc import Mapping
from typing import Any, Protocol

#: Capabilities that every pool has, with the values of a pool whose backend does not report them.
NOT_REPORTED: Mapping[str, Any] = {
    **dict.fromkeys(
        (
            'snapshot_support',
            'create_share_from_snapshot_support',
            'revert_to_snapshot_support',
            'mount_snapshot_support',
            'mount_point_name_support',
            'security_service_update_support',
            'network_allocation_update_support',
            'share_server_multiple_subnet_support',
            'share_replicas_migration_support',
            'dedupe',
            'compression',
            'qos',
            'ipv4_support',
            'ipv6_support',
        ),
        False,
    ),
    **dict.fromkeys(
        (
            'replication_type',
            'replication_domain',
            'sg_consistent_snapshot_support',
            'vendor_name',
            'driver_version',
        )
    ),
}
#: Capabilities in which pools differ that are alike otherwise: the name, and figures that change all the time.
OF_ONE_POOL = frozenset(
    {
        'pool_name',
        'total_capacity_gb',
        'free_capacity_gb',
        'allocated_capacity_gb',
        'provisioned_capacity_gb',
        'reserved_percentage',
        'max_over_subscription_ratio',
        'timestamp',
    }
)


class Reported(Protocol):
    """A pool with its last report, and the capacity promised since: a row of the database, or the scheduler's state."""

    @property
    def host(self) -> Any: ...

    @property
    def capabilities(self) -> Any: ...

    @property
    def total_gb(self) -> Any: ...

    @property
    def free_gb(self) -> Any: ...

    @property
    def reserved_percentage(self) -> Any: ...

    @property
    def allocated_gb(self) -> Any: ...

    @property
    def claimed_gb(self) -> Any: ...

    @property
    def thin_provisioning(self) -> Any: ...

    @property
    def max_over_subscription_ratio(self) -> Any: ...

    @property
    def provisioned_gb(self) -> Any: ...

    @property
    def reported_at(self) -> Any: ...


def capabilities(pool: Reported) -> dict[str, Any]:
    """Return all capabilities of the pool. Capacity that was promised since the report counts as provisioned."""
    return {
        **NOT_REPORTED,
        'thin_provisioning': pool.thin_provisioning,
        **pool.capabilities,
        'pool_name': pool.host.partition('#')[2],
        'total_capacity_gb': _capacity(pool.total_gb),
        'free_capacity_gb': _capacity(pool.free_gb),
        'allocated_capacity_gb': pool.allocated_gb,
        'provisioned_capacity_gb': pool.provisioned_gb + pool.claimed_gb,
        'reserved_percentage': pool.reserved_percentage,
        'max_over_subscription_ratio': pool.max_over_subscription_ratio,
        'timestamp': _text(pool.reported_at),
    }


def _capacity(size: float | str) -> float | str:
    """Return a finite capacity in GiB as it is, and others as a word, since JSON has no such numbers."""
    if isinstance(size, str) or math.isfinite(size):
        return size
    return 'infinite' if size > 0 else 'unknown'


def _text(at: datetime.datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec='microseconds')
