# SPDX-License-Identifier: Apache-2.0
"""Copies of shares that lie in a btrfs pool where no client reaches them: to be read in peace, or to be made what a share is.

Each has a name of its own, the backup's id; there is one of a name.
"""

from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux import btrfs
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool import GIB

#: A file that changes is there twice for a moment; in the end what is there fits.
_ROOM = 2
#: What the same files take differs a little from one copy to the next.
_NEAR = 1.02


def folder(pool: BtrfsPool) -> Path:
    """Return where all of them are."""
    return pool.root / 'backups'


def at(pool: BtrfsPool, name: str) -> Path:
    """Return where one is."""
    return folder(pool) / name


def take(pool: BtrfsPool, name: str, ident: str) -> Path:
    """The share is there as it was when this was first called, to be read."""
    place = at(pool, name)
    if not place.exists():
        folder(pool).mkdir(mode=0o700, exist_ok=True)
        btrfs.snapshot(pool.share(ident), place, read_only=True)
    return place


def draft(pool: BtrfsPool, name: str, ident: str, size: int) -> Path:
    """What the share held when this was first called is there, to be written to. It cannot fill the pool."""
    place = at(pool, name)
    if place.exists() and btrfs.is_read_only(place):
        btrfs.delete(place)
    if not place.exists():
        folder(pool).mkdir(mode=0o700, exist_ok=True)
        btrfs.snapshot(pool.share(ident), place)
    btrfs.limit(pool.root, place, _ROOM * size * GIB)
    return place


def vet(pool: BtrfsPool, name: str, size: int) -> None:
    """What is there is on the disk, and fits into ``size`` GiB.

    :raises errors.Final: it does not fit.
    """
    used = pool.measure(at(pool, name))[1] or 0
    if used > size * GIB * _NEAR:
        raise errors.Final(f'The backup holds {used / GIB:.2f} GiB, more than the share, which is {size} GiB.')


def drop(pool: BtrfsPool, name: str) -> None:
    """It is gone."""
    btrfs.sync(pool.root)
    btrfs.delete(at(pool, name))
