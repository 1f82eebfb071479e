# SPDX-License-Identifier: Apache-2.0
"""Shares, and what became of them."""

import dataclasses
from collections.abc import Mapping

from manila_lite.kinds.access import AccessRule, ExportLocation, RuleResult
from manila_lite.kinds.servers import ShareServer


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
    export_locations: tuple[ExportLocation, ...] = ()
    share_network_id: str | None = None
    server: ShareServer | None = None
    qos: Mapping[str, str] = dataclasses.field(default_factory=dict)
    encryption_key_ref: str | None = None


@dataclasses.dataclass(frozen=True)
class ManagedShare:
    """What became ours of a share that was at the backend already: its size, and where it mounts now."""

    size: int
    export_locations: tuple[ExportLocation, ...]


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
