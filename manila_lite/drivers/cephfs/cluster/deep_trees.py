# SPDX-License-Identifier: Apache-2.0
"""A program that looks for directories which are too deep for the managers of a Ceph cluster, and moves them up.

A manager deletes and copies trees by a function that calls itself for each level. Some hundred levels below each other kill it,
and each manager that takes its place. This walk has a list of its own, and opens one directory at a time. It is a program, for
the Python of the system, which has Ceph's bindings; so it can be killed if a call of them hangs.

Most directories have only files. If the numbers are ``exact``, these are not read before a deletion: CephFS knows how many
directories are in each (``ceph.dir.subdirs``), and changes the number with the names, at least where one metadata server has
all. The number in a whole tree (``ceph.dir.rsubdirs``) is no help: it comes up late. It was 480 after a client had made 1,300
levels, and 608 half a minute later.

Standard input is a JSON object: what to connect with, the file system, the ``levels`` that may be, the ``patience`` in seconds
for one answer, whether numbers are ``exact``, and what to do, a ``verb`` with a ``path``. The number of directories that are too deep, or were,
is written.
"""

import importlib
import json
import os
import signal
import stat
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

#: Where managers keep what they delete: of a file system, and of a subvolume with snapshots.
_TRASH, _TRASH_OF_SUBVOLUME = b'/volumes/_deleting', b'.trash'
#: No files and no output of the library. And directories are moved although there are limits of size on the way.
_CONF = {'log_file': '', 'log_to_stderr': 'false', 'err_to_stderr': 'false', 'admin_socket': '', 'client_quota': 'false'}


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
    """A walk through a mounted file system; ``cephfs`` is the module. The process is killed if an answer takes too long."""

    def __init__(self, cephfs: ModuleType, mount: Any, levels: int, patience: int, *, exact: bool):
        self._cephfs, self._mount = cephfs, mount
        self._levels, self._patience, self._exact = levels, patience, exact

    def look(self, path: bytes) -> int:
        """Return 1 if a directory is too deep in one of those in this directory, else 0. Changes nothing."""
        return int(any(map(self._is_too_deep, self._within(path))))

    def flatten(self, path: bytes) -> int:
        """Move directories that are too deep up, in each of the directories in this one."""
        return sum(map(self._flatten, self._within(path)))

    def flatten_trash(self, path: bytes) -> int:
        """Do so with all that is deleted. Subvolumes with snapshots have a trash of their own, to which links lead."""
        links = [os.path.join(_TRASH, name) for name in self._names(_TRASH, stat.S_IFLNK)]
        return self.flatten(_TRASH) + sum(self._flatten(self._mount.readlink(link, 4096)) for link in links)

    def _within(self, path: bytes) -> list[bytes]:
        return [os.path.join(path, name) for name in self._names(path, stat.S_IFDIR) if name != _TRASH_OF_SUBVOLUME]

    def _is_too_deep(self, path: bytes) -> bool:
        todo = [_Node(path)]
        while todo:
            node = todo.pop()
            if node.level > self._levels:
                return True
            todo += [_Node(name, node) for name in self._names(node.path, stat.S_IFDIR)]
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
            self._mount.rename(node.path, new.path)
        except self._cephfs.ObjectNotFound:
            return node
        return new

    def _directories(self, path: bytes) -> list[bytes]:
        """Return the names of the directories in this one, which is read only if there are some."""
        signal.alarm(self._patience)
        try:
            number = int(self._mount.getxattr(path, 'ceph.dir.subdirs')) if self._exact else 1
        except self._cephfs.ObjectNotFound:
            return []
        return self._names(path, stat.S_IFDIR) if number else []

    def _names(self, path: bytes, kind: int) -> list[bytes]:
        """Return the names in the directory of this kind of file; none if the directory has gone."""
        signal.alarm(self._patience)
        try:
            folder = self._mount.opendir(path)
        except self._cephfs.ObjectNotFound:
            return []
        names: list[bytes] = []
        try:
            while True:
                signal.alarm(self._patience)
                entry = self._mount.readdir(folder)
                if not entry:
                    return names
                if entry.d_type << 12 == kind and entry.d_name not in (b'.', b'..'):
                    names.append(entry.d_name)
        finally:
            self._mount.closedir(folder)


VERBS: dict[str, Callable[[Walk, bytes], int]] = {
    'look': Walk.look, 'flatten': Walk.flatten, 'flatten trash': Walk.flatten_trash}


def main() -> None:
    """Do what standard input says."""
    asked = json.load(sys.stdin)
    signal.alarm(asked['patience'])
    cephfs, rados = importlib.import_module('cephfs'), importlib.import_module('rados')
    cluster = rados.Rados(name=asked['entity'], clustername=asked['cluster'], conffile=asked['conf'], conf=_CONF)
    cluster.connect()
    mount = cephfs.LibCephFS(rados_inst=cluster)
    mount.mount(filesystem_name=asked['filesystem'].encode())
    try:
        walk = Walk(cephfs, mount, asked['levels'], asked['patience'], exact=asked['exact'])
        sys.stdout.write(str(VERBS[asked['verb']](walk, asked['path'].encode())))
    finally:
        signal.alarm(asked['patience'])
        mount.shutdown()
        cluster.shutdown()


if __name__ == '__main__':
    main()
