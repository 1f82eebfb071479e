# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several shares at one moment, in which none of their file servers answers."""

from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.linux.protocols import quiesce
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.drivers.linux.shares.snapshots import provider_location
from manila_lite.host.ids import vet_id


class GroupSnapshots(ShareService):
    """The consistent snapshots of one backend's groups."""

    def create(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str]:
        """Take read-only snapshots of the shares at one moment. Clients wait for tenths of a second.

        Returns the provider locations by snapshot id.
        """
        share_ids = {}
        for snapshot in snapshots:
            vet_id(snapshot.id)
            self._storage.require(snapshot.share)
            share_ids[snapshot.id] = snapshot.share.id
        if not all(self._storage.btrfs.snapshot(snapshot_id).exists() for snapshot_id in share_ids):
            servers = [self._exports.protocol_server_of(snapshot.share) for snapshot in snapshots]
            self._take(list({id(server): server for server in servers}.values()), share_ids)
        return {snapshot_id: provider_location(snapshot_id) for snapshot_id in share_ids}

    def _take(self, protocol_servers: Sequence[ProtocolServer], share_ids: Mapping[str, str]) -> None:
        pool = self._storage.btrfs
        # One group at a time: the first to finish would resume servers that must stand still for another group.
        with quiesce.turn(pool.root) as turn:
            for protocol_server in protocol_servers:
                protocol_server.server.restart_if_dead()  # a dead server must not come up while the others stand still
            pool.prepare_snapshots(share_ids)
            with quiesce.still(
                [process for server in protocol_servers for process in server.servers()], turn
            ):
                for snapshot_id, share_id in share_ids.items():
                    pool.draft_snapshot(snapshot_id, share_id)
            pool.keep_drafts(share_ids)
