# SPDX-License-Identifier: Apache-2.0
"""The contract with backends: one ability per file, each an abstract class."""

from manila_lite import values
from manila_lite.drivers.interface.backups import BacksUp
from manila_lite.drivers.interface.base import Backend, ShareDriver
from manila_lite.drivers.interface.ensure import EnsuresOneByOne
from manila_lite.drivers.interface.failover import FailsOver
from manila_lite.drivers.interface.group_snapshots import ConsistentSnapshots
from manila_lite.drivers.interface.manage_servers import ManagesServers
from manila_lite.drivers.interface.manage_shares import ManagesShares, ManagesSnapshots
from manila_lite.drivers.interface.multi_subnet import AddsSubnets, SpansSubnets, TakesSubnetMetadata
from manila_lite.drivers.interface.replication import Replicates
from manila_lite.drivers.interface.resize import Resizes
from manila_lite.drivers.interface.security_services import UpdatesSecurityServices
from manila_lite.drivers.interface.servers import MakesServers
from manila_lite.drivers.interface.share_migration import MigratesShares
from manila_lite.drivers.interface.share_server_migration import MigratesReplicated, MigratesServers
from manila_lite.drivers.interface.share_usage import MeasuresUsage
from manila_lite.drivers.interface.snapshots import Clones, MountsSnapshots, Reverts, Snapshots

__all__ = [
    'ABILITIES',
    'CAPABILITIES',
    'AddsSubnets',
    'Backend',
    'BacksUp',
    'Clones',
    'ConsistentSnapshots',
    'EnsuresOneByOne',
    'FailsOver',
    'MakesServers',
    'ManagesServers',
    'ManagesShares',
    'ManagesSnapshots',
    'MeasuresUsage',
    'MigratesReplicated',
    'MigratesServers',
    'MigratesShares',
    'MountsSnapshots',
    'Replicates',
    'Resizes',
    'Reverts',
    'ShareDriver',
    'Snapshots',
    'SpansSubnets',
    'TakesSubnetMetadata',
    'UpdatesSecurityServices',
    'abilities_of',
    'capabilities_of',
    'consistency_of',
    'replication_of',
    'spreads_servers',
]

#: The ability that each abstract class stands for.
ABILITIES: dict[type, values.Ability] = {
    Resizes: values.Ability.RESIZE,
    Snapshots: values.Ability.SNAPSHOT,
    Clones: values.Ability.CREATE_FROM_SNAPSHOT,
    Reverts: values.Ability.REVERT,
    MountsSnapshots: values.Ability.MOUNT_SNAPSHOT,
    ConsistentSnapshots: values.Ability.CONSISTENT_SNAPSHOTS,
    MakesServers: values.Ability.SHARE_SERVERS,
    SpansSubnets: values.Ability.SEVERAL_SUBNETS,
    AddsSubnets: values.Ability.ADD_SUBNET,
    TakesSubnetMetadata: values.Ability.SUBNET_METADATA,
    ManagesServers: values.Ability.MANAGE_SERVERS,
    UpdatesSecurityServices: values.Ability.SECURITY_SERVICES,
    MigratesServers: values.Ability.MIGRATE_SERVER,
    MigratesReplicated: values.Ability.MIGRATE_REPLICATED,
    MigratesShares: values.Ability.MIGRATE_SHARE,
    Replicates: values.Ability.REPLICATE,
    ManagesShares: values.Ability.MANAGE_SHARES,
    ManagesSnapshots: values.Ability.MANAGE_SNAPSHOTS,
    BacksUp: values.Ability.BACK_UP,
    MeasuresUsage: values.Ability.MEASURE_USAGE,
}

#: The capability of a pool that says whether its driver has an ability.
CAPABILITIES: dict[values.Ability, str] = {
    values.Ability.SNAPSHOT: 'snapshot_support',
    values.Ability.CREATE_FROM_SNAPSHOT: 'create_share_from_snapshot_support',
    values.Ability.REVERT: 'revert_to_snapshot_support',
    values.Ability.MOUNT_SNAPSHOT: 'mount_snapshot_support',
    values.Ability.SHARE_SERVERS: 'driver_handles_share_servers',
    values.Ability.SEVERAL_SUBNETS: 'share_server_multiple_subnet_support',
    values.Ability.ADD_SUBNET: 'network_allocation_update_support',
    values.Ability.SECURITY_SERVICES: 'security_service_update_support',
    values.Ability.MIGRATE_REPLICATED: 'share_replicas_migration_support',
}


def abilities_of(driver: object) -> frozenset[values.Ability]:
    """Return the abilities of a driver, by the abstract classes that it implements.

    For a driver class, these are all abilities that it can have; an instance may be configured without share servers.
    """
    cls = driver if isinstance(driver, type) else type(driver)
    without_servers = isinstance(driver, ShareDriver) and not driver.HANDLES_SHARE_SERVERS
    return frozenset(
        ability
        for base, ability in ABILITIES.items()
        if issubclass(cls, base) and not (without_servers and issubclass(base, MakesServers))
    )


def capabilities_of(driver: object) -> dict[str, bool]:
    """Return the capabilities that a pool of the driver reports for its abilities."""
    abilities = abilities_of(driver)
    # The manager applies a share's rules to its snapshots, so every driver that mounts snapshots has this.
    return {name: ability in abilities for ability, name in CAPABILITIES.items()} | {
        'snapshot_inherit_share_access_support': values.Ability.MOUNT_SNAPSHOT in abilities
    }


def replication_of(driver: object, domain: str | None) -> dict[str, object]:
    """Return the capabilities that a pool of the driver reports for replication; empty without a replication domain."""
    if not domain or not isinstance(driver, Replicates):
        return {}
    return {'replication_domain': domain, 'replication_type': sorted(driver.REPLICATION_TYPES)}


def consistency_of(driver: object) -> str | None:
    """Return the scope in which shares of a group can be snapshotted at one moment: ``pool`` or ``host``.

    None means that their snapshots are taken one after another.
    """
    return driver.CONSISTENT_ACROSS if isinstance(driver, ConsistentSnapshots) else None


def spreads_servers(driver: object) -> bool:
    """Say whether the driver can receive a share server whose shares are spread over several of its pools."""
    return values.Ability.MIGRATE_SERVER in abilities_of(driver) and bool(
        getattr(driver, 'SPREADS_SERVERS', False)
    )
