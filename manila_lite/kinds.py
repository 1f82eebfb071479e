# SPDX-License-Identifier: Apache-2.0
"""Plain frozen values that cross the border between the rooms and the drivers.

Sizes are in GiB unless the name says otherwise.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Share:
    """A share as a driver sees it: one instance on one backend.

    ``id`` is the instance id, unique on the backend and safe as a file name; all driver calls are
    idempotent by it. ``pool`` is the part of the host string behind ``#``. ``export_locations`` are
    those stored so far. ``server`` is where it is exported, on a backend that makes share servers.
    ``mount_point_name``: the last part of the paths that it shall be mounted by, if somebody chose one.
    ``qos``: what it is promised, by the specs of a QoS type. ``encryption_key_ref``: the id of the key that it, or its server,
    is encrypted with.
    """

    id: str
    share_id: str
    project_id: str
    size: int
    proto: str
    pool: str
    name: str | None = None
    snapshot_id: str | None = None
    mount_point_name: str | None = None
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    export_locations: tuple['ExportLocation', ...] = ()
    share_network_id: str | None = None
    server: 'ShareServer | None' = None
    qos: Mapping[str, str] = dataclasses.field(default_factory=dict)
    encryption_key_ref: str | None = None


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A snapshot as a driver sees it. ``size`` is the share's size when it was taken."""

    id: str
    share: Share
    size: int
    provider_location: str | None = None


@dataclasses.dataclass(frozen=True)
class ExportLocation:
    """Where a share mounts. ``preferred`` ones are listed first; the order is part of the API."""

    path: str
    preferred: bool = False
    is_admin_only: bool = False
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ManagedShare:
    """What became ours of a share that was at the backend already: its size, and where it mounts now."""

    size: int
    export_locations: tuple[ExportLocation, ...]


@dataclasses.dataclass(frozen=True)
class ManagedSnapshot:
    """What became ours of a snapshot that was at the backend already: its size, and where the backend keeps it now."""

    size: int
    provider_location: str | None


@dataclasses.dataclass(frozen=True)
class AccessRule:
    """One grant: ``type`` is ip, user, cert or cephx; ``to`` an address, CIDR or name; ``level`` rw or ro."""

    id: str
    type: str
    to: str
    level: str


@dataclasses.dataclass(frozen=True)
class RuleResult:
    """What became of one rule: in force, or refused with the reason in ``error``."""

    error: str | None = None
    access_key: str | None = None


@dataclasses.dataclass(frozen=True)
class ServedSnapshot:
    """Where a snapshot mounts, and what became of each rule by its id."""

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class EnsureTarget:
    """A share that the driver must make good again, with the rules that apply to it."""

    share: Share
    rules: tuple[AccessRule, ...] = ()


@dataclasses.dataclass(frozen=True)
class EnsureResult:
    """What ``ensure_shares`` found out about one share. ``error`` set means it is broken, and says why to its owner.

    ``repaired`` says in words what was amiss and is not any more. ``reapply_access_rules``: the rules are still to be
    told to the backend. ``metadata`` is stored with the share.
    """

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    reapply_access_rules: bool = False
    repaired: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Allocation:
    """One address that belongs to a share server, with what there is to know about its network.

    ``cidr`` has the prefix length. ``subnet_id`` is the share network subnet, or nothing on the network of
    administrators. ``mtu`` in bytes.
    """

    id: str
    ip_address: str
    cidr: str
    ip_version: int
    subnet_id: str | None = None
    gateway: str | None = None
    mtu: int | None = None
    network_type: str | None = None
    segmentation_id: int | None = None
    neutron_net_id: str | None = None
    mac_address: str | None = None


@dataclasses.dataclass(frozen=True)
class SecurityService:
    """Who knows the users of a share network: ``type`` is ldap, kerberos or active_directory."""

    id: str
    type: str
    name: str | None = None
    dns_ip: str | None = None
    server: str | None = None
    domain: str | None = None
    ou: str | None = None
    user: str | None = None
    password: str | None = dataclasses.field(default=None, repr=False)
    default_ad_site: str | None = None


@dataclasses.dataclass(frozen=True)
class ServerNetwork:
    """One subnet of a share network and the addresses in it that belong to one share server.

    Without ``allocations`` it is a subnet that a server might get: what a driver is asked about first.
    """

    subnet_id: str
    cidr: str
    ip_version: int
    allocations: tuple[Allocation, ...] = ()
    availability_zone: str | None = None
    neutron_net_id: str | None = None
    neutron_subnet_id: str | None = None
    gateway: str | None = None
    mtu: int | None = None
    network_type: str | None = None
    segmentation_id: int | None = None
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ShareServer:
    """A file server of one share network.

    ``id`` is safe as a file name; all driver calls are idempotent by it. ``networks`` are its subnets in the
    order they were added, ``admin_allocations`` addresses for administrators. ``details`` are what the driver
    said that it wants to remember. ``encryption_key_ref`` is the id of the key that all its shares are encrypted with.
    """

    id: str
    networks: tuple[ServerNetwork, ...] = ()
    admin_allocations: tuple[Allocation, ...] = ()
    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    security_services: tuple[SecurityService, ...] = ()
    share_network_id: str | None = None
    project_id: str | None = None
    encryption_key_ref: str | None = None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Every address, in the order of export locations: IPv4, then IPv6, then those for administrators."""
        users = [allocation for network in self.networks for allocation in network.allocations]
        return (*sorted(users, key=lambda found: found.ip_version), *self.admin_allocations)

    def joined(self, network: ServerNetwork) -> 'ShareServer':
        """Return the server with one more subnet, or with what is new about one that it has."""
        networks = {known.subnet_id: known for known in self.networks} | {network.subnet_id: network}
        return dataclasses.replace(self, networks=tuple(networks.values()))


@dataclasses.dataclass(frozen=True)
class ServerUpdate:
    """What a driver did to a server's network.

    ``export_locations`` has all of them, old and new, for each share by its ``id``;
    ``snapshot_export_locations`` likewise, for snapshots that can be mounted. ``lost`` names shares that
    cannot be served any more, with the reason. ``details`` replace those of the server.
    """

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(default_factory=dict)
    snapshot_export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(default_factory=dict)
    lost: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ServerMigration:
    """A share server that moves to another backend, as the driver there sees it.

    ``source`` is at ``source_host`` (``host@backend``) and may be in use; ``target`` shall take its place, in the same
    subnets or in others. A target that takes over the source's addresses has them from the cut-over on only
    (``keeps_addresses``). ``shares`` (with the source as their server) and ``snapshots`` are all that moves, to ``pool``.
    ``was_idle``: the driver chose the target among its servers, and has it back, with nothing on it, if it comes to nothing.
    """

    source: ShareServer
    source_host: str
    target: ShareServer
    pool: str
    shares: tuple[Share, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    rules: Mapping[str, tuple[AccessRule, ...]] = dataclasses.field(default_factory=dict)
    keeps_addresses: bool = False
    was_idle: bool = False
    writable: bool = False
    nondisruptive: bool = False
    preserve_snapshots: bool = False

    @property
    def id(self) -> str:
        """What calls are idempotent by: the id of the target."""
        return self.target.id


@dataclasses.dataclass(frozen=True)
class ShareMigration:
    """A share that moves to another backend, or another pool, by itself, as the driver there sees it.

    ``source`` is at ``source_host`` (``host@backend``), on its server if it has one, and may be in use; ``target`` shall take
    its place: it has an id, a pool, a server and the extra specs of its own. While a driver is asked whether it can, the
    target has no server yet. ``snapshots`` are those of the source, and move with it. ``rules`` are those that shall be in
    force at the target.
    """

    source: Share
    source_host: str
    target: Share
    snapshots: tuple[Snapshot, ...] = ()
    rules: tuple[AccessRule, ...] = ()
    writable: bool = False
    nondisruptive: bool = False
    preserve_snapshots: bool = False

    @property
    def id(self) -> str:
        """What calls are idempotent by: the id of the target."""
        return self.target.id


@dataclasses.dataclass(frozen=True)
class Replica:
    """A replica that is not the active one, as the driver of its backend sees it.

    ``share`` is the replica: calls are idempotent by its id. ``type`` is how the share is replicated: ``readable`` (clients
    read the replica) or ``dr`` (nobody mounts it before it is promoted); ``state`` is what was last said of it. ``active`` is
    what it is a replica of, at ``active_host`` (``host@backend``). ``snapshots`` are those of the active one, and ``rules``
    those in force there.
    """

    share: Share
    type: str
    state: str
    active: Share
    active_host: str
    snapshots: tuple[Snapshot, ...] = ()
    rules: tuple[AccessRule, ...] = ()

    @property
    def id(self) -> str:
        """What calls are idempotent by."""
        return self.share.id

    @property
    def is_mounted(self) -> bool:
        """Whether clients may mount it as it is."""
        return self.type == 'readable'


@dataclasses.dataclass(frozen=True)
class ReplicaResult:
    """How a replica stands: ``in_sync`` or ``out_of_sync``, where it mounts, and which snapshots it holds, by id with the
    place where the backend keeps them.
    """

    state: str
    export_locations: tuple[ExportLocation, ...] = ()
    snapshots: Mapping[str, str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigratedShare:
    """Where a share is after the cut-over, and its snapshots by their ids."""

    export_locations: tuple[ExportLocation, ...] = ()
    provider_locations: Mapping[str, str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigrationSupport:
    """What a backend can do about a migration. ``reason`` says why it is not ``compatible``."""

    compatible: bool
    writable: bool = False
    nondisruptive: bool = False
    preserve_snapshots: bool = False
    migration_cancel: bool = False
    migration_get_progress: bool = False
    reason: str = ''


@dataclasses.dataclass(frozen=True)
class MigrationProgress:
    """How much of a migration's data is there; ``percent`` of all."""

    percent: int
    bytes_done: int | None = None
    bytes_total: int | None = None


@dataclasses.dataclass(frozen=True)
class MigratedServer:
    """Where everything is after the cut-over: export locations and pool by the shares' ids."""

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(default_factory=dict)
    provider_locations: Mapping[str, str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ServerResult:
    """What ``ensure_servers`` found out about one server. ``error`` set means that it does not run.

    ``repaired`` says in words what was amiss and is not any more; it concerns every share on the server.
    """

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    repaired: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class BackupType:
    """Where backups go: an export of the operator's, and how it is mounted. ``export`` is empty where a driver needs none."""

    name: str
    export: str = ''
    proto: str = 'nfs'
    options: str = ''


@dataclasses.dataclass(frozen=True)
class Backup:
    """A copy of what a share held. ``size`` in GiB is that of the share; ``host`` is the backend that made it."""

    id: str
    size: int
    type: BackupType
    host: str
    project_id: str


@dataclasses.dataclass(frozen=True)
class BackupProgress:
    """How far a copy to or from a backup is; 100: it is complete."""

    percent: int


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
