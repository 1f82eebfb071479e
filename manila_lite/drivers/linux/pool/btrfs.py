# SPDX-License-Identifier: Apache-2.0
"""btrfs through its library and ioctls: subvolumes, snapshots, limits, usage. Takes milliseconds and starts no
processes.
"""

import ctypes
import errno
import fcntl
import os
import struct
import sys
import uuid
from pathlib import Path

from manila_lite.host.descriptors import opened

#: Ioctls on a directory's file descriptor; see linux/btrfs.h.
_IOC_QGROUP_LIMIT = (2 << 30) | (48 << 16) | (0x94 << 8) | 43
_IOC_FS_INFO = (2 << 30) | (1024 << 16) | (0x94 << 8) | 31
_LIMIT_REFERENCED = 1
_RECURSIVE = 1
_READ_ONLY = 2
_ROOT_INODE = 256
#: Larger than struct btrfs_util_subvolume_info: four numbers, three uuids, four numbers, four times.
_INFO_BYTES = 512

LIBRARY = 'libbtrfsutil.so.1'


class _Library:
    """libbtrfsutil, loaded at the first use."""

    def __init__(self) -> None:
        self._lib: ctypes.CDLL | None = None

    def call(self, name: str, path: Path, *arguments: object) -> None:
        """Call a function that returns an error code.

        :raises OSError: the function failed; with the errno and the path.
        """
        if self._lib is None:
            self._lib = ctypes.CDLL(LIBRARY, use_errno=True)
            self._lib.btrfs_util_strerror.restype = ctypes.c_char_p
        code = getattr(self._lib, name)(os.fsencode(path), *arguments)
        if code:
            number = ctypes.get_errno() or errno.EIO
            said = self._lib.btrfs_util_strerror(code)
            raise OSError(number, f'{said.decode() if said else name}: {os.strerror(number)}', str(path))


_library = _Library()


def create(path: Path) -> None:
    _library.call('btrfs_util_create_subvolume', path, 0, None, None)


def snapshot(source: Path, path: Path, *, read_only: bool = False) -> None:
    _library.call(
        'btrfs_util_create_snapshot', source, os.fsencode(path), _READ_ONLY if read_only else 0, None, None
    )


def delete(path: Path) -> None:
    """Delete the subvolume and those inside it. A missing subvolume counts as success."""
    if path.exists():
        _library.call('btrfs_util_delete_subvolume', path, _RECURSIVE)


def sync(path: Path) -> None:
    """Write all changes to disk, which also brings the usage counters up to date."""
    _library.call('btrfs_util_sync', path)


def commit(path: Path) -> None:
    """Write creations, renames and deletions to disk, without the unwritten data of clients: takes milliseconds also while
    they write.
    """
    transaction = ctypes.c_uint64()
    _library.call('btrfs_util_start_sync', path, ctypes.byref(transaction))
    _library.call('btrfs_util_wait_sync', path, transaction)


def subvolume_id(path: Path) -> int:
    """Return the id under which the kernel counts the subvolume's usage."""
    result = ctypes.c_uint64()
    _library.call('btrfs_util_subvolume_id', path, ctypes.byref(result))
    return result.value


def is_subvolume(path: Path) -> bool:
    """Say whether the directory is the root of a subvolume: on btrfs only such roots have this inode number."""
    return path.lstat().st_ino == _ROOT_INODE


def uuids(path: Path) -> tuple[str, str]:
    """Return the subvolume's own uuid, and the uuid of the subvolume that it is a snapshot of (zeros if it is none)."""
    info = ctypes.create_string_buffer(_INFO_BYTES)
    _library.call('btrfs_util_subvolume_info', path, 0, info)
    return str(uuid.UUID(bytes=info.raw[32:48])), str(uuid.UUID(bytes=info.raw[48:64]))


def _ioctl(path: Path, request: int, data: bytearray) -> None:
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        fcntl.ioctl(fd, request, data)


def fsid(pool: Path) -> uuid.UUID:
    return uuid.UUID(bytes=bytes(_about(pool)[16:32]))


def devices(pool: Path) -> int:
    """Return the number of devices that the file system spans."""
    return int.from_bytes(_about(pool)[8:16], sys.byteorder)


def _about(pool: Path) -> bytearray:
    info = bytearray(1024)
    _ioctl(pool, _IOC_FS_INFO, info)
    return info


def _counters(pool: Path) -> Path:
    return Path(f'/sys/fs/btrfs/{fsid(pool)}/qgroups')


def limit(pool: Path, path: Path, size: int) -> None:
    """Limit the subvolume to ``size`` bytes. Uses the pool's root: the ioctl would fail on a full subvolume."""
    _ioctl(
        pool,
        _IOC_QGROUP_LIMIT,
        bytearray(struct.pack('<6Q', subvolume_id(path), _LIMIT_REFERENCED, size, 0, 0, 0)),
    )


def _counter(pool: Path, path: Path, name: str) -> int:
    return int((_counters(pool) / f'0_{subvolume_id(path)}' / name).read_text())


def limit_of(pool: Path, path: Path) -> int | None:
    """Return the subvolume's limit in bytes, or None if it has no limit."""
    limited = _counter(pool, path, 'limit_flags') & _LIMIT_REFERENCED
    return _counter(pool, path, 'max_referenced') if limited else None


def used(pool: Path, path: Path) -> int:
    """Return how many bytes the subvolume holds, as of the last ``sync``."""
    return _counter(pool, path, 'referenced')


def exclusive(pool: Path, path: Path) -> int:
    """Return how many bytes this subvolume shares with no other, as of the last ``sync``."""
    return _counter(pool, path, 'exclusive')


def is_read_only(path: Path) -> bool:
    result = ctypes.c_bool()
    _library.call('btrfs_util_get_subvolume_read_only', path, ctypes.byref(result))
    return result.value


def set_read_only(path: Path, yes: bool) -> None:
    _library.call('btrfs_util_set_subvolume_read_only', path, ctypes.c_bool(yes))


def has_quota(pool: Path) -> bool:
    return _counters(pool).is_dir()


def has_exact_quota(pool: Path) -> bool:
    """Say whether the pool's counters are exact; if not, a rescan corrects them."""
    return (_counters(pool) / 'inconsistent').read_text().strip() == '0'
