# SPDX-License-Identifier: Apache-2.0
"""A btrfs file system as a pool: each share is a subvolume with its own limit."""

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux.pool import base, btrfs
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed, run

#: Further tries to mount an image, and the seconds between them.
_TRIES, _PAUSE = 10, 0.3


class BtrfsPool(base.Pool):
    """A pool whose file system is in an image file, mounted through a loop device, or on a block device."""

    CAPABLE = True

    def __init__(self, root: Path, source: Path, size: int):
        super().__init__(root)
        self._source = source
        self._size = size

    def open(self) -> None:
        """Create the file system if necessary, mount it, and turn on the counting of usage."""
        on_device = self._source.is_block_device()
        if not on_device:
            self._make_image()
            self._source.chmod(0o600)       # also a file that an earlier release made
        if not mounts.is_mounted(self.root):
            if on_device:
                self._mount(str(self._source))
            else:
                self._mount_image()
        mounts.make_safe(self.root)
        if not btrfs.has_quota(self.root):
            run('btrfs', 'quota', 'enable', str(self.root))
        for name in ('shares', 'snapshots'):
            (self.root / name).mkdir(exist_ok=True)

    def ensure(self) -> tuple[str, ...]:
        """Mount the file system again, and turn on the counting of usage. A missing file is not made anew.

        :raises CommandFailed: there is no file or device, or no file system on it.
        """
        if not mounts.is_mounted(self.root):
            if not self._source.exists():
                raise CommandFailed(f'{self._source} is not there')
            found = 'The pool was not mounted; it is again.'
        elif not btrfs.has_quota(self.root):
            found = 'The pool did not count what shares hold; it does again.'
        else:
            return ()
        self.open()
        return (found,)

    def _mount(self, device: str) -> None:
        mounts.mount(device, self.root, '-t', 'btrfs', '-o', 'noatime')

    def _mount_image(self) -> None:
        for left in range(_TRIES, -1, -1):
            try:
                self._mount(mounts.attach(self._source))
            except CommandFailed:
                # The kernel may remove a detached loop device just between the lookup and the mount.
                if not left:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    @property
    def _image_draft(self) -> Path:
        return self._source.with_name(self._source.name + '.new')

    def _make_image(self) -> None:
        if self._source.exists():
            return
        self._source.parent.mkdir(parents=True, exist_ok=True)
        draft = self._image_draft
        with draft.open('wb') as image:
            draft.chmod(0o600)
            image.truncate(self._size * base.GIB)
        run('mkfs.btrfs', '--quiet', '--force', str(draft))
        draft.rename(self._source)

    def close(self, *, remove_data: bool = False) -> None:
        """Unmount the pool and free its loop device. Other data on a block device stays."""
        on_device = self._source.is_block_device()
        if remove_data and on_device and mounts.is_mounted(self.root):
            for name in ('shares', 'snapshots', 'backups'):
                for path in (self.root / name).glob('*'):
                    btrfs.delete(path)
            shutil.rmtree(self.root / 'left', ignore_errors=True)
        mounts.unmount(self.root)
        if not on_device:
            mounts.detach(self._source)
            if remove_data:
                self._source.unlink(missing_ok=True)
                self._image_draft.unlink(missing_ok=True)

    def capacity(self) -> tuple[float, float]:
        """Return total and free GiB; for a sparse file, limited by the free space of the file system that it is in.

        :raises CommandFailed: the pool is not mounted; the directory below is on another file system.
        """
        if not mounts.is_mounted(self.root):
            raise CommandFailed(f'{self.root} is not mounted')
        total, free = super().capacity()
        if not self._source.is_block_device():
            host = os.statvfs(self._source)
            lacking = max(0.0, free - host.f_bavail * host.f_frsize / base.GIB)
            total, free = total - lacking, free - lacking
        return total, free

    # Shares -----------------------------------------------------------------------------------

    def _draft(self, ident: str) -> Path:
        return self.root / 'shares' / f'.{ident}.new'

    def _old(self, ident: str) -> Path:
        return self.root / 'shares' / f'.{ident}.old'

    def recover(self, ident: str) -> None:
        """Finish or undo a swap that died half way, and delete its leftovers."""
        share, draft, old = self.share(ident), self._draft(ident), self._old(ident)
        if not share.exists() and old.exists():
            (draft if draft.exists() else old).rename(share)
        btrfs.delete(draft)
        btrfs.delete(old)

    def create(self, ident: str, size: int) -> None:
        """Create an empty subvolume with a limit of ``size`` GiB."""
        self.recover(ident)
        if self.share(ident).exists():
            return
        draft = self._draft(ident)
        btrfs.create(draft)
        draft.chmod(0o777)
        btrfs.limit(self.root, draft, size * base.GIB)
        draft.rename(self.share(ident))

    def clone(self, ident: str, snapshot: str, size: int) -> None:
        """Create a share from the snapshot, with a limit of ``size`` GiB."""
        self.recover(ident)
        if not self.share(ident).exists():
            self._from_snapshot(ident, snapshot, size).rename(self.share(ident))

    def _from_snapshot(self, ident: str, snapshot: str, size: int) -> Path:
        source = self.snapshot(snapshot)
        if not source.exists() or snapshot in self.unmanaged_snapshots:
            raise errors.Final(f'Snapshot {snapshot} is not in the pool.')
        return self._writable(ident, source, size)

    def _writable(self, ident: str, source: Path, size: int) -> Path:
        draft = self._draft(ident)
        btrfs.snapshot(source, draft)
        btrfs.limit(self.root, draft, size * base.GIB)
        return draft

    def keep(self, ident: str, source: Path, size: int) -> None:
        """Create a share from the subvolume ``source``, with a limit of ``size`` GiB."""
        self.recover(ident)
        if not self.share(ident).exists():
            self._writable(ident, source, size).rename(self.share(ident))

    def prepare_revert(self, ident: str, snapshot: str, size: int) -> None:
        """Prepare a copy of the snapshot beside the share, with a limit of ``size`` GiB, for ``swap``.

        :raises errors.Final: the snapshot is not in the pool.
        """
        self.recover(ident)
        self._from_snapshot(ident, snapshot, size)

    def prepare(self, ident: str, source: Path, size: int) -> None:
        """Prepare a copy of the subvolume ``source`` beside the share, with a limit of ``size`` GiB, for ``swap``."""
        self.recover(ident)
        self._writable(ident, source, size)

    def swap(self, ident: str) -> None:
        """Replace the share by the prepared copy. The share must not be mounted."""
        self.share(ident).rename(self._old(ident))
        self._draft(ident).rename(self.share(ident))

    def swap_in(self, ident: str, place: Path, size: int) -> None:
        """Replace the share by the subvolume at ``place``, with a limit of ``size`` GiB. The share must not be mounted."""
        self.recover(ident)
        btrfs.limit(self.root, place, size * base.GIB)
        self.share(ident).rename(self._old(ident))
        place.rename(self.share(ident))

    def purge(self, ident: str) -> None:
        """Delete the subvolume that a swap replaced, and the one that was discarded."""
        btrfs.delete(self._old(ident))
        btrfs.delete(self._gone(ident))

    def resize(self, ident: str, size: int) -> None:
        """Set the share's limit to ``size`` GiB."""
        btrfs.limit(self.root, self.share(ident), size * base.GIB)

    def ensure_limit(self, ident: str, size: int, stands: int | None = None) -> tuple[str, ...]:
        """Enforce ``size`` GiB, and make the share writable. Returns the repairs in words.

        If the share holds more, writes fail until space is free. A limit of ``stands`` GiB is accepted too.
        """
        thawed = self._thaw(ident)
        found = btrfs.limit_of(self.root, self.share(ident))
        if found is not None and found in (size * base.GIB, (stands or size) * base.GIB):
            return thawed
        self.resize(ident, size)
        was = 'no limit' if found is None else f'{found / base.GIB:g} GiB'
        return (*thawed, f'The size that is enforced was {was}; it is {size} GiB.')

    def freeze(self, ident: str) -> None:
        """Make the share read-only for all clients."""
        btrfs.set_read_only(self.share(ident), True)

    def _thaw(self, ident: str) -> tuple[str, ...]:
        if not btrfs.is_read_only(self.share(ident)):
            return ()
        btrfs.set_read_only(self.share(ident), False)
        return ('A replica was to take its place, so it could only be read; it can be written to again.',)

    def used(self, ident: str) -> int:
        """Return how many bytes the share holds now."""
        return self._used(self.share(ident))

    def measure(self, place: Path) -> tuple[int | None, int | None]:
        """Return the subvolume's limit in bytes, or None, and how many bytes it holds now."""
        return btrfs.limit_of(self.root, place), self._used(place)

    def _used(self, place: Path) -> int:
        if not btrfs.has_exact_quota(self.root):
            run('btrfs', 'quota', 'rescan', '-w', str(self.root))
        btrfs.sync(self.root)
        return btrfs.used(self.root, place)

    # Snapshots --------------------------------------------------------------------------------

    def snapshot(self, ident: str) -> Path:
        """Return the path of a snapshot."""
        return self.root / 'snapshots' / ident

    def take_snapshot(self, ident: str, share: str) -> None:
        """Take a read-only snapshot of the share."""
        if not self.snapshot(ident).exists():
            btrfs.snapshot(self.share(share), self.snapshot(ident), read_only=True)

    def _snapshot_draft(self, ident: str) -> Path:
        return self.root / 'snapshots' / f'.{ident}.new'

    def prepare_snapshots(self, idents: Iterable[str]) -> None:
        """Delete leftovers of these snapshots, and sync the pool so that little has to be written when they are taken."""
        for ident in idents:
            self.delete_snapshot(ident)
        btrfs.sync(self.root)

    def draft_snapshot(self, ident: str, share: str) -> None:
        """Take a read-only snapshot under a draft name."""
        btrfs.snapshot(self.share(share), self._snapshot_draft(ident), read_only=True)

    def keep_drafts(self, idents: Iterable[str]) -> None:
        """Give the drafts the names of the snapshots."""
        for ident in idents:
            self._snapshot_draft(ident).rename(self.snapshot(ident))

    def keep_snapshot(self, ident: str, source: Path) -> None:
        """Make a read-only copy of the subvolume the snapshot."""
        if not self.snapshot(ident).exists():
            btrfs.snapshot(source, self.snapshot(ident), read_only=True)

    def delete_snapshot(self, ident: str) -> None:
        """Delete the snapshot and its draft."""
        btrfs.delete(self._snapshot_draft(ident))
        btrfs.delete(self.snapshot(ident))
