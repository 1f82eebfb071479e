# SPDX-License-Identifier: Apache-2.0
"""What all subvolumes of a btrfs file system take, by a few ioctls for all of them. See linux/btrfs_tree.h.

The figures are those that ``btrfs qgroup show`` prints, and that NFS-Ganesha gives to clients: of the last commit, at most half
a minute ago.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from manila_lite.drivers.linux.pool import btrfs

_TREE_SEARCH = (3 << 30) | (4096 << 16) | (0x94 << 8) | 17
#: Tree, ranges of object ids, offsets and transactions, range of types, number of items; then what is not used.
_KEY = struct.Struct('<7Q4I32x')
#: Transaction, object id, offset, type, length of the item.
_HEADER = struct.Struct('<3Q2I')
_ARGUMENTS = 4096
_ANY, _MANY = (1 << 64) - 1, (1 << 32) - 1

_ROOTS, _QUOTAS = 1, 8  # trees
_ROOT_REF, _QGROUP_INFO, _QGROUP_LIMIT = 156, 242, 244  # types of items
_SUBVOLUME_ID = (1 << 48) - 1  # other qgroups have a level above
_LIMIT_REFERENCED = 1
#: The directory of a subvolume in its parent, its place there, and the length of its name, which follows.
_NAME = struct.Struct('<2QH')


class Taken(NamedTuple):
    """What a subvolume takes, in bytes. ``limit`` is None without one."""

    referenced: int
    exclusive: int
    limit: int | None


def all_in(pool: Path, *folders: str) -> dict[str, dict[str, Taken]]:
    """Return what the subvolumes in these folders of the pool take, by folder and name.

    :raises OSError: the pool is no btrfs, or does not count.
    """
    fd = os.open(pool, os.O_RDONLY | os.O_DIRECTORY)
    try:
        paths = {os.stat(folder, dir_fd=fd, follow_symlinks=False).st_ino: folder for folder in folders}
        counted = _counted(fd)
        found: dict[str, dict[str, Taken]] = {folder: {} for folder in folders}
        for number, item in _items(fd, _ROOTS, btrfs.subvolume_id(pool), _ROOT_REF):
            path, _index, length = _NAME.unpack_from(item)
            if path in paths and number in counted:
                name = os.fsdecode(item[_NAME.size : _NAME.size + length])
                found[paths[path]][name] = counted[number]
        return found
    finally:
        os.close(fd)


def _counted(fd: int) -> dict[int, Taken]:
    """Return what each subvolume takes, by its number."""
    limits: dict[int, int] = {}
    for number, item in _items(fd, _QUOTAS, 0, _QGROUP_LIMIT):
        flags, most = struct.unpack_from('<2Q', item)
        if flags & _LIMIT_REFERENCED:
            limits[number] = most
    counted = {}
    for number, item in _items(fd, _QUOTAS, 0, _QGROUP_INFO):
        _generation, referenced, _packed, exclusive = struct.unpack_from('<4Q', item)
        if number <= _SUBVOLUME_ID:
            counted[number] = Taken(referenced, exclusive, limits.get(number))
    return counted


def _items(fd: int, tree: int, object_id: int, kind: int) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of each item of an object and a type in a tree, by offset."""
    offset = 0
    while True:
        data = bytearray(_ARGUMENTS)
        _KEY.pack_into(data, 0, tree, object_id, object_id, offset, _ANY, 0, _ANY, kind, kind, _MANY, 0)
        fcntl.ioctl(fd, _TREE_SEARCH, data)
        number = _KEY.unpack_from(data)[9]
        if not number:
            return
        at = _KEY.size
        for _ in range(number):
            _transaction, _object, offset, _type, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            yield offset, bytes(data[at : at + length])
            at += length
        offset += 1
