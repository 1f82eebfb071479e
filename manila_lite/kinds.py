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
    those stored so far.
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
class EnsureTarget:
    """A share that the driver must make good again, with the rules that apply to it."""

    share: Share
    rules: tuple[AccessRule, ...] = ()


@dataclasses.dataclass(frozen=True)
class EnsureResult:
    """What ``ensure_shares`` found out about one share. ``error`` set means it is broken."""

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None


@dataclasses.dataclass(frozen=True)
class Pool:
    """What one pool can hold and do, as reported to the scheduler. Capacities in GiB.

    ``capabilities`` are matched against share type extra specs; they must be honest: a true one is
    kept, a false one is never promised.
    """

    name: str
    total_gb: float
    free_gb: float
    allocated_gb: float = 0.0
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
