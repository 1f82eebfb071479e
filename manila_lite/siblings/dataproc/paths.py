# SPDX-License-Identifier: Apache-2.0
"""Mount points on a node: absolute Linux paths outside of the system's folders."""

import itertools
import unicodedata
from collections.abc import Iterable

from manila_lite import errors

#: Largest size of a path and of one part of it, in bytes, in the kernel.
LONGEST, LONGEST_PART = 4095, 255
#: Folders of the system, in which nothing is mounted; ``/lib`` stands for all names that begin so (``/lib64``).
SYSTEM = ('/proc', '/sys', '/dev', '/boot', '/etc', '/usr', '/bin', '/sbin', '/run', '/root')
_LIBRARIES = '/lib'
_PARTS_OF_VAR = ('cache', 'lib', 'lock', 'log', 'mail', 'run', 'spool', 'tmp')
#: Folders with data of the node that nothing may hide; below them something may be mounted.
KEPT = frozenset(
    ('/home', '/opt', '/tmp', '/var', *(f'/var/{name}' for name in _PARTS_OF_VAR))  # noqa: S108 - a name, no file
)


def default(share_id: str) -> str:
    """Return the default mount point of a share."""
    return f'/mnt/{share_id}'


def normal(path: str) -> str:
    """Return the path without empty parts and slashes at its end.

    :raises errors.Invalid: nothing may be mounted there; the message says why.
    """
    if not path.startswith('/'):
        raise errors.Invalid(f'path: {path!r} is not absolute.')
    if any(unicodedata.category(one) in ('Cc', 'Cs', 'Zl', 'Zp') for one in path):
        raise errors.Invalid(f'path: {path!r} holds a control character.')
    if len(path.encode()) > LONGEST:
        raise errors.Invalid(f'path: longer than {LONGEST} bytes.')
    parts = [part for part in path.split('/') if part]
    for part in parts:
        if part in ('.', '..'):
            raise errors.Invalid(f'path: {path!r} has a part {part!r}.')
        if len(part.encode()) > LONGEST_PART:
            raise errors.Invalid(f'path: a part of it is longer than {LONGEST_PART} bytes.')
    normal_path = '/' + '/'.join(parts)
    if not parts or _is_system(normal_path):
        raise errors.Invalid(f'path: {normal_path!r} belongs to the system of the nodes.')
    if normal_path in KEPT:
        raise errors.Invalid(
            f'path: {normal_path!r} holds data of the nodes, which the share would hide; name a directory '
            'below it.'
        )
    return normal_path


def _is_system(path: str) -> bool:
    first = '/' + path.split('/')[1]
    return first in SYSTEM or first.startswith(_LIBRARIES)


def within(inner: str, outer: str) -> bool:
    """Say whether a normal path is the other path or below it."""
    return inner == outer or inner.startswith(f'{outer}/')


def clash(paths: Iterable[str]) -> tuple[str, str] | None:
    """Return two of these normal paths where one is equal to the other or below it; the outer path first."""
    # In this order the paths below a path directly follow it.
    ordered = sorted(paths, key=lambda path: path.split('/'))
    for outer, inner in itertools.pairwise(ordered):
        if within(inner, outer):
            return outer, inner
    return None
