# SPDX-License-Identifier: Apache-2.0
"""Unmanaged resources of a pool: their marks, and the search for a path that an administrator gives.

A mark is a file ``left/shares/ID`` or ``left/snapshots/ID`` in the pool. A marked share or snapshot stays where it is,
but is not found by its id any more, even by a call that is still running.
"""

import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from manila_lite import errors
from manila_lite.host import durable

SHARES, SNAPSHOTS = 'shares', 'snapshots'


class Unmanaged:
    """The marks of one type of resource, ``shares`` or ``snapshots``, in the pool at ``root``."""

    def __init__(self, root: Path, resource_type: str):
        self._folder = root / 'left' / resource_type

    def __contains__(self, resource_id: str) -> bool:
        return (self._folder / resource_id).exists()

    def add(self, resource_id: str, note: str = '') -> None:
        """Mark the resource as unmanaged, durably."""
        self._folder.mkdir(parents=True, exist_ok=True)
        durable.replace(self._folder / resource_id, note)

    def drop(self, resource_id: str) -> None:
        (self._folder / resource_id).unlink(missing_ok=True)

    def note(self, resource_id: str) -> str:
        """Return the text of the mark, or ''."""
        return durable.text(self._folder / resource_id)


def parts_of(path: str, root: Path, addresses: Iterable[str]) -> tuple[str, ...]:
    r"""Return the parts of a path, relative to the pool's root.

    The path is ``address:/way``, ``\\address\share``, or a path of this machine.

    :raises errors.Final: it names nothing in the pool.
    """
    if path.startswith('\\\\'):
        address, _, name = path[2:].partition('\\')
        path = f'{address}:/{SHARES}/{name}' if name else f'{address}:/'
    address, colon, way = path.rpartition(':/')
    if colon:
        if address.strip('[]') not in set(addresses):
            raise errors.Final(f'{path}: {address} is not an address that this backend exports shares from.')
        parts = PurePosixPath(way).parts
    else:
        try:
            parts = PurePosixPath(path).relative_to(root).parts
        except ValueError:
            raise errors.Final(f'{path} is not in the pool, which is {root}.') from None
    if not parts or any(part.startswith('.') or '/' in part or '\0' in part for part in parts):
        raise errors.Final(f'{path} names nothing that can be managed.')
    return parts


def walk(root: Path, parts: tuple[str, ...]) -> Path:
    """Return the directory at the end of the path. Links are not followed, and other file systems and subvolumes not
    entered.

    :raises errors.Final: there is none.
    """
    path, home = root, root.lstat().st_dev
    for number, part in enumerate(parts, 1):
        path /= part
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            raise errors.Final(f'There is no {path}.') from None
        if not stat.S_ISDIR(status.st_mode):
            raise errors.Final(f'{path} is not a directory.')
        if number < len(parts) and status.st_dev != home:
            raise errors.Final(
                f'{path} is a share or another file system; a directory inside it cannot be managed.'
            )
    return path
