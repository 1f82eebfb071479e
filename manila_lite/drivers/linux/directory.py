# SPDX-License-Identifier: Apache-2.0
"""A plain directory as a pool: it serves, but limits nothing and keeps no snapshots."""

import shutil

from manila_lite.drivers.linux import pool


class Directory(pool.Pool):
    """Shares are directories of whatever file system there is."""

    CAPABLE = False

    def open(self) -> None:
        """The directory exists."""
        (self.root / 'shares').mkdir(parents=True, exist_ok=True)

    def close(self, *, remove_data: bool = False) -> None:
        """Nothing was mounted."""
        if remove_data:
            shutil.rmtree(self.root / 'shares', ignore_errors=True)

    def create(self, ident: str, size: int) -> None:
        """An empty directory exists."""
        self.share(ident).mkdir(exist_ok=True)
        self.share(ident).chmod(0o777)

    def purge(self, ident: str) -> None:
        """What was in the directory is gone."""
        if self._gone(ident).exists():
            shutil.rmtree(self._gone(ident))
