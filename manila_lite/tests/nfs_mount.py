# SPDX-License-Identifier: Apache-2.0
"""A real mount of an NFSv4 export where the kernel has no NFS client: FUSE in front of libnfs.

``python -m manila_lite.tests.nfs_mount [--netns NAME] ADDRESS EXPORT DIRECTORY`` mounts, then serves until
``umount DIRECTORY``. Ordinary programs (``cp``, ``cat``, ``dd``) then work on the directory, and get the
server's errors. Needs /dev/fuse, the packages libnfs13 and fuse3, and mfusepy.
"""

import argparse
import ctypes
import errno
import os
import stat
import sys

import mfusepy

from manila_lite.tests import nfs_client

_CHUNK = 2048
_U64 = ctypes.c_uint64
#: The fields of libnfs' struct nfs_stat_64, in its order.
_STAT = ('dev', 'ino', 'mode', 'nlink', 'uid', 'gid', 'rdev', 'size', 'blksize', 'blocks', 'atime', 'mtime', 'ctime',
         'atime_nsec', 'mtime_nsec', 'ctime_nsec', 'used')
_TIMES = ('atime', 'mtime', 'ctime')


class _Stat(ctypes.Structure):
    _fields_ = [(name, _U64) for name in _STAT]


class _Time(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('microseconds', ctypes.c_long)]


class Export(mfusepy.Operations):
    """File operations, each passed on to the server as it comes."""

    use_ns = True

    def __init__(self, mount):
        self._mount = mount
        self._handles = {}
        self._written = set()

    def _do(self, name, *arguments):
        words = [word.encode() if isinstance(word, str) else word for word in arguments]
        try:
            return self._mount.call(name, *words)
        except nfs_client.Refused as refused:
            raise mfusepy.FuseOSError(refused.number or errno.EIO) from refused

    # Names ------------------------------------------------------------------------------------

    def getattr(self, path, fh=None):
        found = _Stat()
        self._do('nfs_lstat64', path, ctypes.byref(found))
        told = {f'st_{name}': getattr(found, name) for name in ('ino', 'mode', 'nlink', 'uid', 'gid', 'size', 'blocks')}
        told |= {f'st_{name}': getattr(found, name) * 10**9 + getattr(found, f'{name}_nsec') for name in _TIMES}
        if not stat.S_IFMT(told['st_mode']):
            raise mfusepy.FuseOSError(errno.EIO)
        return told

    def readdir(self, path, fh):
        try:
            return ['.', '..', *self._mount.names(path)]
        except nfs_client.Refused as refused:
            raise mfusepy.FuseOSError(refused.number or errno.EIO) from refused

    def mkdir(self, path, mode):
        return self._do('nfs_mkdir2', path, mode & 0o7777)

    def rmdir(self, path):
        return self._do('nfs_rmdir', path)

    def unlink(self, path):
        return self._do('nfs_unlink', path)

    def rename(self, old, new):
        return self._do('nfs_rename', old, new)

    def symlink(self, target, source):
        return self._do('nfs_symlink', source, target)

    def readlink(self, path):
        buffer = ctypes.create_string_buffer(4096)
        self._do('nfs_readlink', path, buffer, ctypes.c_int(len(buffer)))
        return buffer.value.decode()

    def chmod(self, path, mode):
        """Not for directories: libnfs opens what it is to change."""
        return self._do('nfs_chmod', path, mode & 0o7777)

    def chown(self, path, uid, gid):
        return self._do('nfs_chown', path, uid, gid)

    def truncate(self, path, length, fh=None):
        return self._do('nfs_truncate', path, _U64(length))

    def utimens(self, path, times=None):
        """Nothing more than the server's own times: libnfs cannot set them over NFSv4."""
        return 0

    def statfs(self, path):
        """The server's free space is not asked for; programs that look before they write shall go on."""
        return {'f_bsize': 4096, 'f_frsize': 4096, 'f_blocks': 1 << 28, 'f_bfree': 1 << 28, 'f_bavail': 1 << 28}

    # Files ------------------------------------------------------------------------------------

    def _keep(self, handle):
        number = max(self._handles, default=0) + 1
        self._handles[number] = handle
        return number

    def open(self, path, flags):
        handle = ctypes.c_void_p()
        self._do('nfs_open', path, flags & os.O_ACCMODE, ctypes.byref(handle))
        return self._keep(handle)

    def create(self, path, mode, fi=None):
        handle = ctypes.c_void_p()
        # A handle from creat cannot write.
        self._do('nfs_creat', path, mode & 0o7777, ctypes.byref(handle))
        self._do('nfs_close', handle)
        self.chmod(path, mode)
        return self.open(path, os.O_RDWR)

    def read(self, path, size, offset, fh):
        buffer = ctypes.create_string_buffer(_CHUNK)
        found = b''
        while len(found) < size:
            count = self._do('nfs_pread', self._handles[fh], _U64(offset + len(found)),
                             _U64(min(_CHUNK, size - len(found))), buffer)
            if not count:
                break
            found += buffer.raw[:count]
        return found

    def write(self, path, data, offset, fh):
        for start in range(0, len(data), _CHUNK):
            part = data[start:start + _CHUNK]
            self._written.add(fh)
            self._do('nfs_pwrite', self._handles[fh], _U64(offset + start), _U64(len(part)), part)
        return len(data)

    def fsync(self, path, datasync, fh):
        return self._do('nfs_fsync', self._handles[fh])

    def flush(self, path, fh):
        """Programs learn at close what could not be written."""
        if fh in self._written:
            self._written.discard(fh)
            self._do('nfs_fsync', self._handles[fh])
        return 0

    def release(self, path, fh):
        self._written.discard(fh)
        return self._do('nfs_close', self._handles.pop(fh))


def main():
    """Serve until unmounted."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--netns')
    parser.add_argument('address')
    parser.add_argument('export')
    parser.add_argument('directory')
    args = parser.parse_args()
    if args.netns:
        nfs_client.enter(args.netns)
    try:
        mount = nfs_client.Mount(args.address, args.export)
    except nfs_client.Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    # One thread: a libnfs context is for one caller at a time.
    mfusepy.FUSE(Export(mount), args.directory, foreground=True, nothreads=True, fsname=f'{args.address}:{args.export}',
                 subtype='nfs', allow_other=True, default_permissions=True, attr_timeout=0, entry_timeout=0)
    return 0


if __name__ == '__main__':
    sys.exit(main())
