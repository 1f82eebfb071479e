# SPDX-License-Identifier: Apache-2.0
"""Backups of this backend's shares: rsync copies files between the pool and an export that the operator provides.

On btrfs a backup is copied from a snapshot, so it shows one moment. A restore goes to a subvolume that no client
mounts, which replaces the share when it is complete. A plain directory supports neither: there, clients can be at work
meanwhile.
"""

from pathlib import Path

from manila_lite import values
from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.linux.backups import private_copies
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.shares.shares import Shares
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.host_copy.copies import names_in


class ShareBackups(BackupJobs):
    """Copies of shares of the pool to and from backups."""

    def __init__(self, state_dir: Path, storage: Storage, shares: Shares):
        super().__init__(state_dir)
        self._storage = storage
        self._pool = storage.pool
        self._shares = shares
        self.in_place = not isinstance(self._pool, BtrfsPool)

    def readable(self, share: values.Share, backup: values.Backup) -> Path:
        """See ``BackupJobs``. On btrfs the share as it was when the copy began."""
        self._storage.require(share)
        if isinstance(self._pool, BtrfsPool):
            return private_copies.take(self._pool, backup.id, share.id)
        return self._pool.share(share.id)

    def writable(self, share: values.Share, backup: values.Backup) -> Path:
        """See ``BackupJobs``. On btrfs a snapshot of the share: data that is the same in the backup takes no space."""
        self._storage.require(share)
        if isinstance(self._pool, BtrfsPool):
            return private_copies.draft(self._pool, backup.id, share.id, share.size)
        return self._pool.share(share.id)

    def land(self, share: values.Share, backup: values.Backup) -> None:
        """See ``BackupJobs``. On btrfs the share is not exported for a moment, and then has its previous rules."""
        if isinstance(self._pool, BtrfsPool):
            path = private_copies.at(self._pool, backup.id)
            if path.exists():
                private_copies.vet(self._pool, backup.id, share.size)
            self._shares.replace(share, path)
            btrfs.sync(self._pool.root)  # also the files that the copy has just written

    def release(self, backup_id: str) -> None:
        if isinstance(self._pool, BtrfsPool):
            private_copies.drop(self._pool, backup_id)

    def kept(self) -> frozenset[str]:
        return (
            names_in(private_copies.folder(self._pool)) if isinstance(self._pool, BtrfsPool) else frozenset()
        )
