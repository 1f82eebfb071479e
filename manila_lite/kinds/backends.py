# SPDX-License-Identifier: Apache-2.0
"""What a backend says of itself: its pools, what its driver can do, and what it lacks."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Pool:
    """What one pool can hold and do, as reported to the scheduler. Capacities in GiB.

    ``capabilities`` are matched against share type extra specs; they must be honest: a true one is
    kept, a false one is never promised.
    """

    name: str
    total_gb: float
    free_gb: float
    reserved_percentage: int = 0
    thin_provisioning: bool = False
    max_over_subscription_ratio: float = 1.0
    capabilities: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that start-up's self-check found missing, and what to do about it."""

    what: str
    hint: str


class Ability(enum.Enum):
    """What a driver can do beyond create, delete and access; derived from its base classes."""

    RESIZE = 'resize'
    SNAPSHOT = 'snapshot'
    CREATE_FROM_SNAPSHOT = 'create_share_from_snapshot'
    REVERT = 'revert_to_snapshot'
    MOUNT_SNAPSHOT = 'mount_snapshot'
    CONSISTENT_SNAPSHOTS = 'consistent_snapshots'
    SHARE_SERVERS = 'share_servers'
    SEVERAL_SUBNETS = 'share_server_multiple_subnet'
    ADD_SUBNET = 'network_allocation_update'
    SUBNET_METADATA = 'subnet_metadata_update'
    SECURITY_SERVICES = 'security_service_update'
    MANAGE_SERVERS = 'share_server_manage'
    MIGRATE_SERVER = 'share_server_migration'
    MIGRATE_SHARE = 'share_migration'
    REPLICATE = 'share_replication'
    MANAGE_SHARES = 'share_manage'
    MANAGE_SNAPSHOTS = 'snapshot_manage'
    BACK_UP = 'share_backup'
