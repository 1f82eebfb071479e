# SPDX-License-Identifier: Apache-2.0
"""All that can be seen of a tree of files, and what each way of copying keeps of it.

``doc/source/user/copies.rst`` has the same table for readers.
"""

import array
import contextlib
import fcntl
import hashlib
import os
import stat
import subprocess
from pathlib import Path

from manila_lite.tests.factories import files

_USER_FLAGS = 0xFF
#: What can be seen of a tree: a row of the table. Each maps the paths to values.
SEEN = (
    'kinds and names',
    'content',
    'modes',
    'owners and groups',
    'times of change',
    'times of access',
    'times of creation',
    'hard links',
    'holes',
    'extended attributes',
    'file capabilities',
    'POSIX ACLs',
    'other attributes',
    'flags',
)
#: What each way of copying drops. ``in_twin/moves.py`` and ``in_twin/cifs_moves.py`` try the last two with fewer files.
DROPS = {
    'snapshot': frozenset(),
    'driver': frozenset({'times of creation', 'flags'}),
    'host': frozenset({'times of access', 'times of creation', 'other attributes', 'flags'}),
    'NFS': frozenset(
        {
            'times of access',
            'times of creation',
            'extended attributes',
            'file capabilities',
            'POSIX ACLs',
            'other attributes',
            'flags',
        }
    ),
    'CIFS': frozenset(
        {
            'modes',
            'owners and groups',
            'times of access',
            'times of creation',
            'hard links',
            'file capabilities',
            'POSIX ACLs',
            'other attributes',
            'flags',
        }
    ),
}


def look(place: Path) -> dict[str, dict[bytes, object]]:
    """Return all that can be seen of a directory and of everything in it."""
    top = os.fsencode(place)
    seen: dict[str, dict[bytes, object]] = {name: {} for name in SEEN}
    peers: dict[tuple[int, int], list[bytes]] = {}
    paths = [top, *files.below(top)]
    for path in paths:
        name, about = os.path.relpath(path, top), os.lstat(path)
        for what, value in _about(path, about).items():
            seen[what][name] = value
        if not stat.S_ISDIR(about.st_mode):
            seen['hard links'][name] = peers.setdefault((about.st_dev, about.st_ino), [])
            peers[about.st_dev, about.st_ino].append(name)
    births = subprocess.run(
        ('stat', '--printf', '%.9W\n', '--', *paths), check=True, capture_output=True
    ).stdout.split()
    seen['times of creation'] = {
        os.path.relpath(path, top): birth for path, birth in zip(paths, births, strict=True)
    }
    return seen


def _about(path: bytes, about: os.stat_result) -> dict[str, object]:
    attributes = {
        name: os.getxattr(path, name, follow_symlinks=False)
        for name in sorted(map(os.fsencode, os.listxattr(path, follow_symlinks=False)))
    }
    acls = {
        os.fsencode(name): attributes.pop(os.fsencode(name), None) for name in (files.ACCESS, files.DEFAULT)
    }
    capability = attributes.pop(os.fsencode(files.CAPABILITY), None)
    users = {name: attributes.pop(name) for name in list(attributes) if name.startswith(b'user.')}
    return {
        'kinds and names': (
            stat.S_IFMT(about.st_mode),
            about.st_rdev,
            os.readlink(path) if stat.S_ISLNK(about.st_mode) else '',
        ),
        'modes': oct(stat.S_IMODE(about.st_mode)),
        'owners and groups': (about.st_uid, about.st_gid),
        'times of change': about.st_mtime_ns,
        'times of access': about.st_atime_ns,
        'POSIX ACLs': acls,
        'file capabilities': capability,
        'extended attributes': users,
        'other attributes': attributes,
        **(_inside(path) if stat.S_ISREG(about.st_mode) else {}),
    }


def _inside(path: bytes) -> dict[str, object]:
    with open(path, 'rb') as file:
        flags = array.array('L', [0])
        fcntl.ioctl(file, files.GET_FLAGS, flags)
        holes, at = [], 0
        with contextlib.suppress(OSError):  # there is no more data
            while True:
                data = file.seek(at, os.SEEK_DATA)
                holes.append((at, data))
                at = file.seek(data, os.SEEK_HOLE)
        file.seek(0)
        content = hashlib.file_digest(file, 'sha256').hexdigest()
        return {'flags': flags[0] & _USER_FLAGS, 'holes': (holes, at), 'content': content}


def lost(before: dict[str, dict[bytes, object]], after: dict[str, dict[bytes, object]]) -> set[str]:
    """Return what of a tree is not in its copy as it was."""
    return {what for what in SEEN if before[what] != after[what]}


def differences(
    before: dict[bytes, object], after: dict[bytes, object]
) -> list[tuple[bytes, object, object]]:
    """Return what differs, by path."""
    return [
        (name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
