# SPDX-License-Identifier: Apache-2.0
"""What a place for shares must do.

A share's directory appears under its name only when it is complete: it is made under another name and
renamed, so that a call which died half way can simply be repeated. It vanishes by a rename, too.
"""

import abc
import os
from pathlib import Path

from manila_lite.drivers.linux.left import SHARES, SNAPSHOTS, Left

GIB = 1 << 30


class Pool(abc.ABC):
    """Directories of shares below ``root``."""

    #: Whether sizes are enforced, and snapshots, clones and reverts work.
    CAPABLE: bool

    def __init__(self, root: Path):
        self.root = root
        #: What we let go of.
        self.left_shares, self.left_snapshots = Left(root, SHARES), Left(root, SNAPSHOTS)

    @abc.abstractmethod
    def open(self) -> None:
        """The pool is mounted and can be used.

        :raises CommandFailed: it cannot.
        """

    @abc.abstractmethod
    def ensure(self) -> tuple[str, ...]:
        """The pool is mounted and can be used as before; nothing is made. Returns in words what was amiss.

        :raises CommandFailed: what it is on is not there, or cannot be mounted.
        """

    @abc.abstractmethod
    def close(self, *, remove_data: bool = False) -> None:
        """The pool is not mounted any more; with ``remove_data`` nothing is left of what was in it."""

    def share(self, ident: str) -> Path:
        """Return where a share is."""
        return self.root / 'shares' / ident

    def _gone(self, ident: str) -> Path:
        """Return where a share is from ``discard`` to ``purge``."""
        return self.root / 'shares' / f'.{ident}.gone'

    def capacity(self) -> tuple[float, float]:
        """Return total and free GiB."""
        found = os.statvfs(self.root)
        return found.f_blocks * found.f_frsize / GIB, found.f_bavail * found.f_frsize / GIB

    def recover(self, ident: str) -> None:
        """Whatever died half way before the share was complete, or between two names of it, is finished or undone."""

    @abc.abstractmethod
    def create(self, ident: str, size: int) -> None:
        """An empty share of ``size`` GiB exists."""

    def ensure_limit(self, ident: str, size: int, stands: int | None = None) -> tuple[str, ...]:
        """The share can hold ``size`` GiB, or ``stands`` as it does, where sizes are enforced. Returns what was amiss."""
        return ()

    @abc.abstractmethod
    def measure(self, place: Path) -> tuple[int | None, int | None]:
        """Return the bytes that a directory of the pool can hold, and those that it holds; nothing where nobody counts."""

    def discard(self, ident: str) -> None:
        """The share is not there any more. Takes no time; ``purge`` frees its space."""
        self.recover(ident)
        if self.share(ident).exists():
            self.purge(ident)
            self.share(ident).rename(self._gone(ident))

    @abc.abstractmethod
    def purge(self, ident: str) -> None:
        """The space of a discarded share is free."""
