# SPDX-License-Identifier: Apache-2.0
"""A plain directory as a pool, without limits and without snapshots.

It is served over CIFS only. An NFS client names files by handles, and the handles of a plain directory reach its whole
file system, perhaps that of the host. See ``protocols/handle_guard.py``.
"""

from pathlib import Path

from manila_lite.drivers.linux.pool import base
from manila_lite.host import trees
from manila_lite.host.commands import CommandFailed


class Directory(base.Pool):
    """A pool whose shares are plain directories on any file system."""

    CAPABLE = False

    def open(self) -> None:
        (self.root / 'shares').mkdir(parents=True, exist_ok=True)
        (self.root / 'shares').chmod(0o700)  # clients reach the shares through their own mounts

    def ensure(self) -> tuple[str, ...]:
        """Check that the directory is there. A missing directory is not made anew.

        :raises CommandFailed: it is missing.
        """
        if not (self.root / 'shares').is_dir():
            raise CommandFailed(f'{self.root} is not the directory of the pool; is a mount missing there?')
        return ()

    def create(self, share_id: str, size: int) -> None:
        self.share(share_id).mkdir(exist_ok=True)
        self.share(share_id).chmod(0o777)

    def measure(self, path: Path) -> tuple[int | None, int | None]:
        return None, None

    def purge(self, share_id: str) -> None:
        trees.remove(self._gone(share_id))
