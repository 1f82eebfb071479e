# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several shares at one moment, in which none of their file servers answers."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import kinds
from manila_lite.drivers.interface import ConsistentSnapshots
from manila_lite.drivers.linux import moment
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.ids import vet_id
from manila_lite.drivers.linux.left import SNAPSHOTS
from manila_lite.drivers.linux.outlet import Outlet


class LinuxGroupSnapshots(ConsistentSnapshots):
    """The part of the driver that takes consistent snapshots of groups."""

    @property
    @abc.abstractmethod
    def _btrfs(self) -> BtrfsPool:
        """The pool, which supports snapshots."""

    @abc.abstractmethod
    def _outlet_of(self, share: kinds.Share) -> Outlet:
        """Return the outlet that serves the share."""

    @abc.abstractmethod
    def _need(self, share: kinds.Share) -> None:
        """Check that the share is in the pool."""

    def create_group_snapshot(self, snapshots: Sequence[kinds.Snapshot]) -> Mapping[str, str | None]:
        """Take read-only snapshots of the shares at one moment. Clients wait for tenths of a second."""
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
        # One group at a time: the first to finish would resume servers that must stand still for another group.
        with moment.turn(self._btrfs.root) as turn:
            for outlet in outlets:
                outlet.server.awake()   # a dead server must not come up while the others stand still
            self._btrfs.prepare_snapshots(sources)
            with moment.still([server for outlet in outlets for server in outlet.servers()], turn):
                for ident, share in sources.items():
                    self._btrfs.draft_snapshot(ident, share)
            self._btrfs.keep_drafts(sources)
