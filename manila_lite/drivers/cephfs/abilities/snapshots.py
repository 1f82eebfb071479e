# SPDX-License-Identifier: Apache-2.0
"""The calls for snapshots."""

from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.cephfs.abilities.base import ComposedDriver
from manila_lite.drivers.cephfs.abilities.shares import CephfsShareManagement
from manila_lite.drivers.interface import Clones, ManagesSnapshots, Snapshots


class CephfsSnapshots(ComposedDriver, Snapshots, Clones):
    """The calls that take and copy snapshots."""

    def create_snapshot(self, snapshot: values.Snapshot) -> str | None:
        """Take a snapshot, which clients read in ``.snap``."""
        return self.services.snapshots.create(snapshot)

    def delete_snapshot(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot, once no share is copied from it."""
        self.services.snapshots.delete(snapshot)

    def create_share_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot
    ) -> Sequence[values.ExportLocation]:
        """Have the cluster copy the snapshot; the call is to be repeated until it has."""
        return self.services.snapshots.create_share(share, snapshot)


class CephfsSnapshotManagement(CephfsShareManagement, ManagesSnapshots):
    """The calls of ``ManagesSnapshots``. There are no driver options."""

    def manage_snapshot(
        self, snapshot: values.Snapshot, options: Mapping[str, str]
    ) -> values.ManagedSnapshot:
        """Mark the snapshot of the subvolume as managed."""
        return self.services.managed_snapshots.manage(snapshot, options)

    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        """Mark the snapshot as unmanaged."""
        self.services.managed_snapshots.unmanage(snapshot)
