# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several shares at one moment, in which none of their file servers answers."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface import ConsistentSnapshots
from manila_lite.drivers.linux.ids import vet_id
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.protocols import quiesce
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer


class LinuxGroupSnapshots(ConsistentSnapshots):
    """The part of the driver that takes consistent snapshots of groups."""

    @property
    @abc.abstractmethod
    def _btrfs(self) -> BtrfsPool:
        """The pool, which supports snapshots."""

    @abc.abstractmethod
    def _protocol_server_of(self, share: values.Share) -> ProtocolServer:
        """Return the outlet that serves the share."""

    @abc.abstractmethod
    def _need(self, share: values.Share) -> None:
        """Check that the share is in the pool."""

    def create_group_snapshot(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str | None]:
        """Take read-only snapshots of the shares at one moment. Clients wait for tenths of a second."""
        sources = {}
        for snapshot in snapshots:
            vet_id(snapshot.id)
            self._need(snapshot.share)
            sources[snapshot.id] = snapshot.share.id
        if not all(self._btrfs.snapshot(ident).exists() for ident in sources):
            protocol_servers = {id(protocol_server): protocol_server
                                for protocol_server in (self._protocol_server_of(snapshot.share) for snapshot in snapshots)}
            self._take(list(protocol_servers.values()), sources)
        return {ident: f'/{SNAPSHOTS}/{ident}' for ident in sources}

    def _take(self, protocol_servers: Sequence[ProtocolServer], sources: Mapping[str, str]) -> None:
        # One group at a time: the first to finish would resume servers that must stand still for another group.
        with quiesce.turn(self._btrfs.root) as turn:
            for protocol_server in protocol_servers:
                protocol_server.server.awake()   # a dead server must not come up while the others stand still
            self._btrfs.prepare_snapshots(sources)
            with quiesce.still([server for protocol_server in protocol_servers for server in protocol_server.servers()], turn):
                for ident, share in sources.items():
                    self._btrfs.draft_snapshot(ident, share)
            self._btrfs.keep_drafts(sources)
