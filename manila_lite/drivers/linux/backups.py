# SPDX-License-Identifier: Apache-2.0
"""Backups of this backend's shares: rsync copies files between the pool and an export that the operator provides.

On btrfs a backup is copied from a snapshot, so it shows one moment. A restore goes to a subvolume that no client
mounts, which replaces the share when it is complete. A plain directory supports neither: there, clients can be at work
meanwhile.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from manila_lite import kinds
from manila_lite.drivers.linux import beside
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.copies import BacksUpByCopies, Copies, names_in
from manila_lite.drivers.linux.pool import Pool


class Backups(Copies):
    """Copies of shares of the pool.

    ``need`` raises ``errors.Final`` for a share that is not in the pool; ``swap`` replaces the share by a subvolume.
    """

    def __init__(self, pool: Pool, state: Path, need: Callable[[kinds.Share], None], swap: Callable[[kinds.Share, Path], None]):
        super().__init__(state)
        self._pool = pool
        self._need = need
        self._swap = swap
        self.in_place = not isinstance(pool, BtrfsPool)

    def readable(self, share: kinds.Share, backup: kinds.Backup) -> Path:
        """See ``Copies``. On btrfs the share as it was when the copy began."""
        self._need(share)
        if isinstance(self._pool, BtrfsPool):
            return beside.take(self._pool, backup.id, share.id)
        return self._pool.share(share.id)

    def writable(self, share: kinds.Share, backup: kinds.Backup) -> Path:
        """See ``Copies``. On btrfs a snapshot of the share: data that is the same in the backup takes no space."""
        self._need(share)
        if isinstance(self._pool, BtrfsPool):
            return beside.draft(self._pool, backup.id, share.id, share.size)
        return self._pool.share(share.id)

    def land(self, share: kinds.Share, backup: kinds.Backup) -> None:
        """See ``Copies``. On btrfs the share is not exported for a moment, and then has its previous rules."""
        if isinstance(self._pool, BtrfsPool):
            place = beside.at(self._pool, backup.id)
            if place.exists():
                beside.vet(self._pool, backup.id, share.size)
            self._swap(share, place)

    def let_go(self, backup_id: str) -> None:
        """See ``Copies``."""
        if isinstance(self._pool, BtrfsPool):
            beside.drop(self._pool, backup_id)

    def kept(self) -> frozenset[str]:
        """See ``Copies``."""
        return names_in(beside.folder(self._pool)) if isinstance(self._pool, BtrfsPool) else frozenset()


class LinuxBackups(BacksUpByCopies):
    """The part of the driver that backs up shares."""

    copies: Backups

    def _swap_in(self, share: kinds.Share, place: Path) -> None:
        """Replace the share by the subvolume at ``place``, if there is one, and export it with its previous rules."""
        ident, pool = share.id, self._btrfs
        outlet = self._outlet_of(share)
        with self._alone(ident):
            if place.exists():
                outlet.withdraw(ident)
                pool.swap_in(ident, place, share.size)
                self._ensuring.sized(ident, share.size)
            outlet.serve_again(ident, pool.share(ident))
        pool.purge(ident)

    # Defined by the driver class.
    _btrfs: Any
    _ensuring: Any
    _alone: Any
    _outlet_of: Any
