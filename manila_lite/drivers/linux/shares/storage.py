# SPDX-License-Identifier: Apache-2.0
"""Access to the shares and snapshots that are in the pool."""

from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.host.ids import vet_id
from manila_lite.host.locks import Locks


class Storage:
    """The managed shares and snapshots of a pool, with a lock for each. Safe for threads."""

    def __init__(self, pool: Pool):
        self.pool = pool
        #: Keeps other threads from changing the name, mount or export of a share or snapshot.
        self.exclusive = Locks().of

    @property
    def btrfs(self) -> BtrfsPool:
        """The pool, for calls that need limits or snapshots.

        :raises errors.Final: the pool is a plain directory.
        """
        if not isinstance(self.pool, BtrfsPool):
            raise errors.Final('A plain directory supports neither size limits nor snapshots.')
        return self.pool

    def share_path(self, share_id: str) -> Path | None:
        """Return the share's path in the pool; None if the share is missing or unmanaged.

        A change of the share that died half way is recovered first.
        """
        if share_id in self.pool.unmanaged_shares:
            return None
        if not self.pool.share(share_id).exists():
            self.pool.recover(share_id)
        return self.pool.share(share_id) if self.pool.share(share_id).exists() else None

    def snapshot_path(self, snapshot_id: str) -> Path | None:
        """Return the snapshot's path in the pool; None if the snapshot is missing or unmanaged."""
        if not isinstance(self.pool, BtrfsPool) or snapshot_id in self.pool.unmanaged_snapshots:
            return None
        path = self.pool.snapshot(snapshot_id)
        return path if path.exists() else None

    def exported_path(self, resource_id: str) -> Path | None:
        """Return the path of a share or a snapshot in the pool, or None."""
        return self.share_path(resource_id) or self.snapshot_path(resource_id)

    def require(self, share: values.Share) -> None:
        """Check that the share is in the pool.

        :raises errors.Final: it is missing.
        """
        vet_id(share.id)
        with self.exclusive(share.id):
            if not self.share_path(share.id):
                raise missing(share.id)


def missing(share_id: str) -> errors.Final:
    """Return the error for a share that is not in the pool."""
    return errors.Final(f'Share {share_id}: its data is not in the pool.')
