# SPDX-License-Identifier: Apache-2.0
"""Backups of this backend's shares: rsync copies files between the pool and an export of the operator's.

What is copied there is a snapshot, so it is of one moment; a plain directory has none, and is copied as it is.
"""

from collections.abc import Callable
from pathlib import Path

from manila_lite import kinds
from manila_lite.drivers.linux import btrfs
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.copies import BacksUpByCopies, Copies, names_in
from manila_lite.drivers.linux.pool import Pool


class Backups(Copies):
    """Copies of shares of the pool. ``need`` raises ``errors.Final`` for a share that is not in it."""

    def __init__(self, pool: Pool, state: Path, need: Callable[[kinds.Share], None]):
        super().__init__(state)
        self._pool = pool
        self._need = need

    def readable(self, share: kinds.Share, backup: kinds.Backup) -> Path:
        """See ``Copies``. On btrfs as the share was when the copy began."""
        self._need(share)
        source = self._pool.share(share.id)
        if not isinstance(self._pool, BtrfsPool):
            return source
        taken = self._taken(backup.id)
        if not taken.exists():
            taken.parent.mkdir(exist_ok=True)
            btrfs.snapshot(source, taken, read_only=True)
        return taken

    def writable(self, share: kinds.Share, backup: kinds.Backup) -> Path:
        """See ``Copies``."""
        self._need(share)
        return self._pool.share(share.id)

    def let_go(self, backup_id: str) -> None:
        """See ``Copies``."""
        if isinstance(self._pool, BtrfsPool):
            btrfs.sync(self._pool.root)
            btrfs.delete(self._taken(backup_id))

    def kept(self) -> frozenset[str]:
        """See ``Copies``."""
        return names_in(self._pool.root / 'backups') if isinstance(self._pool, BtrfsPool) else frozenset()

    def _taken(self, backup_id: str) -> Path:
        return self._pool.root / 'backups' / backup_id


class LinuxBackups(BacksUpByCopies):
    """The part of the driver that backs shares up."""

    copies: Backups
