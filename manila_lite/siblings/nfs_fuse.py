# SPDX-License-Identifier: Apache-2.0
"""An NFSv4 export mounted where the kernel has no NFS client: FUSE with libnfs.

``python -m manila_lite.siblings.nfs_fuse [--level ro] ADDRESS EXPORT DIRECTORY`` ends when the export is mounted; its
server process goes on in a session of its own, until ``umount DIRECTORY``. Programs, and virtiofsd, then work on the
directory and get the NFS server's errors. Needs /dev/fuse, the packages libnfs13 and fuse3, and mfusepy.
"""

import argparse
import ctypes
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from manila_lite.siblings import libnfs

# mfusepy would prefer version 2 where that is installed, too, which mounts on empty directories only.
os.environ.setdefault('FUSE_LIBRARY_NAME', 'fuse3')
import mfusepy

_Result = TypeVar('_Result')
_U64 = ctypes.c_uint64
#: The fields of libnfs' struct nfs_stat_64, in its order.
_STAT = (
    'dev',
    'ino',
    'mode',
    'nlink',
    'uid',
    'gid',
    'rdev',
    'size',
    'blksize',
    'blocks',
    'atime',
    'mtime',
    'ctime',
    'atime_nsec',
    'mtime_nsec',
    'ctime_nsec',
    'used',
)
_TIMES = ('atime', 'mtime', 'ctime')
#: Temporary errors: the server has forgotten us, since it was restarted or heard nothing from us for longer than a
#: lease lasts; it still waits for clients of before its start; or it is away.
_PASSES = re.compile(r'STALE_CLIENTID|STALE_STATEID|BAD_STATEID|EXPIRED|ERR_GRACE|nfs_service failed')
#: Seconds to wait for the end of a temporary error, and between tries.
_PATIENCE, _PAUSE = 60.0, 1.0


class _Stat(ctypes.Structure):
    _fields_ = [(name, _U64) for name in _STAT]


@dataclass
class _File:
    """An open file. ``era``: the number of the connection that its handle belongs to."""

    path: str
    flags: int
    handle: ctypes.c_void_p
    era: int


class NfsOperations(mfusepy.Operations):  # type: ignore[misc,unused-ignore]
    """File operations, each passed on to the server at once. For one thread."""

    use_ns = True

    def __init__(self, mount: Callable[[], libnfs.Mount]):
        self._mount_anew = mount
        self._mount = mount()
        self._era = 0
        self._files: dict[int, _File] = {}
        self._written: set[int] = set()

    def _try(self, work: Callable[[], _Result]) -> _Result:
        """Call ``work``, again while it fails with a temporary error."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return work()
            except libnfs.Refused as refused:
                if not _PASSES.search(str(refused)) or time.monotonic() > end:
                    raise mfusepy.FuseOSError(refused.number or errno.EIO) from refused
                self._renew(str(refused))

    def _renew(self, why: str) -> None:
        """Connect to the server anew, or wait a moment."""
        try:
            if 'GRACE' in why:
                time.sleep(_PAUSE)
            else:
                self._mount, self._era = self._mount_anew(), self._era + 1
        except libnfs.Refused as refused:
            if 'NFS4ERR' in str(refused):
                raise mfusepy.FuseOSError(refused.number or errno.EIO) from refused
            time.sleep(_PAUSE)

    def _do(self, name: str, *arguments: Any) -> int:
        words = [word.encode() if isinstance(word, str) else word for word in arguments]
        return self._try(lambda: self._mount.call(name, *words))

    # Names ------------------------------------------------------------------------------------

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
        status = _Stat()
        self._do('nfs_lstat64', path, ctypes.byref(status))
        attributes = {
            f'st_{name}': getattr(status, name)
            for name in ('ino', 'mode', 'nlink', 'uid', 'gid', 'size', 'blocks')
        }
        attributes |= {
            f'st_{name}': getattr(status, name) * 10**9 + getattr(status, f'{name}_nsec') for name in _TIMES
        }
        if not stat.S_IFMT(attributes['st_mode']):
            raise mfusepy.FuseOSError(errno.EIO)
        return attributes

    def readdir(self, path: str, fh: int) -> list[str]:
        names: list[str] = self._try(lambda: self._mount.names(path))
        return ['.', '..', *names]

    def mkdir(self, path: str, mode: int) -> int:
        return self._do('nfs_mkdir2', path, mode & 0o7777)

    def rmdir(self, path: str) -> int:
        return self._do('nfs_rmdir', path)

    def unlink(self, path: str) -> int:
        return self._do('nfs_unlink', path)

    def rename(self, old: str, new: str) -> int:
        return self._do('nfs_rename', old, new)

    def symlink(self, target: str, source: str) -> int:
        return self._do('nfs_symlink', source, target)

    def readlink(self, path: str) -> str:
        buffer = ctypes.create_string_buffer(4096)
        self._do('nfs_readlink', path, buffer, ctypes.c_int(len(buffer)))
        return buffer.value.decode()

    def chmod(self, path: str, mode: int) -> int:
        """Change the mode of a file, not of a directory: libnfs opens the path for that."""
        return self._do('nfs_chmod', path, mode & 0o7777)

    def chown(self, path: str, uid: int, gid: int) -> int:
        return self._do('nfs_chown', path, uid, gid)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        return self._do('nfs_truncate', path, _U64(length))

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        """Do nothing: libnfs cannot set times over NFSv4, so the server's own times stay."""
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        """Return fixed figures: the server is not asked, and programs that check the free space shall go on."""
        return {
            'f_bsize': 4096,
            'f_frsize': 4096,
            'f_blocks': 1 << 28,
            'f_bfree': 1 << 28,
            'f_bavail': 1 << 28,
        }

    # Files ------------------------------------------------------------------------------------

    def open(self, path: str, flags: int) -> int:
        handle = ctypes.c_void_p()
        self._do('nfs_open', path, flags & os.O_ACCMODE, ctypes.byref(handle))
        number = max(self._files, default=0) + 1
        self._files[number] = _File(path, flags & os.O_ACCMODE, handle, self._era)
        return number

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        handle = ctypes.c_void_p()
        # A handle from creat cannot write.
        self._do('nfs_creat', path, mode & 0o7777, ctypes.byref(handle))
        self._do('nfs_close', handle)
        self.chmod(path, mode)
        return self.open(path, os.O_RDWR)

    def _with(self, number: int, name: str, *arguments: Any) -> int:
        """Call a function for an open file; open the file again when the server has forgotten its handle."""
        file = self._files[number]

        def work() -> int:
            if file.era != self._era:
                self._mount.call('nfs_open', file.path.encode(), file.flags, ctypes.byref(file.handle))
                file.era = self._era
            return self._mount.call(name, file.handle, *arguments)

        return self._try(work)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        buffer = ctypes.create_string_buffer(libnfs.CHUNK)
        data = b''
        while len(data) < size:
            count = self._with(
                fh, 'nfs_pread', _U64(offset + len(data)), _U64(min(libnfs.CHUNK, size - len(data))), buffer
            )
            if not count:
                break
            data += buffer.raw[:count]
        return data

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        for start in range(0, len(data), libnfs.CHUNK):
            part = data[start : start + libnfs.CHUNK]
            self._written.add(fh)
            self._with(fh, 'nfs_pwrite', _U64(offset + start), _U64(len(part)), part)
        return len(data)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        return self._with(fh, 'nfs_fsync')

    def flush(self, path: str, fh: int) -> int:
        """Sync written data at close, so that programs learn of failed writes."""
        if fh in self._written:
            self._written.discard(fh)
            self._with(fh, 'nfs_fsync')
        return 0

    def release(self, path: str, fh: int) -> int:
        self._written.discard(fh)
        file = self._files.pop(fh)
        # A handle that the server has forgotten is closed already.
        return self._do('nfs_close', file.handle) if file.era == self._era else 0


def main() -> int:
    """Mount the export, and serve it by a process in the background."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--level', choices=('rw', 'ro'), default='rw')
    parser.add_argument('address')
    parser.add_argument('export')
    parser.add_argument('directory')
    args = parser.parse_args()
    try:
        served = NfsOperations(lambda: libnfs.Mount(args.address, args.export))
    except libnfs.Refused as refused:
        sys.stderr.write(f'{refused}\n')
        return 1
    host = f'[{args.address}]' if ':' in args.address else args.address
    # One thread: a libnfs context is for one caller at a time.
    mfusepy.FUSE(
        served,
        args.directory,
        nothreads=True,
        fsname=f'{host}:{args.export}',
        subtype='nfs',
        allow_other=True,
        default_permissions=True,
        attr_timeout=0,
        entry_timeout=0,
        nosuid=True,
        nodev=True,
        ro=args.level == 'ro',
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
