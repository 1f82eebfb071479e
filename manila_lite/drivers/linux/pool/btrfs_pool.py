# SPDX-License-Identifier: Apache-2.0
"""A btrfs file system as a pool: each share is a subvolume with its own limit."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux.failover import mark
from manila_lite.drivers.linux.pool import base, btrfs, default_acl
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
        self._image_draft = source.with_name(f'{source.name}.new')
        self._size = size

    def open(self) -> None:
        on_device = self._source.is_block_device()
        if on_device:
            self._vet_device()
        else:
            self._make_image()
            self._source.chmod(0o600)  # also a file that an earlier release made
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

    def _vet_device(self) -> None:
        """Check that no other host may mount the device.

        :raises CommandFailed: backends with several hosts have marked it.
        """
        if mark.is_marked(self._source):
            raise CommandFailed(
                f'{self._source} belongs to a backend with several hosts: set linux_pool_fence as on the '
                f'others. If there are none any more, erase its mark: {mark.erasing(self._source)}'
            )

    def ensure(self) -> tuple[str, ...]:
        """Mount the file system again, and turn on the counting of usage. A missing file is not made anew.

        :raises CommandFailed: there is no file or device, or no file system on it.
        """
        if not mounts.is_mounted(self.root):
            if not self._source.exists():
                raise CommandFailed(f'{self._source} is not there')
            repair = 'The pool was not mounted; it is again.'
        elif not btrfs.has_quota(self.root):
            repair = 'The pool did not measure the space of shares; it does again.'
        else:
            return ()
        self.open()
        return (repair,)

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

    def _make_image(self) -> None:
        if self._source.exists():
            return
        self._source.parent.mkdir(parents=True, exist_ok=True)
        draft = self._image_draft
        draft.unlink(missing_ok=True)
        with draft.open('xb') as image:
            draft.chmod(0o600)
            image.truncate(self._size * base.GIB)
        run('mkfs.btrfs', '--quiet', '--force', str(draft))
        draft.rename(self._source)

    def close(self) -> None:
        """Unmount the pool and free its loop device."""
        mounts.unmount(self.root)
        if not self._source.is_block_device():
            mounts.detach(self._source)

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

    def _draft(self, share_id: str) -> Path:
        return self.root / 'shares' / f'.{share_id}.new'

    def _old(self, share_id: str) -> Path:
        return self.root / 'shares' / f'.{share_id}.old'

    def recover(self, share_id: str) -> None:
        share, draft, old = self.share(share_id), self._draft(share_id), self._old(share_id)
        if not share.exists() and old.exists():
            (draft if draft.exists() else old).rename(share)
        btrfs.delete(draft)
        btrfs.delete(old)

    def create(self, share_id: str, size: int) -> None:
        self.recover(share_id)
        if self.share(share_id).exists():
            return
        draft = self._draft(share_id)
        btrfs.create(draft)
        draft.chmod(0o777)
        btrfs.limit(self.root, draft, size * base.GIB)
        draft.rename(self.share(share_id))

    def clone(self, share_id: str, snapshot_id: str, size: int) -> None:
        """Create a share from the snapshot, with a limit of ``size`` GiB."""
        self.recover(share_id)
        if not self.share(share_id).exists():
            self.prepare_revert(share_id, snapshot_id, size)
            self._draft(share_id).rename(self.share(share_id))

    def _writable(self, share_id: str, source: Path, size: int) -> Path:
        draft = self._draft(share_id)
        btrfs.snapshot(source, draft)
        btrfs.limit(self.root, draft, size * base.GIB)
        return draft

    def keep(self, share_id: str, source: Path, size: int) -> None:
        """Create a share from the received subvolume ``source``, with a limit of ``size`` GiB."""
        self.recover(share_id)
        if not self.share(share_id).exists():
            self.prepare(share_id, source, size)
            self._draft(share_id).rename(self.share(share_id))

    def prepare_revert(self, share_id: str, snapshot_id: str, size: int) -> None:
        """Prepare a copy of the snapshot beside the share, with a limit of ``size`` GiB, for ``swap``.

        :raises errors.Final: the snapshot is not in the pool.
        """
        self.recover(share_id)
        source = self.snapshot(snapshot_id)
        if not source.exists() or snapshot_id in self.unmanaged_snapshots:
            raise errors.Final(f'Snapshot {snapshot_id} is not in the pool.')
        self._writable(share_id, source, size)

    def prepare(self, share_id: str, source: Path, size: int) -> None:
        """Prepare a copy of the received subvolume ``source`` beside the share, with a limit of ``size`` GiB, for ``swap``."""
        self.recover(share_id)
        default_acl.give_back(self._writable(share_id, source, size))

    def swap(self, share_id: str) -> None:
        """Replace the share by the prepared copy. The share must not be mounted."""
        self.share(share_id).rename(self._old(share_id))
        self._draft(share_id).rename(self.share(share_id))

    def swap_in(self, share_id: str, path: Path, size: int) -> None:
        """Replace the share by the subvolume at ``place``, with a limit of ``size`` GiB. The share must not be mounted."""
        self.recover(share_id)
        btrfs.limit(self.root, path, size * base.GIB)
        self.share(share_id).rename(self._old(share_id))
        path.rename(self.share(share_id))

    def purge(self, share_id: str) -> None:
        """Delete the subvolume that a swap replaced, and the one that was discarded."""
        btrfs.delete(self._old(share_id))
        btrfs.delete(self._gone(share_id))

    def commit(self) -> None:
        btrfs.commit(self.root)

    def resize(self, share_id: str, size: int) -> None:
        btrfs.limit(self.root, self.share(share_id), size * base.GIB)

    def ensure_limit(self, share_id: str, size: int, accepted: int | None = None) -> tuple[str, ...]:
        """Enforce ``size`` GiB, and make the share writable. Returns the repairs in words.

        If the share holds more, writes fail until space is free. A limit of ``accepted`` GiB is accepted too.
        """
        thawed = self._thaw(share_id)
        difference = self.limit_difference(share_id, size, accepted)
        if not difference:
            return thawed
        self.resize(share_id, size)
        return (*thawed, difference)

    def limit_difference(self, share_id: str, size: int, accepted: int | None = None) -> str:
        limit = btrfs.limit_of(self.root, self.share(share_id))
        if limit is not None and limit in (size * base.GIB, (accepted or size) * base.GIB):
            return ''
        was = 'no limit' if limit is None else f'{limit / base.GIB:g} GiB'
        return f'The size that is enforced was {was}; it is {size} GiB.'

    def freeze(self, share_id: str) -> None:
        """Make the share read-only for all clients."""
        btrfs.set_read_only(self.share(share_id), True)

    def _thaw(self, share_id: str) -> tuple[str, ...]:
        if not btrfs.is_read_only(self.share(share_id)):
            return ()
        btrfs.set_read_only(self.share(share_id), False)
        return ('A replica was to take its place, so it could only be read; it can be written to again.',)

    def measure(self, path: Path) -> tuple[int | None, int | None]:
        return btrfs.limit_of(self.root, path), self.used(path)

    def used(self, path: Path) -> int:
        """Return how many bytes the subvolume holds now."""
        if not btrfs.has_exact_quota(self.root):
            run('btrfs', 'quota', 'rescan', '-w', str(self.root))
        btrfs.sync(self.root)
        return btrfs.used(self.root, path)

    # Snapshots --------------------------------------------------------------------------------

    def snapshot(self, snapshot_id: str) -> Path:
        return self.root / 'snapshots' / snapshot_id

    def take_snapshot(self, snapshot_id: str, share_id: str) -> None:
        if not self.snapshot(snapshot_id).exists():
            btrfs.snapshot(self.share(share_id), self.snapshot(snapshot_id), read_only=True)

    def _snapshot_draft(self, snapshot_id: str) -> Path:
        return self.root / 'snapshots' / f'.{snapshot_id}.new'

    def prepare_snapshots(self, snapshot_ids: Iterable[str]) -> None:
        """Delete leftovers of these snapshots, and sync the pool so that little has to be written when they are taken."""
        for snapshot_id in snapshot_ids:
            self.delete_snapshot(snapshot_id)
        btrfs.sync(self.root)

    def draft_snapshot(self, snapshot_id: str, share_id: str) -> None:
        btrfs.snapshot(self.share(share_id), self._snapshot_draft(snapshot_id), read_only=True)

    def keep_drafts(self, snapshot_ids: Iterable[str]) -> None:
        for snapshot_id in snapshot_ids:
            self._snapshot_draft(snapshot_id).rename(self.snapshot(snapshot_id))

    def keep_snapshot(self, snapshot_id: str, source: Path) -> None:
        """Make a read-only copy of the received subvolume the snapshot."""
        draft = self._snapshot_draft(snapshot_id)
        if not self.snapshot(snapshot_id).exists():
            btrfs.delete(draft)
            btrfs.snapshot(source, draft)
            default_acl.give_back(draft)
            btrfs.set_read_only(draft, True)
            draft.rename(self.snapshot(snapshot_id))

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Delete the snapshot and its draft."""
        btrfs.delete(self._snapshot_draft(snapshot_id))
        btrfs.delete(self.snapshot(snapshot_id))
