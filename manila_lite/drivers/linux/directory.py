# SPDX-License-Identifier: Apache-2.0
"""A plain directory as a pool: it serves, but limits nothing and keeps no snapshots.

It is served over CIFS only. A client of NFS names files by handles, and those of a plain directory lead to the whole file
system that it is in, that of the host perhaps. See guard.py.
"""

import contextlib
import shutil
from pathlib import Path

from manila_lite.drivers.linux import pool, trees
from manila_lite.drivers.linux.run import CommandFailed


class Directory(pool.Pool):
    """Shares are directories of whatever file system there is."""

    CAPABLE = False

    def open(self) -> None:
        """The directory exists."""
        (self.root / 'shares').mkdir(parents=True, exist_ok=True)
        (self.root / 'shares').chmod(0o700)     # clients come by mounts of the shares

    def ensure(self) -> tuple[str, ...]:
        """The directory is there, or it is not ours to say what it held.

        :raises CommandFailed: it is not.
        """
        if not (self.root / 'shares').is_dir():
            raise CommandFailed(f'{self.root} is not the directory that it was; is something to be mounted there?')
        return ()

    def close(self, *, remove_data: bool = False) -> None:
        """Nothing was mounted."""
        if remove_data:
            with contextlib.suppress(CommandFailed, OSError):
                trees.remove(self.root / 'shares')
            shutil.rmtree(self.root / 'left', ignore_errors=True)

    def create(self, ident: str, size: int) -> None:
        """An empty directory exists."""
        self.share(ident).mkdir(exist_ok=True)
        self.share(ident).chmod(0o777)

    def measure(self, place: Path) -> tuple[int | None, int | None]:
        """Nobody counts."""
        return None, None

    def purge(self, ident: str) -> None:
        """What was in the directory is gone."""
        trees.remove(self._gone(ident))
