# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of snapshots: a snapshot is a read-only subvolume in the pool's folder of snapshots."""

from collections.abc import Mapping
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.pool import btrfs, unmanaged
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.drivers.linux.shares.snapshots import provider_location
from manila_lite.host.ids import vet_id


class ManagedSnapshots(ShareService):
    """The managing and unmanaging of one backend's snapshots. There are no driver options."""

    def manage(self, snapshot: values.Snapshot, options: Mapping[str, str]) -> values.ManagedSnapshot:
        """Give the read-only subvolume the snapshot's name."""
        vet_id(snapshot.id)
        if options:
            raise errors.Final(f'There is no driver option {min(options)} for snapshots.')
        self._storage.require(snapshot.share)
        pool = self._storage.btrfs
        with self._storage.exclusive(snapshot.id):
            if not pool.snapshot(snapshot.id).exists() or snapshot.id in pool.unmanaged_snapshots:
                path = self._manageable(snapshot)
                path.rename(pool.snapshot(snapshot.id))
                pool.unmanaged_snapshots.drop(path.name)
        return values.ManagedSnapshot(snapshot.share.size, provider_location(snapshot.id))

    def _manageable(self, snapshot: values.Snapshot) -> Path:
        """Return the path of a snapshot that can be managed.

        :raises errors.Final: it cannot be a snapshot of the share.
        """
        pool = self._storage.btrfs
        parts = self._parts(snapshot)
        if parts is None:
            raise errors.Final(
                f'{snapshot.provider_location}: a snapshot is named /{unmanaged.SNAPSHOTS}/NAME here.'
            )
        path, share = unmanaged.walk(pool.root, parts), pool.share(snapshot.share.id)
        if not btrfs.is_subvolume(path) or not btrfs.is_read_only(path):
            raise errors.Final(f'{path} is not a read-only subvolume.')
        share_uuid = btrfs.uuids(share)[0]
        if share_uuid not in (btrfs.uuids(path)[1], pool.unmanaged_snapshots.note(path.name)):
            raise errors.Final(f'{path} is not a snapshot of share {snapshot.share.id} in its present state.')
        return path

    def _parts(self, snapshot: values.Snapshot) -> tuple[str, ...] | None:
        """Return the parts of the snapshot's provider location, or None if it names no snapshot."""
        location = snapshot.provider_location or ''
        try:
            parts = unmanaged.parts_of(f':{location}', self._storage.btrfs.root, [''])
        except errors.Final:
            return None
        return parts if len(parts) == 2 and parts[0] == unmanaged.SNAPSHOTS else None

    def unmanage(self, snapshot: values.Snapshot) -> None:
        """Remove the snapshot's export and mount, and mark the subvolume as unmanaged. If its management did not finish,
        give it its old name.
        """
        vet_id(snapshot.id)
        with self._storage.exclusive(snapshot.id):
            self._exports.forget(snapshot.share, snapshot.id)
            pool = self._storage.btrfs
            mine, share = pool.snapshot(snapshot.id), pool.share(snapshot.share.id)
            if not mine.exists():
                pool.unmanaged_snapshots.drop(snapshot.id)
                return
            note = btrfs.uuids(share)[0] if share.exists() else ''
            if snapshot.id not in pool.unmanaged_snapshots:
                pool.unmanaged_snapshots.add(snapshot.id, note)
            parts = self._parts(snapshot)
            path = pool.snapshot(parts[1]) if parts else mine
            if path != mine and not path.exists():
                pool.unmanaged_snapshots.add(path.name, note)
                mine.rename(path)
                pool.unmanaged_snapshots.drop(snapshot.id)
