# SPDX-License-Identifier: Apache-2.0
"""RADOS namespaces of shares that are deleted, until all tickets have ended that clients may have, and no subvolume uses them.

They are noted in the cluster, in one object of each backend, so that neither a crash nor a restart forgets them, and another
host knows them, too. The object is where the service may write, and no client: no share has a name with a slash.
"""

import json
import threading
from collections.abc import Mapping

from manila_lite.drivers.cephfs.cluster import namespaces
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.drivers.cephfs.volumes.pools import Pools

#: The RADOS namespace of the notes, in the first data pool of the file system.
NOTES = f'{namespaces.OF_SHARES}/manila_lite'


class Later:
    """The notes of the backend ``host``. Safe for threads.

    Each call raises ``CommandFailed`` if the cluster does not answer, ``NotAllowed`` if the service may not write there.
    """

    def __init__(self, pools: Pools, identity: Identity, host: str):
        self._pools = pools
        self._identity = identity
        self._host = host
        self._lock = threading.Lock()

    @computed_once
    def _objects(self) -> Objects:
        mine = self._identity
        return Objects(str(mine.conf_path), mine.cluster, mine.auth_id, self._pools.of_filesystem()[0], NOTES)

    def all(self) -> Mapping[str, float]:
        """Return the namespaces, and when to look at each."""
        found: dict[str, float] = json.loads(self._objects.get(self._host) or b'{}')
        return found

    def add(self, namespace: str, until: float) -> None:
        """Note a namespace, durably."""
        with self._lock:
            self._put({**self.all(), namespace: until})

    def replace(self, before: Mapping[str, float], after: Mapping[str, float]) -> None:
        """Note other times of namespaces, and forget those without one, unless they were noted anew since ``before``."""
        with self._lock:
            noted = self.all()
            others = {name: until for name, until in noted.items() if before.get(name) != until}
            self._put({**{name: until for name, until in after.items() if name in noted}, **others})

    def _put(self, noted: Mapping[str, float]) -> None:
        self._objects.put(self._host, json.dumps(noted).encode())

    def close(self) -> None:
        if '_objects' in self.__dict__:
            self._objects.close()
