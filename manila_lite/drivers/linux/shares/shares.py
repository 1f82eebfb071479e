# SPDX-License-Identifier: Apache-2.0
"""Creation, deletion, resizing and replacement of shares."""

from collections.abc import Callable, Sequence
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.host.ids import vet_id


class Shares(ShareService):
    """The shares of one backend."""

    def create(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create an empty share, mounted and exported without access rules."""
        return self._make(share, lambda: self._storage.pool.create(share.id, share.size))

    def create_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot
    ) -> Sequence[values.ExportLocation]:
        """Create a share with the snapshot's content; no data is copied."""
        vet_id(snapshot.id)
        return self._make(share, lambda: self._storage.btrfs.clone(share.id, snapshot.id, share.size))

    def _make(self, share: values.Share, make: Callable[[], None]) -> Sequence[values.ExportLocation]:
        self._exports.vet(share)
        with self._storage.exclusive(share.id):
            protocol_server = self._exports.protocol_server_of(share)
            self._qos.limit_new(share)
            make()
            protocol_server.serve(share.id, self._storage.pool.share(share.id), (), share.mount_point_name)
        return self._exports.locations(share)

    def delete(self, share: values.Share) -> None:
        """Delete the export, the mount and the data; a busy mount goes when its last user ends."""
        vet_id(share.id)
        pool = self._storage.pool
        with self._storage.exclusive(share.id):
            self._exports.forget(share)
            if share.id in pool.unmanaged_shares:  # unmanaged shares are not deleted
                return
            pool.discard(share.id)
        self._sizes.forget(share.id)
        pool.purge(share.id)

    def extend(self, share: values.Share, new_size: int) -> None:
        """Raise the limit to ``new_size`` GiB; clients that have the share mounted can use it at once."""
        self._storage.require(share)
        self._resize(share.id, new_size)

    def shrink(self, share: values.Share, new_size: int) -> None:
        """Lower the limit to ``new_size`` GiB. The kernel would accept a limit below the usage, so that is refused
        here.
        """
        self._storage.require(share)
        used = self._storage.btrfs.used(self._storage.pool.share(share.id))
        if used > new_size * GIB:
            raise errors.RefusedShrink(
                f'The share holds {used / GIB:.2f} GiB, more than the {new_size} GiB asked for.'
            )
        self._resize(share.id, new_size)

    def _resize(self, share_id: str, size: int) -> None:
        self._storage.btrfs.resize(share_id, size)
        self._sizes.remember(share_id, size)

    def revert(self, snapshot: values.Snapshot) -> None:
        """Replace the share's data by the snapshot's. The share is not exported for a moment, and then has its previous
        rules.
        """
        share = snapshot.share
        vet_id(snapshot.id)
        self._exports.vet(share)
        self._storage.require(share)
        protocol_server, pool = self._exports.protocol_server_of(share), self._storage.btrfs
        pool.prepare_revert(share.id, snapshot.id, share.size)
        with self._storage.exclusive(share.id):
            protocol_server.withdraw(share.id)
            pool.swap(share.id)
            self._sizes.remember(share.id, share.size)
            protocol_server.serve_again(share.id, pool.share(share.id))
        pool.purge(share.id)

    def replace(self, share: values.Share, path: Path) -> None:
        """Replace the share by the subvolume at ``path``, if there is one, and export it with its previous rules."""
        pool = self._storage.btrfs
        protocol_server = self._exports.protocol_server_of(share)
        with self._storage.exclusive(share.id):
            if path.exists():
                protocol_server.withdraw(share.id)
                pool.swap_in(share.id, path, share.size)
                self._sizes.remember(share.id, share.size)
            protocol_server.serve_again(share.id, pool.share(share.id))
        pool.purge(share.id)
