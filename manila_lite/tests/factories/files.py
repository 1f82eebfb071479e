# SPDX-License-Identifier: Apache-2.0
"""One of each kind of file that a client can make. ``kept.py`` has all that can be seen of them."""

import array
import contextlib
import fcntl
import os
import socket
import stat
import struct
from pathlib import Path

#: File names that programs stumble over.
NAMES = (
    b'new\nline',
    b'not \xff\xfe utf-8',
    b'\x1b]0;owned\x07\x1b[31mred',
    b'-rf',
    b'--delete',
    b'%s%n',
    b'$(touch x)',
    b' ',
    b'rsync: [sender] opendir "x" failed: (12)',
    b'back\\slash',
    b'x' * 255,
)
CAPABILITY = 'security.capability'
#: cap_net_raw, effective and permitted, as setcap(8) writes it.
_MAY_PING = struct.pack('<5I', 0x02000001, 1 << 13, 0, 0, 0)
ACCESS, DEFAULT = 'system.posix_acl_access', 'system.posix_acl_default'
#: Requests and flag of ioctl_iflags(2).
GET_FLAGS, _SET_FLAGS, _NO_DUMP = 0x80086601, 0x40086602, 0x40
#: When files say that they were changed and read: each with nanoseconds of its own.
_CHANGED, _READ = 1_000_000_000_123_456_789, 1_100_000_000_987_654_321
#: Before 1970, and more seconds than 32 bits can count.
_TIMES = (('world', -1_000_000_000_123_456_789), ('closed', 9_000_000_000_987_654_321))
_MIB = 1 << 20


def acl(*named: tuple[int, int, int]) -> bytes:
    """Return a POSIX ACL as an attribute: rw for the owner, r for the group, and these (tag, permissions, id)."""
    nobody = 0xFFFFFFFF
    return struct.pack('<I', 2) + b''.join(
        struct.pack('<HHI', *entry)
        for entry in sorted(
            [(0x01, 6, nobody), (0x04, 4, nobody), (0x10, 7, nobody), (0x20, 0, nobody), *named]
        )
    )


def plant(place: Path) -> None:
    """Plant one of each kind of file in the directory, and give the directory itself what it can have."""
    _plain(place)
    _special(place)
    _linked(place)
    _with_attributes(place)
    for path in reversed(below(os.fsencode(place))):
        spread = len(path) * 1001
        os.utime(path, ns=(_READ + spread, _CHANGED + spread), follow_symlinks=False)
    for name, when in _TIMES:
        os.utime(place / name, ns=(_READ, when))
    os.chown(place, 1001, 1002)
    place.chmod(0o3775)
    os.setxattr(place, 'user.of the top', b'top')
    let_new_files_inherit(place, 1234)
    os.utime(place, ns=(_READ, _CHANGED))


def below(top: bytes) -> list[bytes]:
    """Return the paths of everything in a directory, each after that of its folder."""
    return sorted(
        os.path.join(folder, name) for folder, folders, files in os.walk(top) for name in (*folders, *files)
    )


def let_new_files_inherit(place: Path, user: int | None) -> None:
    """Have a user, or nobody, read all files that are made in the directory from now on."""
    if user is None:
        os.removexattr(place, DEFAULT)
    else:
        os.setxattr(place, DEFAULT, acl((0x02, 5, user)))


def _plain(place: Path) -> None:
    for name in NAMES:
        Path(os.fsdecode(os.path.join(os.fsencode(place), name))).write_bytes(name)
    (place / 'empty').touch()
    (place / 'nothing inside' / 'deeper').mkdir(parents=True)
    (place / 'sub').mkdir()
    (place / 'sub' / 'random').write_bytes(os.urandom(3_000_000))
    with (place / 'sparse').open('wb') as file:
        file.truncate(16 * _MIB)
        file.seek(8 * _MIB)
        file.write(os.urandom(_MIB))
    for name, mode in (('as root', 0o6755), ('closed', 0o000), ('of others', 0o2710), ('world', 0o666)):
        (place / name).write_text(name)
        os.chown(place / name, 1234, 5678)
        (place / name).chmod(mode)
    (place / 'sticky').mkdir()
    (place / 'sticky').chmod(0o1777)
    (place / 'same').write_text('before')
    with (place / 'same').open('rb') as file:
        flags = array.array('L', [0])
        fcntl.ioctl(file, GET_FLAGS, flags)
        flags[0] |= _NO_DUMP
        fcntl.ioctl(file, _SET_FLAGS, flags)


def _special(place: Path) -> None:
    for name, target in (
        ('absolute', '/etc/passwd'),
        ('dangling', 'not/there'),
        ('loop', 'loop'),
        ('up', '/../../../../..'),
        ('pointer', 'sub/random'),
        ('far', 'x/' * 2047 + 'x'),
    ):
        (place / name).symlink_to(target)
    os.chown(place / 'absolute', 1234, 5678, follow_symlinks=False)
    os.mkfifo(place / 'pipe', 0o640)
    os.mknod(place / 'zero', stat.S_IFCHR | 0o660, os.makedev(1, 5))
    os.mknod(place / 'disk', stat.S_IFBLK | 0o600, os.makedev(7, 0))
    with socket.socket(socket.AF_UNIX) as bound:
        where = os.open(place, os.O_RDONLY)
        bound.bind(f'/proc/self/fd/{where}/socket')
        os.close(where)
    for name, mode in (('zero', 0o660), ('disk', 0o2640), ('socket', 0o4751), ('pipe', 0o1604)):
        os.chown(place / name, 1234, 5678)  # it takes setuid and setgid away
        (place / name).chmod(mode)


def _linked(place: Path) -> None:
    for name, other in (('sub/random', 'linked'), ('pipe', 'linked pipe'), ('pointer', 'linked pointer')):
        os.link(place / name, place / other, follow_symlinks=False)


def _with_attributes(place: Path) -> None:
    for name, value in (
        ('user.colour', b'blue'),
        ('user.long', os.urandom(3000)),
        ('user.empty', b''),
        ('user.DOSATTRIB', b'\0\0\5\0'),
        (b'user.not \xff utf-8', b'odd'),
        ('user.rsync.%own', b'mine'),
        ('trusted.note', b'of root'),
        ('security.note', b'of a module'),
    ):
        os.setxattr(place / 'same', name, value)
    os.setxattr(place / 'sub', 'user.colour', b'red')
    os.setxattr(place / 'absolute', 'trusted.note', b'of a link', follow_symlinks=False)
    for name, owner in (('ping', 0), ('ping of others', 1234)):
        (place / name).write_bytes(b'\x7fELF')
        (place / name).chmod(0o755)
        os.chown(place / name, owner, owner)
        os.setxattr(place / name, CAPABILITY, _MAY_PING)
    (place / 'listed').write_text('for some')
    os.setxattr(
        place / 'listed', ACCESS, acl((0x08, 4, 5678), *((0x02, 6, 1234 + number) for number in range(100)))
    )
    (place / 'passed on').mkdir()
    os.setxattr(place / 'passed on', DEFAULT, acl((0x08, 5, 5678)))
    os.setxattr(place / 'passed on', ACCESS, acl((0x02, 7, 1234)))
    (place / 'passed on' / 'heir').write_text('with the ACL of its folder')
    os.mknod(place / 'passed on' / 'null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (place / 'stranger').write_text('made elsewhere')
    (place / 'stranger').rename(place / 'passed on' / 'stranger')


def spoil(place: Path) -> None:
    """Change everything that can be seen in a planted directory; some files look unchanged."""
    was = os.stat(place / 'same')
    (place / 'same').write_text('behind')
    for name in ('user.colour', 'trusted.note', 'security.note'):
        with contextlib.suppress(OSError):  # a copy by the host lacks some
            os.removexattr(place / 'same', name)
    os.setxattr(place / 'same', 'user.more', b'more')
    os.utime(place / 'same', ns=(was.st_atime_ns, was.st_mtime_ns))
    os.chown(place / 'ping', 1001, 1002)  # it loses its capability
    os.removexattr(place / 'ping of others', CAPABILITY)
    os.removexattr(place / 'listed', ACCESS)
    os.setxattr(place / 'world', ACCESS, acl((0x02, 6, 1234)))
    os.removexattr(place / 'passed on', DEFAULT)
    (place / 'as root').chmod(0o755)
    os.chown(place / 'of others', 0, 0)
    os.chown(place / 'absolute', 0, 0, follow_symlinks=False)
    (place / 'sticky').chmod(0o755)
    (place / 'linked').unlink()
    (place / 'linked').write_text('a file of its own')
    (place / 'sub' / 'random').write_bytes(b'short')
    for name in ('zero', 'disk', 'socket'):
        (place / name).chmod(0o4606)
    (place / 'pipe').unlink()
    (place / 'pipe').write_text('a file')
    (place / 'pointer').unlink()
    (place / 'pointer').mkdir()
    (place / 'dangling').unlink()
    (place / 'dangling').symlink_to('elsewhere')
    (place / 'empty').rename(place / 'more')
    (place / 'nothing inside' / 'deeper').rmdir()
    with (place / 'sparse').open('r+b') as file:
        file.write(os.urandom(_MIB))
    os.chown(place, 0, 0)
    place.chmod(0o700)
    os.removexattr(place, DEFAULT)
    os.removexattr(place, 'user.of the top')
