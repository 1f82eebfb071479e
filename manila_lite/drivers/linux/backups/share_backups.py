# SPDX-License-Identifier: Apache-2.0
"""Backups of this backend's shares: rsync copies files between the pool and an export that the operator provides.

On btrfs a backup is copied from a snapshot, so it shows one moment. A restore goes to a subvolume that no client
mounts, which replaces the share when it is complete. A plain directory supports neither: there, clients can be at work
meanwhile.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from manila_lite import values
from manila_lite.drivers.linux.backups import private_copies
from manila_lite.drivers.linux.backups.backup_jobs import BackupJobs, BackupJobsDriver, names_in
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool


class Backups(BackupJobs):
    """Copies of shares of the pool.

    ``need`` raises ``errors.Final`` for a share that is not in the pool; ``swap`` replaces the share by a subvolume.
    """

    def __init__(self, pool: Pool, state: Path, need: Callable[[values.Share], None],
                 swap: Callable[[values.Share, Path], None]):
        super().__init__(state)
        self._pool = pool
        self._need = need
        self._swap = swap
        self.in_place = not isinstance(pool, BtrfsPool)

    def readable(self, share: values.Share, backup: values.Backup) -> Path:
        """See ``Copies``. On btrfs the share as it was when the copy began."""
        self._need(share)
        if isinstance(self._pool, BtrfsPool):
            return private_copies.take(self._pool, backup.id, share.id)
        return self._pool.share(share.id)

    def writable(self, share: values.Share, backup: values.Backup) -> Path:
        """See ``Copies``. On btrfs a snapshot of the share: data that is the same in the backup takes no space."""
        self._need(share)
        if isinstance(self._pool, BtrfsPool):
            return private_copies.draft(self._pool, backup.id, share.id, share.size)
        return self._pool.share(share.id)

    def land(self, share: values.Share, backup: values.Backup) -> None:
        """See ``Copies``. On btrfs the share is not exported for a moment, and then has its previous rules."""
        if isinstance(self._pool, BtrfsPool):
            place = private_copies.at(self._pool, backup.id)
            if place.exists():
                private_copies.vet(self._pool, backup.id, share.size)
            self._swap(share, place)

    def let_go(self, backup_id: str) -> None:
        """See ``Copies``."""
        if isinstance(self._pool, BtrfsPool):
            private_copies.drop(self._pool, backup_id)

    def kept(self) -> frozenset[str]:
        """See ``Copies``."""
        return names_in(private_copies.folder(self._pool)) if isinstance(self._pool, BtrfsPool) else frozenset()


class LinuxBackups(BackupJobsDriver):
    """The part of the driver that backs up shares."""

    copies: Backups

    def _swap_in(self, share: values.Share, place: Path) -> None:
        """Replace the share by the subvolume at ``place``, if there is one, and export it with its previous rules."""
        ident, pool = share.id, self._btrfs
        protocol_server = self._protocol_server_of(share)
        with self._alone(ident):
            if place.exists():
                protocol_server.withdraw(ident)
                pool.swap_in(ident, place, share.size)
                self._ensuring.sized(ident, share.size)
            protocol_server.serve_again(ident, pool.share(ident))
        pool.purge(ident)

    # Defined by the driver class.
    _btrfs: Any
    _ensuring: Any
    _alone: Any
    _protocol_server_of: Any
