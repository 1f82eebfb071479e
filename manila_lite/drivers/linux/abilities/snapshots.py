# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots."""

from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface import (
    Clones,
    ConsistentSnapshots,
    ManagesSnapshots,
    MountsSnapshots,
    Reverts,
    Snapshots,
)
from manila_lite.drivers.linux.abilities.base import ComposedDriver
from manila_lite.drivers.linux.abilities.shares import LinuxShareManagement


class LinuxSnapshots(ComposedDriver, Snapshots, MountsSnapshots, Clones, Reverts, ConsistentSnapshots):
    """The calls that take and use snapshots."""

    def create_snapshot(self, snapshot: values.Snapshot) -> str | None:
        """Take a read-only snapshot; it takes no time and no space."""
        return self.services.snapshots.create(snapshot)

    def delete_snapshot(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot with its export and its mount."""
        self.services.snapshots.delete(snapshot)

    def serve_snapshot(
        self, snapshot: values.Snapshot, rules: Sequence[values.AccessRule]
    ) -> values.ServedSnapshot:
        """Mount and export the snapshot like a share."""
        return self.services.snapshots.serve(snapshot, rules)

    def create_share_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot
    ) -> Sequence[values.ExportLocation]:
        """Create a share with the snapshot's content; no data is copied."""
        return self.services.shares.create_from_snapshot(share, snapshot)

    def revert_to_snapshot(self, snapshot: values.Snapshot) -> None:
        """Replace the share's data by the snapshot's. The share is not exported for a moment."""
        self.services.shares.revert(snapshot)

    def create_group_snapshot(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str | None]:
        """Take read-only snapshots of the shares at one moment."""
        return self.services.group_snapshots.create(snapshots)


class LinuxSnapshotManagement(LinuxShareManagement, ManagesSnapshots):
    """The calls of ``ManagesSnapshots``. There are no driver options."""

    def manage_snapshot(
        self, snapshot: values.Snapshot, options: Mapping[str, str]
    ) -> values.ManagedSnapshot:
        """Give the read-only subvolume the snapshot's name."""
        return self.services.managed_snapshots.manage(snapshot, options)

    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        """Remove the snapshot's export and mount, and mark the subvolume as unmanaged."""
        self.services.managed_snapshots.unmanage(snapshot)
