# SPDX-License-Identifier: Apache-2.0
"""Snapshots and their export locations."""

import dataclasses
from collections.abc import Mapping

from manila_lite.values.access import ExportLocation, RuleResult
from manila_lite.values.shares import Share


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A snapshot as a driver sees it. ``size`` is the share's size when it was taken."""

    id: str
    share: Share
    size: int
    provider_location: str | None = None


@dataclasses.dataclass(frozen=True)
class ManagedSnapshot:
    """The result of managing an existing snapshot: its size, and its provider location now."""

    size: int
    provider_location: str | None


@dataclasses.dataclass(frozen=True)
class ServedSnapshot:
    """The export locations of a snapshot, and the result for each access rule by its id."""

    export_locations: tuple[ExportLocation, ...] = ()
    rules: Mapping[str, RuleResult] = dataclasses.field(default_factory=dict)
