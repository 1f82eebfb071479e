# SPDX-License-Identifier: Apache-2.0
"""Where shares live: a btrfs pool with limits and snapshots, or a plain directory with neither.

A share's directory appears under its name only when it is complete: it is made under another name and
renamed, so that a call which died half way can simply be repeated.
"""

import abc
import os
import shutil
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux import btrfs, mounts
from manila_lite.drivers.linux.run import run


class Pool(abc.ABC):
    """Directories of shares below ``root``."""

    #: Whether sizes are enforced, and snapshots, clones and reverts work.
    CAPABLE: bool

    def __init__(self, root: Path):
        self.root = root

    @abc.abstractmethod
    def open(self) -> None:
        """The pool is mounted and can be used."""

    @abc.abstractmethod
    def close(self, *, remove_data: bool = False) -> None:
        """The pool is not mounted any more; with ``remove_data`` it does not exist any more."""

    def share(self, ident: str) -> Path:
        """Return where a share is."""
        return self.root / 'shares' / ident

    def capacity(self) -> tuple[float, float]:
        """Return total and free GiB."""
        found = os.statvfs(self.root)
        return found.f_blocks * found.f_frsize / btrfs.GIB, found.f_bavail * found.f_frsize / btrfs.GIB

    @abc.abstractmethod
    def create(self, ident: str, size: int) -> None:
        """An empty share of ``size`` GiB exists."""

    @abc.abstractmethod
    def delete(self, ident: str) -> None:
        """The share is gone."""


class Directory(Pool):
    """Shares are plain directories: nothing limits or preserves what is in them."""

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

    def delete(self, ident: str) -> None:
        """The directory is gone."""
        if self.share(ident).exists():
            shutil.rmtree(self.share(ident))


class Btrfs(Pool):
    """Shares are subvolumes of a btrfs on a file or a device."""

    CAPABLE = True

    def __init__(self, root: Path, source: Path, size: int):
        super().__init__(root)
        self._source = source
        self._size = size

    def open(self) -> None:
        """The file system exists, is mounted and counts; half-done work of a process that died is tidied up."""
        if not self._source.is_block_device():
            self._make_image()
        if not mounts.is_mounted(self.root):
            device = str(self._source) if self._source.is_block_device() else mounts.attach(self._source)
            mounts.mount(device, self.root, '-o', 'noatime')
        if not btrfs.has_quota(self.root):
            run('btrfs', 'quota', 'enable', str(self.root))
        for name in ('shares', 'snapshots'):
            (self.root / name).mkdir(exist_ok=True)

    def _make_image(self) -> None:
        if self._source.exists():
            return
        self._source.parent.mkdir(parents=True, exist_ok=True)
        draft = self._source.with_name(self._source.name + '.new')
        with draft.open('wb') as image:
            image.truncate(self._size * btrfs.GIB)
        run('mkfs.btrfs', '--quiet', '--force', str(draft))
        draft.rename(self._source)

    def close(self, *, remove_data: bool = False) -> None:
        """The pool is unmounted and its loop device free."""
        mounts.unmount(self.root)
        if not self._source.is_block_device():
            mounts.detach(self._source)
            if remove_data:
                self._source.unlink(missing_ok=True)

    def capacity(self) -> tuple[float, float]:
        """Return total and free GiB; of a sparse file not more than its host can still give."""
        total, free = super().capacity()
        if not self._source.is_block_device():
            host = os.statvfs(self._source)
            free = min(free, host.f_bavail * host.f_frsize / btrfs.GIB)
        return total, free

    # Shares -----------------------------------------------------------------------------------

    def _draft(self, ident: str) -> Path:
        return self.root / 'shares' / f'.{ident}.new'

    def _old(self, ident: str) -> Path:
        return self.root / 'shares' / f'.{ident}.old'

    def recover(self, ident: str) -> None:
        """A swap that died half way is finished or taken back, and leftovers are gone."""
        share, draft, old = self.share(ident), self._draft(ident), self._old(ident)
        if not share.exists() and old.exists():
            (draft if draft.exists() else old).rename(share)
        btrfs.delete(draft)
        btrfs.delete(old)

    def create(self, ident: str, size: int) -> None:
        """An empty subvolume that can hold ``size`` GiB exists."""
        self.recover(ident)
        if self.share(ident).exists():
            return
        draft = self._draft(ident)
        btrfs.create(draft)
        draft.chmod(0o777)
        btrfs.limit(self.root, draft, size * btrfs.GIB)
        draft.rename(self.share(ident))

    def clone(self, ident: str, snapshot: str, size: int) -> None:
        """A subvolume that can hold ``size`` GiB, and holds what the snapshot holds, exists."""
        self.recover(ident)
        if self.share(ident).exists():
            return
        self._from_snapshot(ident, snapshot, size).rename(self.share(ident))

    def _from_snapshot(self, ident: str, snapshot: str, size: int) -> Path:
        source = self.snapshot(snapshot)
        if not source.exists():
            raise errors.Final(f'Snapshot {snapshot} is not in the pool.')
        draft = self._draft(ident)
        btrfs.snapshot(source, draft)
        btrfs.limit(self.root, draft, size * btrfs.GIB)
        return draft

    def revert(self, ident: str, snapshot: str, size: int) -> None:
        """The share holds what the snapshot holds. Nobody may have it mounted meanwhile."""
        self.recover(ident)
        draft = self._from_snapshot(ident, snapshot, size)
        if self.share(ident).exists():
            self.share(ident).rename(self._old(ident))
        draft.rename(self.share(ident))
        btrfs.delete(self._old(ident))

    def delete(self, ident: str) -> None:
        """The subvolume is gone."""
        self.recover(ident)
        btrfs.delete(self.share(ident))

    def resize(self, ident: str, size: int) -> None:
        """The share can hold ``size`` GiB."""
        btrfs.limit(self.root, self.share(ident), size * btrfs.GIB)

    def used(self, ident: str) -> int:
        """Return how many bytes the share holds now."""
        btrfs.sync(self.root)
        return btrfs.used(self.root, self.share(ident))

    # Snapshots --------------------------------------------------------------------------------

    def snapshot(self, ident: str) -> Path:
        """Return where a snapshot is."""
        return self.root / 'snapshots' / ident

    def take_snapshot(self, ident: str, share: str) -> None:
        """A read-only copy of the share as it is now exists."""
        if not self.snapshot(ident).exists():
            btrfs.snapshot(self.share(share), self.snapshot(ident), read_only=True)

    def delete_snapshot(self, ident: str) -> None:
        """The snapshot is gone."""
        btrfs.delete(self.snapshot(ident))


def choose(source: Path, kind: str, state: Path, size: int) -> Pool:
    """Return the pool that the options describe."""
    if kind == 'directory' or (kind == 'auto' and source.is_dir()):
        return Directory(source)
    return Btrfs(state / 'pool', source, size)
