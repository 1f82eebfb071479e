# SPDX-License-Identifier: Apache-2.0
"""A btrfs pool on a device that other hosts can open, too: its guard mounts it, on one host at a time."""

from pathlib import Path

from manila_lite.drivers.linux.failover.keeper import Keeper
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed

_GUARDED_AGAIN = 'The pool had no guard; it has one again.'


class SharedPool(BtrfsPool):
    """A pool of which only the host with the lease of the backend has anything mounted."""

    def __init__(self, root: Path, device: Path, size: int, keeper: Keeper):
        super().__init__(root, device, size)
        self._keeper = keeper

    def open(self) -> None:
        """Have the guard mount the pool, once no other host has it.

        :raises CommandFailed: another host has it, or cannot be fenced; or the pool has several devices.
        """
        self._keeper.acquire()
        if (count := btrfs.devices(self.root)) > 1:
            self._keeper.release()
            raise CommandFailed(f'its btrfs spans {count} devices; a pool with linux_pool_fence has one')
        with self._keeper.change():
            super().open()

    def _vet_device(self) -> None:
        """Accept the mark: it is that of the guard, which has judged an earlier one."""

    def _mount(self, device: str) -> None:
        raise CommandFailed(f'the guard of the pool on {device} has just let go of it')

    def ensure(self) -> tuple[str, ...]:
        was_mounted = mounts.is_mounted(self.root)
        again = self._keeper.acquire() and was_mounted
        return (*((_GUARDED_AGAIN,) if again else ()), *super().ensure())

    def close(self) -> None:
        """Let go of the pool."""
        self._keeper.release()
