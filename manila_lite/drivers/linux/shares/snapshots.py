# SPDX-License-Identifier: Apache-2.0
"""Snapshots of shares, and their exports."""

import dataclasses
from collections.abc import Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.protocols import quiesce
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.shares.access import serve
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.host.ids import vet_id


def provider_location(snapshot_id: str) -> str:
    """Return the location of a snapshot in its pool, for the database."""
    return f'/{SNAPSHOTS}/{snapshot_id}'


class Snapshots(ShareService):
    """The snapshots of one backend."""

    def create(self, snapshot: values.Snapshot) -> str:
        """Take a read-only snapshot; it takes no time and no space. Returns its provider location."""
        vet_id(snapshot.id)
        self._storage.require(snapshot.share)
        self._storage.btrfs.take_snapshot(snapshot.id, snapshot.share.id)
        return provider_location(snapshot.id)

    def create_group(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str]:
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

    def delete(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot with its export and its mount."""
        vet_id(snapshot.id)
        with self._storage.exclusive(snapshot.id):
            self._exports.forget(snapshot.share, snapshot.id)
            if snapshot.id not in self._storage.btrfs.unmanaged_snapshots:
                self._storage.btrfs.delete_snapshot(snapshot.id)

    def serve(self, snapshot: values.Snapshot, rules: Sequence[values.AccessRule]) -> values.ServedSnapshot:
        """Mount and export the snapshot like a share."""
        vet_id(snapshot.id)
        self._exports.vet(snapshot.share)
        with self._storage.exclusive(snapshot.id):
            path = self._storage.snapshot_path(snapshot.id)
            if path is None:
                raise errors.Final(f'Snapshot {snapshot.id} is not in the pool.')
            results = serve(self._exports.protocol_server_of(snapshot.share), snapshot.id, path, rules)
        as_share = dataclasses.replace(snapshot.share, id=snapshot.id, mount_point_name=None)
        return values.ServedSnapshot(tuple(self._exports.locations(as_share)), results)
