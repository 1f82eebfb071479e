# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of snapshots: those of a managed share's subvolume, by their names in the cluster."""

from collections.abc import Mapping

from manila_lite import errors, values
from manila_lite.drivers.cephfs.shares.snapshots import Snapshots, is_unmanaged, name_of
from manila_lite.drivers.cephfs.volumes.subvolumes import SNAPSHOT, UNMANAGED, Subvolumes
from manila_lite.host.ids import SAFE_ID, vet_id


class ManagedSnapshots:
    """The managing and unmanaging of one backend's snapshots. There are no driver options."""

    def __init__(self, subvolumes: Subvolumes, snapshots: Snapshots):
        self._subvolumes = subvolumes
        self._snapshots = snapshots

    def manage(self, snapshot: values.Snapshot, options: Mapping[str, str]) -> values.ManagedSnapshot:
        """Mark the snapshot as managed; it keeps its name."""
        vet_id(snapshot.id)
        if options:
            raise errors.Final(f'There is no driver option {min(options)} for snapshots.')
        share, name = snapshot.share, snapshot.provider_location or ''
        subvolume = self._subvolumes.require(share)
        marks = self._snapshots.marks(subvolume.name, name) if SAFE_ID.fullmatch(name) else None
        if marks is None:
            raise errors.Final(
                f'Share {share.id} has no snapshot {name!r} in the file system {self._subvolumes.filesystem}.'
            )
        if not is_unmanaged(marks) and marks[SNAPSHOT] != snapshot.id:
            raise errors.Final(f'Snapshot {name} is managed already.')
        self._snapshots.mark(subvolume.name, name, snapshot.id)
        return values.ManagedSnapshot(share.size, name)

    def unmanage(self, snapshot: values.Snapshot) -> None:
        """Mark the snapshot as unmanaged, if it is this one."""
        subvolume, name = self._snapshots.find(snapshot)
        if subvolume and name and name in (snapshot.id, name_of(snapshot)):
            self._snapshots.mark(subvolume.name, name, UNMANAGED)
