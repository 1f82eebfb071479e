# SPDX-License-Identifier: Apache-2.0
"""Mounts and loop devices; each step is done only if it is still necessary.

Files of users must never be programs or devices of this machine: everything that is mounted here disallows set-uid
programs, devices and execution. Clients and guests do not notice: they read their programs, and apply their own rules.

What is done for each share is done by system calls, whose cost does not depend on the number of mounts.
"""

import ctypes
import errno
import os
import re
import struct
import time
from pathlib import Path
from typing import NamedTuple

from manila_lite.host.commands import SECONDS, CommandFailed, run

#: The options of every mount, and the same as flags of statvfs(2).
SAFE = 'nosuid,nodev,noexec'
_SAFE_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
_TABLE = Path('/proc/self/mountinfo')
_ESCAPED = re.compile(rb'\\([0-7]{3})')
#: Seconds that other users of a loop device (udev, an unmount that the kernel still works at) get to release it.
_IN_USE_SECONDS = 5

_libc = ctypes.CDLL(None, use_errno=True)
#: Flags of mount(2) and umount2(2): see linux/mount.h.
_MS_SAFE = 0x2 | 0x4 | 0x8
_MS_REMOUNT, _MS_BIND = 0x20, 0x1000
_MNT_DETACH, _UMOUNT_NOFOLLOW = 0x2, 0x8
#: Errors of umount2(2) for a path at which nothing is mounted.
_NOT_MOUNTED = (errno.EINVAL, errno.ENOENT, errno.ENOTDIR)
#: Flags and the size of statx(2), and the attribute of a path at which a mount begins: see linux/stat.h.
_AT_FDCWD, _AT_FLAGS = -100, 0x100 | 0x800 | 0x4000
_STATX_BYTES, _ATTRIBUTES, _KNOWN_ATTRIBUTES = 256, 8, 56
_MOUNT_ROOT = 0x2000


class Mounted(NamedTuple):
    """An entry of the kernel's table of mounts."""

    target: str
    source: str


def mounted(table: Path = _TABLE) -> list[Mounted]:
    """Return the mounts of this process, or those of another table, oldest first.

    Only line feeds end a line: users of this machine can mount by FUSE what has other ends of lines in its names, and the
    kernel does not escape these.
    """
    lines = [line.partition(b' - ') for line in table.read_bytes().split(b'\n') if line]
    return [
        Mounted(_plain(about.split(b' ')[4]), _plain(behind.split(b' ')[1])) for about, _, behind in lines
    ]


def _plain(field: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 8)]), field))


def is_mounted(path: Path) -> bool:
    """Say whether there is a mount at exactly this path. The path must be a real one, without links."""
    wanted = str(path)
    return any(one.target == wanted for one in mounted())


def mount(device: str, path: Path, *options: str, seconds: float = SECONDS) -> None:
    """Mount the device there with the options ``SAFE``, which the given options do not override."""
    path.mkdir(parents=True, exist_ok=True)
    if not is_mounted(path):
        run('mount', *options, '-o', SAFE, device, str(path), seconds=seconds)


def bind(source: Path, path: Path) -> None:
    """Make the directory available as a mount of its own. The file system of the source need not be mounted with
    ``SAFE``.

    :raises CommandFailed: the kernel refuses.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not _is_root(path):
        _mount_at(path, os.fsencode(source), _MS_BIND)
        _mount_at(path, None, _MS_REMOUNT | _MS_BIND | _MS_SAFE)


def _mount_at(path: Path, source: bytes | None, flags: int) -> None:
    if _libc.mount(source, os.fsencode(path), None, ctypes.c_ulong(flags), None):
        raise CommandFailed(f'mount {path}: {os.strerror(ctypes.get_errno())}')


def _is_root(path: Path) -> bool:
    """Say whether a mount begins at this path, which is on no remote file system: its server would be waited for."""
    about = ctypes.create_string_buffer(_STATX_BYTES)
    if _libc.statx(_AT_FDCWD, os.fsencode(path), _AT_FLAGS, 0, about):
        return is_mounted(path)
    (attributes,), (known,) = (
        struct.unpack_from('Q', about.raw, at) for at in (_ATTRIBUTES, _KNOWN_ATTRIBUTES)
    )
    return bool(attributes & _MOUNT_ROOT) if known & _MOUNT_ROOT else is_mounted(path)


def make_safe(path: Path) -> None:
    """Give the mount the options ``SAFE``; an earlier release may have made it. Open files stay open."""
    if os.statvfs(path).f_flag & _SAFE_FLAGS != _SAFE_FLAGS and is_mounted(path):
        run('mount', '-o', f'remount,bind,{SAFE}', str(path))


def unmount(path: Path) -> None:
    """Unmount the path. A busy mount leaves the tree at once, and goes when its last user ends.

    :raises CommandFailed: the kernel refuses.
    """
    flags = _UMOUNT_NOFOLLOW
    while True:
        if not _libc.umount2(os.fsencode(path), flags):
            flags = _UMOUNT_NOFOLLOW  # there may be another mount below
            continue
        number = ctypes.get_errno()
        if number in _NOT_MOUNTED:
            return
        if flags & _MNT_DETACH:
            raise CommandFailed(f'umount {path}: {os.strerror(number)}')
        flags |= _MNT_DETACH


def loop_of(image: Path) -> str | None:
    """Return the loop device of an image file, or None."""
    devices = run('losetup', '--noheadings', '--output', 'NAME', '--associated', str(image)).split()
    return devices[0] if devices else None


def attach(image: Path) -> str:
    """Return the loop device of the image file; attach one if necessary."""
    return loop_of(image) or run('losetup', '--find', '--show', str(image)).strip()


def detach(image: Path) -> None:
    """Detach the loop device of the image file. A device that stays in use for seconds goes when its last user ends."""
    detached = set()
    end = time.monotonic() + _IN_USE_SECONDS
    while (device := loop_of(image)) and time.monotonic() < end:
        if device in detached:
            time.sleep(0.02)
            continue
        detached.add(device)
        try:
            run('losetup', '--detach', device)
        except CommandFailed:
            if loop_of(image) == device:
                raise
