# SPDX-License-Identifier: Apache-2.0
"""The interface of a pool: a file system that holds shares.

A share's directory appears under its name only when it is complete: it is made under another name and renamed, so that
a call which died half way can simply be repeated. It vanishes by a rename, too.
"""

import abc
import os
from pathlib import Path

from manila_lite.drivers.linux.pool.unmanaged import SHARES, SNAPSHOTS, Unmanaged

GIB = 1 << 30


class Pool(abc.ABC):
    """A pool with the directories of its shares below ``root``."""

    #: Whether sizes are enforced, and snapshots, clones and reverts work.
    CAPABLE: bool

    def __init__(self, root: Path):
        self.root = root
        #: Unmanaged shares and snapshots.
        self.unmanaged_shares, self.unmanaged_snapshots = Unmanaged(root, SHARES), Unmanaged(root, SNAPSHOTS)

    @abc.abstractmethod
    def open(self) -> None:
        """Mount the pool and make it ready.

        :raises CommandFailed: it cannot be mounted.
        """

    def limit_difference(self, share_id: str, size: int, accepted: int | None = None) -> str:
        """Return in words that the size that is enforced is neither ``size`` nor ``accepted`` GiB, or ''."""
        return ''

    @abc.abstractmethod
    def ensure(self) -> tuple[str, ...]:
        """Mount the pool again and make it ready; nothing is created. Returns the repairs in words.

        :raises CommandFailed: its file, device or directory is missing, or cannot be mounted.
        """

    def share(self, share_id: str) -> Path:
        return self.root / 'shares' / share_id

    def _gone(self, share_id: str) -> Path:
        """Return the path of a share between ``discard`` and ``purge``."""
        return self.root / 'shares' / f'.{share_id}.gone'

    def capacity(self) -> tuple[float, float]:
        """Return total and free GiB."""
        stats = os.statvfs(self.root)
        return stats.f_blocks * stats.f_frsize / GIB, stats.f_bavail * stats.f_frsize / GIB

    def recover(self, share_id: str) -> None:
        """Finish or undo a change that died before the share was complete, or between two names of it."""

    @abc.abstractmethod
    def create(self, share_id: str, size: int) -> None:
        """Create an empty share of ``size`` GiB."""

    def ensure_limit(self, share_id: str, size: int, accepted: int | None = None) -> tuple[str, ...]:
        """Enforce ``size`` GiB, or keep a limit of ``accepted`` GiB, where sizes are enforced. Returns the repairs in
        words.
        """
        return ()

    @abc.abstractmethod
    def measure(self, path: Path) -> tuple[int | None, int | None]:
        """Return the limit and the usage of a directory of the pool in bytes; None where it is not known."""

    def discard(self, share_id: str) -> None:
        """Make the share vanish. Takes no time; ``purge`` frees its space."""
        self.recover(share_id)
        if self.share(share_id).exists():
            self.purge(share_id)
            self.share(share_id).rename(self._gone(share_id))

    def commit(self) -> None:
        """Write creations, renames and deletions of directories to disk, if the pool can do that without the data of files."""

    @abc.abstractmethod
    def purge(self, share_id: str) -> None:
        """Free the space of a discarded share."""
