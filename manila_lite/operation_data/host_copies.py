# SPDX-License-Identifier: Apache-2.0
"""The copy of one share by the host of its destination: in the data of its migration, or of that of its share server."""

import dataclasses

from manila_lite.operation_data.base import Stored, record
from manila_lite.operation_data.export_locations import LOCATIONS
from manila_lite.values import ExportLocation, MigrationProgress


@dataclasses.dataclass(kw_only=True)
class HostCopy(Stored):
    """``let_in``: the clients that the source admits; ``let_in_asked``: since when that is asked for.

    ``snapshots_opened``: the clients to which its snapshots were opened, ``snapshots_taken``: the provider locations of those
    that are at the destination, both by their ids. ``exports``: the locations of the target. ``part``: the number of the part
    that the cut-over has reached; ``by_content``: its pass is by content. ``losses``: what the copy lacks, once that is told.
    ``figures``: those of the first pass.
    """

    let_in: str | None = None
    let_in_asked: float | None = None
    snapshots_opened: dict[str, str] = dataclasses.field(default_factory=dict)
    snapshots_taken: dict[str, str | None] = dataclasses.field(default_factory=dict)
    exports: list[ExportLocation] = dataclasses.field(default_factory=list, metadata=LOCATIONS)
    part: int = 0
    by_content: bool = False
    losses: list[str] | None = None
    figures: MigrationProgress = dataclasses.field(
        default=MigrationProgress(0), metadata=record(MigrationProgress, sparse=True)
    )
