# SPDX-License-Identifier: Apache-2.0
"""Shares, and results of work on them."""

import dataclasses
from collections.abc import Callable, Mapping

from manila_lite.values.access import AccessRule, ExportLocation, RuleResult
from manila_lite.values.share_servers import ShareServer


@dataclasses.dataclass(frozen=True)
class Share:
    """A share as a driver sees it: one instance on one backend.

    ``id`` is the instance id, unique on the backend and safe as a file name; all driver calls are idempotent by it.
    ``pool`` is the part of the host string behind ``#``. ``export_locations`` are those stored so far. ``server``
    exports the share, on a backend that makes share servers. ``mount_point_name``: the last part of its export paths,
    if its owner chose one. ``qos``: the specs of its QoS type. ``encryption_key_ref``: the id of the key that it, or
    its server, is encrypted with.
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
    """The result of managing an existing share: its size, and its export locations now."""

    size: int
    export_locations: tuple[ExportLocation, ...]


@dataclasses.dataclass(frozen=True)
class EnsureTarget:
    """A share that the driver must check and repair, with the rules that apply to it.

    ``read_rules`` returns the rules of this moment, if they can change during the call.
    """

    share: Share
    rules: tuple[AccessRule, ...] = ()
    read_rules: Callable[[], tuple[AccessRule, ...]] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    def rules_now(self) -> tuple[AccessRule, ...]:
        """Return the rules that apply now: for a driver that has found a difference, and that lets nobody else change the
        rules of the share until it has applied these. A client may have lost its access since the call began.
        """
        return self.rules if self.read_rules is None else self.read_rules()


@dataclasses.dataclass(frozen=True)
class EnsureResult:
    """The result of ``ensure_shares`` for one share.

    ``error`` set means that the share is broken, and tells its owner why. ``repaired`` describes the defects that were
    repaired. ``reapply_access_rules``: the rules must still be sent to the backend. ``metadata`` is stored with the
    share.
    """

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    reapply_access_rules: bool = False
    repaired: tuple[str, ...] = ()
