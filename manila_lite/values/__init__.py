# SPDX-License-Identifier: Apache-2.0
"""Plain frozen values that pass between the packages and the drivers.

Sizes are in GiB unless the name says otherwise.
"""

from manila_lite.values.access import IP_VERSION, MOUNT_OPTIONS, AccessRule, ExportLocation, RuleResult
from manila_lite.values.backends import ACCESS_TYPES, Ability, Pool, Problem
from manila_lite.values.migrations import (
    MigratedServer,
    MigratedShare,
    MigrationProgress,
    MigrationSupport,
    ServerMigration,
    ShareMigration,
)
from manila_lite.values.share_backups import Backup, BackupProgress, BackupType
from manila_lite.values.share_networks import Allocation, SecurityService, ServerNetwork
from manila_lite.values.share_replicas import Replica, ReplicaResult
from manila_lite.values.share_servers import ServerResult, ServerUpdate, ShareServer
from manila_lite.values.share_usage import SERIES, Series, ShareUsage, UsageTarget
from manila_lite.values.shares import EnsureResult, EnsureTarget, ManagedShare, Share
from manila_lite.values.snapshots import ManagedSnapshot, ServedSnapshot, Snapshot

__all__ = [
    'ACCESS_TYPES',
    'IP_VERSION',
    'MOUNT_OPTIONS',
    'SERIES',
    'Ability',
    'AccessRule',
    'Allocation',
    'Backup',
    'BackupProgress',
    'BackupType',
    'EnsureResult',
    'EnsureTarget',
    'ExportLocation',
    'ManagedShare',
    'ManagedSnapshot',
    'MigratedServer',
    'MigratedShare',
    'MigrationProgress',
    'MigrationSupport',
    'Pool',
    'Problem',
    'Replica',
    'ReplicaResult',
    'RuleResult',
    'SecurityService',
    'Series',
    'ServedSnapshot',
    'ServerMigration',
    'ServerNetwork',
    'ServerResult',
    'ServerUpdate',
    'Share',
    'ShareMigration',
    'ShareServer',
    'ShareUsage',
    'Snapshot',
    'UsageTarget',
]
