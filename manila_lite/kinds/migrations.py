# SPDX-License-Identifier: Apache-2.0
"""What moves to another backend: a share by itself, or a share server with all that is on it."""

import dataclasses
from collections.abc import Mapping

from manila_lite.kinds.access import AccessRule, ExportLocation
from manila_lite.kinds.servers import ShareServer
from manila_lite.kinds.shares import Share
from manila_lite.kinds.snapshots import Snapshot


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
