# SPDX-License-Identifier: Apache-2.0
"""Replicas, and how they stand."""

import dataclasses
from collections.abc import Mapping

from manila_lite.kinds.access import AccessRule, ExportLocation
from manila_lite.kinds.shares import Share
from manila_lite.kinds.snapshots import Snapshot


@dataclasses.dataclass(frozen=True)
class Replica:
    """A replica that is not the active one, as the driver of its backend sees it.

    ``share`` is the replica: calls are idempotent by its id. ``type`` is how the share is replicated: ``readable`` (clients
    read the replica) or ``dr`` (nobody mounts it before it is promoted); ``state`` is what was last said of it. ``active`` is
    what it is a replica of, at ``active_host`` (``host@backend``). ``snapshots`` are those of the active one, and ``rules``
    those in force there. ``left`` are ids of snapshots that the share had once, or has in name only: none of them stays here.
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
