# SPDX-License-Identifier: Apache-2.0
"""A program that counts or removes the objects in the RADOS namespaces of shares, as ``deep_trees.py`` walks through trees.

The key of a client may write objects in the namespace of its share, beside CephFS: no limit counts them, and they do not go
with the share. A copy of a share stays in the namespace of that share.

Standard input is a JSON object: what to connect with, the file system, its data ``pools``, the ``patience`` in seconds for one
answer, and the ``verb``. ``remove`` removes all objects of the ``namespaces`` which no subvolume uses; ``count`` counts the
objects of those that one uses. By namespace, the number of objects that were removed, or that are there beyond what CephFS has,
is written; ``null`` if a subvolume uses it, and ``null`` alone if the service may not look into namespaces.
"""

import importlib
import json
import os
import signal
import stat
import sys
from collections import Counter
from types import ModuleType
from typing import Any

_VOLUMES, _TRASH = b'/volumes', b'/volumes/_deleting'
#: With this the names of namespaces of shares begin.
OF_SHARES = 'fsvolumens_'
#: Bytes in an object of a file, unless somebody with more rights than a client has changed that.
_OBJECT = 1 << 22


class Users:
    """The directories of subvolumes, and of their snapshots, that use a namespace; ``counted`` if their files are, too."""

    def __init__(self, cephfs: ModuleType, mount: Any, patience: int, *, counted: bool):
        self._cephfs, self._mount, self._patience, self._counted = cephfs, mount, patience, counted
        #: The largest number of objects that CephFS has of them, by namespace.
        self.objects: Counter[str] = Counter()
        for group in self._within(_VOLUMES):
            if group != _TRASH:
                for subvolume in self._within(group):
                    self._add(subvolume)

    def _add(self, subvolume: bytes) -> None:
        for place in (subvolume, *self._within(os.path.join(subvolume, b'.snap'))):
            for path in (place, *self._within(place)):
                namespace = self._xattr(path, 'ceph.dir.layout.pool_namespace')
                if namespace:
                    self.objects[namespace] += self._objects_in(path) if self._counted else 0

    def _objects_in(self, path: bytes) -> int:
        return int(self._xattr(path, 'ceph.dir.rfiles') or 0) + int(self._xattr(path, 'ceph.dir.rbytes') or 0) // _OBJECT

    def _xattr(self, path: bytes, name: str) -> str:
        signal.alarm(self._patience)
        try:
            return str(self._mount.getxattr(path, name).decode())
        except (self._cephfs.NoData, self._cephfs.ObjectNotFound):
            return ''

    def _within(self, path: bytes) -> list[bytes]:
        signal.alarm(self._patience)
        try:
            folder = self._mount.opendir(path)
        except self._cephfs.ObjectNotFound:
            return []
        paths: list[bytes] = []
        try:
            while True:
                entry = self._mount.readdir(folder)
                if not entry:
                    return paths
                if entry.d_type << 12 == stat.S_IFDIR and entry.d_name not in (b'.', b'..'):
                    paths.append(os.path.join(path, entry.d_name))
        finally:
            self._mount.closedir(folder)


def may_look(rados: ModuleType, pool: Any) -> bool:
    """Say whether the service may read objects of shares. The list of a namespace into which it may not look is empty."""
    pool.set_namespace(f'{OF_SHARES}nobody')
    try:
        pool.stat('nothing')
    except rados.ObjectNotFound:
        return True
    except rados.PermissionError:
        return False
    return True


def remove(rados: ModuleType, pool: Any, namespace: str, patience: int) -> int:
    """Remove all objects of the namespace in the pool. Return how many there were."""
    number = 0
    pool.set_namespace(namespace)
    for one in pool.list_objects():
        signal.alarm(patience)
        pool.set_locator_key(one.locator_key or '')     # whoever wrote it may have chosen its place
        try:
            pool.remove_object(one.key)
        except rados.ObjectNotFound:
            continue
        number += 1
    return number


def count(pool: Any, namespace: str, patience: int) -> int:
    """Return the number of objects of the namespace in the pool."""
    number = 0
    pool.set_namespace(namespace)
    pool.set_locator_key('')
    for _ in pool.list_objects():
        signal.alarm(patience)
        number += 1
    return number


def main() -> None:
    """Do what standard input says."""
    asked = json.load(sys.stdin)
    patience = asked['patience']
    signal.alarm(patience)
    cephfs, rados = importlib.import_module('cephfs'), importlib.import_module('rados')
    cluster = rados.Rados(name=asked['entity'], clustername=asked['cluster'], conffile=asked['conf'], conf={
        'log_file': '', 'log_to_stderr': 'false', 'err_to_stderr': 'false', 'admin_socket': ''})
    cluster.connect()
    mount = cephfs.LibCephFS(rados_inst=cluster)
    mount.mount(filesystem_name=asked['filesystem'].encode())
    try:
        pools = [cluster.open_ioctx(name) for name in asked['pools']]
        found: dict[str, int | None] | None = None
        if all(may_look(rados, pool) for pool in pools):
            users = Users(cephfs, mount, patience, counted=asked['verb'] == 'count').objects
            if asked['verb'] == 'remove':
                found = {name: None if name in users else sum(remove(rados, pool, name, patience) for pool in pools)
                         for name in asked['namespaces']}
            else:
                found = {name: sum(count(pool, name, patience) for pool in pools) - most for name, most in users.items()}
        json.dump(found, sys.stdout)
    finally:
        signal.alarm(patience)
        mount.shutdown()
        cluster.shutdown()


if __name__ == '__main__':
    main()
