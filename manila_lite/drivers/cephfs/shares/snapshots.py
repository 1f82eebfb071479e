# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares. Clients read them in the directory ``.snap`` of each directory, without a mount of their own.

The provider location of a snapshot is its name in the cluster. A mark says which snapshot it is, as that of a share does.
"""

import errno
from collections.abc import Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.shares.shares import Shares
from manila_lite.drivers.cephfs.volumes.objects import Objects, namespace_of
from manila_lite.drivers.cephfs.volumes.subvolumes import SNAPSHOT, UNMANAGED, Subvolume, Subvolumes
from manila_lite.host.ids import SAFE_ID, vet_id

#: Seconds until another try to delete a snapshot from which a share is being copied.
_LATER = 2.0


class Snapshots:
    """The snapshots of one backend."""

    def __init__(self, subvolumes: Subvolumes, objects: Objects, shares: Shares):
        self._subvolumes = subvolumes
        self._objects = objects
        self._shares = shares

    def create(self, snapshot: values.Snapshot) -> str:
        """Take the snapshot; it takes no time and no space. Returns its name."""
        vet_id(snapshot.id)
        subvolume = self._subvolumes.require(snapshot.share)
        # A repeated call finds it, and does not take it anew.
        self._subvolumes.ask('snapshot create', subvolume.name, snap_name=snapshot.id)
        self.mark(subvolume.name, snapshot.id, snapshot.id)
        return snapshot.id

    def delete(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot.

        :raises errors.Again: a share is still being copied from it.
        """
        subvolume, name = self.find(snapshot)
        if subvolume is None:
            self._objects.remove(namespace_of(snapshot.share.id))  # the process may have died before it did
        if subvolume is None or name is None:
            return
        try:
            self._subvolumes.ask('snapshot rm', subvolume.name, snap_name=name, force=True)
        except Refused as refused:
            if refused.number == errno.EAGAIN:
                raise errors.Again(
                    _LATER, f'Snapshot {snapshot.id} is still being copied to a share.'
                ) from refused
            if refused.number != errno.ENOENT:
                raise
        if subvolume.is_retained:  # the last one takes the subvolume with it
            self._objects.remove(namespace_of(subvolume.name))

    def create_share(self, share: values.Share, snapshot: values.Snapshot) -> Sequence[values.ExportLocation]:
        """Have a new share made with the content of the snapshot, also if the share of the snapshot is deleted."""
        subvolume, name = self.find(snapshot)
        return self._shares.create_from_snapshot(share, snapshot, name, subvolume)

    def find(self, snapshot: values.Snapshot) -> tuple[Subvolume | None, str | None]:
        """Return the subvolume of the snapshot, and the name that the snapshot has there; None for what is missing."""
        vet_id(snapshot.id)
        subvolume = self._subvolumes.find(snapshot.share, retained=True)
        if subvolume is None:
            return None, None
        for name in {snapshot.id: None, name_of(snapshot): None}:
            if SAFE_ID.fullmatch(name) and self._is(snapshot, subvolume, name):
                return subvolume, name
        return subvolume, None

    def _is(self, snapshot: values.Snapshot, subvolume: Subvolume, name: str) -> bool:
        """Say whether the snapshot of this name, if there is one, is the given one."""
        if subvolume.is_retained:  # Ceph does not show the marks any more
            return any(one['name'] == name for one in self._subvolumes.ask('snapshot ls', subvolume.name))
        marks = self.marks(subvolume.name, name)
        return marks is not None and marks.get(SNAPSHOT, name) == snapshot.id

    # Managing ---------------------------------------------------------------------------------

    def manage(self, snapshot: values.Snapshot, options: Mapping[str, str]) -> values.ManagedSnapshot:
        """Mark a snapshot of a managed share's subvolume as managed, by its name in the cluster, which it keeps."""
        vet_id(snapshot.id)
        if options:
            raise errors.Final(f'There is no driver option {min(options)} for snapshots.')
        share, name = snapshot.share, snapshot.provider_location or ''
        subvolume = self._subvolumes.require(share)
        marks = self.marks(subvolume.name, name) if SAFE_ID.fullmatch(name) else None
        if marks is None:
            raise errors.Final(
                f'Share {share.id} has no snapshot {name!r} in the file system {self._subvolumes.filesystem}.'
            )
        if marks.get(SNAPSHOT, UNMANAGED) not in (UNMANAGED, snapshot.id):
            raise errors.Final(f'Snapshot {name} is managed already.')
        self.mark(subvolume.name, name, snapshot.id)
        return values.ManagedSnapshot(share.size, name)

    def unmanage(self, snapshot: values.Snapshot) -> None:
        """Mark the snapshot as unmanaged, if it is this one."""
        subvolume, name = self.find(snapshot)
        if subvolume and name and name in (snapshot.id, name_of(snapshot)):
            self.mark(subvolume.name, name, UNMANAGED)

    # Marks ------------------------------------------------------------------------------------

    def marks(self, subvolume: str, name: str) -> Mapping[str, str] | None:
        """Return the marks of the snapshot of this name, whosever it is; None if there is none."""
        try:
            found: Mapping[str, str] | None = self._subvolumes.ask(
                'snapshot metadata ls', subvolume, snap_name=name
            )
        except Refused as refused:
            if refused.number == errno.ENOENT:
                return None
            raise
        return found or {}

    def mark(self, subvolume: str, name: str, snapshot_id: str) -> None:
        """Mark the snapshot of this name as the one with the id, or as unmanaged."""
        self._subvolumes.ask(
            'snapshot metadata set', subvolume, snap_name=name, key_name=SNAPSHOT, value=snapshot_id
        )


def name_of(snapshot: values.Snapshot) -> str:
    """Return the name that the snapshot has in the cluster, by its provider location."""
    return snapshot.provider_location or snapshot.id
