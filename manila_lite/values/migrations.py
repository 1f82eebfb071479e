# SPDX-License-Identifier: Apache-2.0
"""Migrations to another backend: of a share by itself, or of a share server with everything on it."""

import dataclasses
from collections.abc import Mapping

from manila_lite.values.access import AccessRule, ExportLocation
from manila_lite.values.share_servers import ShareServer
from manila_lite.values.shares import Share
from manila_lite.values.snapshots import Snapshot


@dataclasses.dataclass(frozen=True, kw_only=True)
class MigrationOptions:
    """The options of a request to migrate."""

    writable: bool = False
    nondisruptive: bool = False
    preserve_snapshots: bool = False


@dataclasses.dataclass(frozen=True)
class ServerMigration(MigrationOptions):
    """The migration of a share server to another backend, as the driver of that backend sees it.

    ``source`` is at ``source_host`` (``host@backend``) and may be in use. ``target`` will replace it, in the same
    subnets or in others. A target that takes over the source's addresses (``keeps_addresses``) has them only from the
    cut-over on; those for administrators are its own, in the network of its backend. ``shares`` (with the source as
    their server) and ``snapshots`` are all that move, each share to the pool that ``pool_of`` names. That is ``pool``
    for all, unless the driver can spread them: then ``pools`` has others by share id. ``was_idle``: the driver chose
    the target among its idle servers; if the migration fails, the target becomes such a server again, with nothing on
    it.
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
    pools: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def id(self) -> str:
        """The key by which calls are idempotent: the id of the target."""
        return self.target.id

    def pool_of(self, share: Share) -> str:
        """Return the pool of the destination that the share moves to."""
        return self.pools.get(share.id, self.pool)


@dataclasses.dataclass(frozen=True)
class ShareMigration(MigrationOptions):
    """The migration of a single share to another backend or pool, as the driver of the destination sees it.

    ``source`` is at ``source_host`` (``host@backend``), on its server if it has one, and may be in use. ``target`` will
    replace it: it has an id, a pool, a server and extra specs of its own. While a driver is asked whether it can
    migrate, the target has no server yet. ``snapshots`` are those of the source, and move with it. ``rules`` are the
    access rules for the target.
    """

    source: Share
    source_host: str
    target: Share
    snapshots: tuple[Snapshot, ...] = ()
    rules: tuple[AccessRule, ...] = ()

    @property
    def id(self) -> str:
        """The key by which calls are idempotent: the id of the target."""
        return self.target.id


@dataclasses.dataclass(frozen=True)
class MigratedShare:
    """The export locations of a share after the cut-over, and the provider locations of its snapshots by their ids."""

    export_locations: tuple[ExportLocation, ...] = ()
    provider_locations: Mapping[str, str | None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigrationSupport:
    """The abilities of a backend for a migration. ``reason`` says why it is not ``compatible``."""

    compatible: bool
    writable: bool = False
    nondisruptive: bool = False
    preserve_snapshots: bool = False
    migration_cancel: bool = False
    migration_get_progress: bool = False
    reason: str = ''


@dataclasses.dataclass(frozen=True)
class MigrationProgress:
    """The amount of a migration's data that is copied; ``percent`` of all. ``done`` and ``total`` are numbers of files."""

    percent: int
    bytes_done: int | None = None
    bytes_total: int | None = None
    done: int | None = None
    total: int | None = None


@dataclasses.dataclass(frozen=True)
class MigratedServer:
    """The server after the cut-over: its details, export locations by share id, and provider locations by snapshot id."""

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(default_factory=dict)
    provider_locations: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
