# SPDX-License-Identifier: Apache-2.0
"""A program that looks for directories which are too deep for the managers of a Ceph cluster, and moves them up.

A manager deletes and copies trees by a function that calls itself for each level. Some hundred levels below each other kill it,
and each manager that takes its place. This walk has a list of its own, and opens one directory at a time. ``connected.py`` has
how it is run.

Most directories have only files. If the numbers are ``exact``, these are not read before a deletion: CephFS knows how many
directories are in each (``ceph.dir.subdirs``), and changes the number with the names, at least where one metadata server has
all. The number in a whole tree (``ceph.dir.rsubdirs``) is no help: it comes up late. It was 480 after a client had made 1,300
levels, and 608 half a minute later.

It is asked for what to do, a ``verb`` of ``VERBS``, with a ``path``, the ``levels`` that may be, and whether numbers are
``exact``. The number of directories that are too deep, or were, is its answer.
"""

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the Python of the system does not find it
    from manila_lite.drivers.cephfs.cluster.connected import Connection

#: Where managers keep what they delete: of a file system, and of a subvolume with snapshots.
_TRASH, _TRASH_OF_SUBVOLUME = b'/volumes/_deleting', b'.trash'


class _Node:
    """A directory of a walk, by its name in ``above``. That in which the walk began has its path as the name, and level 0."""

    __slots__ = ('above', 'level', 'name')

    def __init__(self, name: bytes, above: '_Node | None' = None):
        self.name, self.above = name, above
        self.level: int = above.level + 1 if above else 0

    @property
    def path(self) -> bytes:
        """The whole path."""
        names: list[bytes] = []
        node: _Node | None = self
        while node:
            names.append(node.name)
            node = node.above
        return b'/'.join(reversed(names))


class Walk:
    """A walk through the file system, in which ``levels`` of directories may be. ``exact``: see above."""

    def __init__(self, connection: 'Connection', levels: int, *, exact: bool):
        self._connection, self._levels, self._exact = connection, levels, exact

    def has_too_deep(self, path: bytes) -> int:
        """Return 1 if a directory is too deep in one of those in this directory, else 0. Changes nothing."""
        return int(any(map(self._is_too_deep, self._within(path))))

    def flatten(self, path: bytes) -> int:
        """Move directories that are too deep up, in each of the directories in this one."""
        return sum(map(self._flatten, self._within(path)))

    def flatten_trash(self, path: bytes) -> int:
        """Do so with all that is deleted. Subvolumes with snapshots have a trash of their own, to which links lead."""
        links = [os.path.join(_TRASH, name) for name in self._connection.names(_TRASH, stat.S_IFLNK)]
        return self.flatten(_TRASH) + sum(
            self._flatten(self._connection.mount.readlink(link, 4096)) for link in links
        )

    def _within(self, path: bytes) -> list[bytes]:
        return [os.path.join(path, name) for name in self._all_in(path) if name != _TRASH_OF_SUBVOLUME]

    def _is_too_deep(self, path: bytes) -> bool:
        todo = [_Node(path)]
        while todo:
            node = todo.pop()
            if node.level > self._levels:
                return True
            todo += [_Node(name, node) for name in self._all_in(node.path)]
        return False

    def _flatten(self, path: bytes) -> int:
        root = _Node(path)
        todo, moved = [root], 0
        while todo:
            node = todo.pop()
            if node.level > self._levels:
                node = self._moved(node, root)
                moved += 1
            todo += [_Node(name, node) for name in self._directories(node.path)]
        return moved

    def _moved(self, node: _Node, root: _Node) -> _Node:
        """Move the directory to the root. Return it as it is then; it may have gone meanwhile, since managers delete, too."""
        new = _Node(b'deep-' + os.urandom(16).hex().encode(), root)
        try:
            self._connection.mount.rename(node.path, new.path)
        except self._connection.cephfs.ObjectNotFound:
            return node
        return new

    def _directories(self, path: bytes) -> list[bytes]:
        """Return the names of the directories in this one, which is read only if there are some."""
        if self._exact and not int(self._connection.xattr(path, 'ceph.dir.subdirs') or 0):
            return []
        return self._all_in(path)

    def _all_in(self, path: bytes) -> list[bytes]:
        return self._connection.names(path, stat.S_IFDIR)


def _verb(act: Callable[[Walk, bytes], int]) -> Callable[['Connection', dict[str, Any]], int]:
    return lambda connection, asked: act(
        Walk(connection, asked['levels'], exact=asked['exact']), asked['path'].encode()
    )


VERBS = {
    'check': _verb(Walk.has_too_deep),
    'flatten': _verb(Walk.flatten),
    'flatten trash': _verb(Walk.flatten_trash),
}
