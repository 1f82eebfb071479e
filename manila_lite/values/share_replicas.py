# SPDX-License-Identifier: Apache-2.0
"""Replicas and their state."""

import dataclasses
from collections.abc import Mapping

from manila_lite.values.access import AccessRule, ExportLocation
from manila_lite.values.shares import Share
from manila_lite.values.snapshots import Snapshot


@dataclasses.dataclass(frozen=True)
class Replica:
    """A replica that is not the active one, as the driver of its backend sees it.

    ``share`` is the replica: calls are idempotent by its id. ``type`` is the share's replication type: ``readable``
    (clients read the replica) or ``dr`` (no client mounts it before it is promoted). ``state`` is the state last
    reported. ``active`` is the active replica, at ``active_host`` (``host@backend``). ``snapshots`` are those of the
    active one, and ``rules`` those in force there. ``left`` are ids of snapshots that the share had once, or has in
    name only: the driver keeps none of them.
    """

    share: Share
    type: str
    state: str
    active: Share
    active_host: str
    snapshots: tuple[Snapshot, ...] = ()
    rules: tuple[AccessRule, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The key by which calls are idempotent: the id of the replica."""
        return self.share.id

    @property
    def is_mounted(self) -> bool:
        """Whether clients may mount the replica without a promotion."""
        return self.type == 'readable'


@dataclasses.dataclass(frozen=True)
class ReplicaResult:
    """The state of a replica: ``in_sync`` or ``out_of_sync``, its export locations, and the snapshots it holds.

    ``snapshots`` has the provider location of each by its id.
    """

    state: str
    export_locations: tuple[ExportLocation, ...] = ()
    snapshots: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
