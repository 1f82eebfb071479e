# SPDX-License-Identifier: Apache-2.0
"""Snapshots, and where they mount."""

import dataclasses
from collections.abc import Mapping

from manila_lite.kinds.access import ExportLocation, RuleResult
from manila_lite.kinds.shares import Share


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A snapshot as a driver sees it. ``size`` is the share's size when it was taken."""

    id: str
    share: Share
    size: int
    provider_location: str | None = None


@dataclasses.dataclass(frozen=True)
class ManagedSnapshot:
    """What became ours of a snapshot that was at the backend already: its size, and where the backend keeps it now."""

    size: int
    provider_location: str | None


@dataclasses.dataclass(frozen=True)
class ServedSnapshot:
    """Where a snapshot mounts, and what became of each rule by its id."""

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)
