# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several shares at one moment, in which no server of theirs answers."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import kinds
from manila_lite.drivers.interface import ConsistentSnapshots
from manila_lite.drivers.linux import moment
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.left import SNAPSHOTS, vet_id
from manila_lite.drivers.linux.outlet import Outlet


class LinuxGroupSnapshots(ConsistentSnapshots):
    """What the driver class adds to its own by being one of these."""

    @property
    @abc.abstractmethod
    def _btrfs(self) -> BtrfsPool:
        """The pool."""

    @abc.abstractmethod
    def _outlet_of(self, share: kinds.Share) -> Outlet:
        """Return the NFS server of the share."""

    @abc.abstractmethod
    def _need(self, share: kinds.Share) -> None:
        """The share is in the pool."""

    def create_group_snapshot(self, snapshots: Sequence[kinds.Snapshot]) -> Mapping[str, str | None]:
        """Read-only copies show the shares as they were at one moment. Clients wait for tenths of a second."""
        sources = {}
        for snapshot in snapshots:
            vet_id(snapshot.id)
            self._need(snapshot.share)
            sources[snapshot.id] = snapshot.share.id
        if not all(self._btrfs.snapshot(ident).exists() for ident in sources):
            outlets = {id(outlet): outlet for outlet in (self._outlet_of(snapshot.share) for snapshot in snapshots)}
            self._take(list(outlets.values()), sources)
        return {ident: f'/{SNAPSHOTS}/{ident}' for ident in sources}

    def _take(self, outlets: Sequence[Outlet], sources: Mapping[str, str]) -> None:
        # One group at a time: the first to end would let servers go on that are to stand still for another.
        with moment.turn(self._btrfs.root) as turn:
            for outlet in outlets:
                outlet.server.awake()   # one that died would come up while the others stand still
            self._btrfs.prepare_snapshots(sources)
            with moment.still([server for outlet in outlets for server in outlet.servers()], turn):
                for ident, share in sources.items():
                    self._btrfs.draft_snapshot(ident, share)
            self._btrfs.keep_drafts(sources)
