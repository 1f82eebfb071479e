# SPDX-License-Identifier: Apache-2.0
"""A program that counts or removes the objects in the RADOS namespaces of shares. ``connected.py`` has how it is run.

The key of a client may write objects in the namespace of its share, beside CephFS: no limit counts them, and they do not go
with the share. A copy of a share stays in the namespace of that share.

It is asked for a ``verb``, with the data ``pools`` of the file system: ``remove`` removes all objects of the ``namespaces``
which no subvolume uses; ``count`` counts the objects of those that one uses. Its answer is, by namespace, the number of objects
that were removed, or that are there beyond what CephFS has; ``null`` if a subvolume uses it, and ``null`` alone if the service
may not look into namespaces.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the Python of the system does not find it
    from manila_lite.drivers.cephfs.cluster.connected import Connection

_VOLUMES, _TRASH = b'/volumes', b'/volumes/_deleting'
#: With this the names of namespaces of shares begin.
OF_SHARES = 'fsvolumens_'
#: Bytes in an object of a file, unless somebody with more rights than a client has changed that.
_OBJECT = 1 << 22

_Found = dict[str, int | None]


class Users:
    """The directories of subvolumes that use a namespace, also in snapshots of them and of directories above, which an operator
    may take; ``counted`` if their files are, too.
    """

    def __init__(self, connection: 'Connection', *, counted: bool):
        self._connection, self._counted = connection, counted
        #: The largest number of objects that CephFS has of them, by namespace.
        self.objects: Counter[str] = Counter()
        for group in self._within(_VOLUMES):
            if group != _TRASH:
                # A directory shows the snapshots of those above, too.
                for folder in (group, *self._within(os.path.join(group, b'.snap'))):
                    for subvolume in self._within(folder):
                        self._add(subvolume)

    def _add(self, subvolume: bytes) -> None:
        for folder in (subvolume, *self._within(os.path.join(subvolume, b'.snap'))):
            for path in (folder, *self._within(folder)):
                namespace = self._connection.xattr(path, 'ceph.dir.layout.pool_namespace')
                if namespace:
                    self.objects[namespace] += self._objects_in(path) if self._counted else 0

    def _objects_in(self, path: bytes) -> int:
        files, size = (self._connection.xattr(path, name) for name in ('ceph.dir.rfiles', 'ceph.dir.rbytes'))
        return int(files or 0) + int(size or 0) // _OBJECT

    def _within(self, path: bytes) -> list[bytes]:
        return [os.path.join(path, name) for name in self._connection.names(path, stat.S_IFDIR)]


def may_look(connection: 'Connection', pool: Any) -> bool:
    """Say whether the service may read objects of shares. The list of a namespace into which it may not look is empty."""
    pool.set_namespace(f'{OF_SHARES}nobody')
    try:
        pool.stat('nothing')
    except connection.rados.ObjectNotFound:
        return True
    except connection.rados.PermissionError:
        return False
    return True


def _remove_all(connection: 'Connection', pool: Any, namespace: str) -> int:
    """Remove all objects of the namespace in the pool. Return how many there were."""
    number = 0
    pool.set_namespace(namespace)
    for one in pool.list_objects():
        connection.wait()
        pool.set_locator_key(one.locator_key or '')  # whoever wrote it may have chosen its place
        try:
            pool.remove_object(one.key)
        except connection.rados.ObjectNotFound:
            continue
        number += 1
    return number


def _count_all(connection: 'Connection', pool: Any, namespace: str) -> int:
    """Return the number of objects of the namespace in the pool."""
    number = 0
    pool.set_namespace(namespace)
    pool.set_locator_key('')
    for _ in pool.list_objects():
        connection.wait()
        number += 1
    return number


def _remove(connection: 'Connection', pools: list[Any], asked: dict[str, Any]) -> _Found:
    users = Users(connection, counted=False).objects
    return {
        name: None if name in users else sum(_remove_all(connection, pool, name) for pool in pools)
        for name in asked['namespaces']
    }


def _count(connection: 'Connection', pools: list[Any], asked: dict[str, Any]) -> _Found:
    users = Users(connection, counted=True).objects
    return {
        name: sum(_count_all(connection, pool, name) for pool in pools) - most for name, most in users.items()
    }


def _verb(
    act: Callable[['Connection', list[Any], dict[str, Any]], _Found],
) -> Callable[['Connection', dict[str, Any]], _Found | None]:
    def asked_for(connection: 'Connection', asked: dict[str, Any]) -> _Found | None:
        pools = [connection.cluster.open_ioctx(name) for name in asked['pools']]
        return act(connection, pools, asked) if all(may_look(connection, pool) for pool in pools) else None

    return asked_for


VERBS = {'remove': _verb(_remove), 'count': _verb(_count)}
