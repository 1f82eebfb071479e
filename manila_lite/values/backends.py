# SPDX-License-Identifier: Apache-2.0
"""Reports of a backend: its pools, the abilities of its driver, and problems found at start-up."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

#: The capability of a pool with the types of access rules that it takes, by protocol.
ACCESS_TYPES = 'access_types'


@dataclasses.dataclass(frozen=True)
class Pool:
    """The capacity and capabilities of one pool, as reported to the scheduler. Capacities in GiB.

    ``capabilities`` are matched against share type extra specs. They must be honest: a true one is kept, a false one is
    never promised.
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
    """A missing prerequisite that the self-check at start-up found (``what``), and its remedy (``hint``)."""

    what: str
    hint: str


class Ability(enum.Enum):
    """The abilities of a driver beyond create, delete and access; derived from its base classes."""

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
    MIGRATE_REPLICATED = 'share_replicas_migration'
    MIGRATE_SHARE = 'share_migration'
    REPLICATE = 'share_replication'
    MANAGE_SHARES = 'share_manage'
    MANAGE_SNAPSHOTS = 'snapshot_manage'
    BACK_UP = 'share_backup'
    MEASURE_USAGE = 'share_usage'
