# SPDX-License-Identifier: Apache-2.0
"""Copies of shares in a btrfs pool that no client reaches: to read from, or to replace the share with.

Each copy is named after its backup's id, so there is at most one of a name.
"""

from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool

#: A draft may grow to twice the share's size, since a file that changes exists twice for a moment. ``vet`` checks the
#: size at the end.
_ROOM = 2
#: Tolerance for the size: the same files take slightly different space in each copy.
_NEAR = 1.02


def folder(pool: BtrfsPool) -> Path:
    return pool.root / 'backups'


def at(pool: BtrfsPool, name: str) -> Path:
    return folder(pool) / name


def take(pool: BtrfsPool, name: str, share_id: str) -> Path:
    """Return a read-only copy of the share, as it was at the first call."""
    path = at(pool, name)
    if not path.exists():
        folder(pool).mkdir(mode=0o700, exist_ok=True)
        btrfs.snapshot(pool.share(share_id), path, read_only=True)
    return path


def draft(pool: BtrfsPool, name: str, share_id: str, size: int) -> Path:
    """Return a writable copy of the share, as it was at the first call. Its limit keeps it from filling the pool."""
    path = at(pool, name)
    if path.exists() and btrfs.is_read_only(path):
        btrfs.delete(path)
    if not path.exists():
        folder(pool).mkdir(mode=0o700, exist_ok=True)
        btrfs.snapshot(pool.share(share_id), path)
    btrfs.limit(pool.root, path, _ROOM * size * GIB)
    return path


def vet(pool: BtrfsPool, name: str, size: int) -> None:
    """Write the copy to disk, and check that it fits into ``size`` GiB.

    :raises errors.Final: it does not fit.
    """
    used = pool.measure(at(pool, name))[1] or 0
    if used > size * GIB * _NEAR:
        raise errors.Final(
            f'The backup holds {used / GIB:.2f} GiB, more than the share, which is {size} GiB.'
        )


def drop(pool: BtrfsPool, name: str) -> None:
    btrfs.sync(pool.root)
    btrfs.delete(at(pool, name))
