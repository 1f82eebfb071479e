# SPDX-License-Identifier: Apache-2.0
"""Objects in the RADOS namespaces of shares: with the key of a share, a client can write some beside CephFS.

They go with the share, unless a subvolume still uses the namespace: a copy stays in that of the share that it was made of. They
go once more when all tickets have ended that clients of the share may have: until then these may write. That is noted before
the share is removed, and looked at once a day while a subvolume uses the namespace.

Nothing counts objects beside CephFS; so once a day the number of objects in each namespace is compared with what CephFS can
have there.
"""

import threading
import time
from collections.abc import Sequence

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster import namespaces
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.cluster.objects import NotAllowed
from manila_lite.drivers.cephfs.volumes import side_programs
from manila_lite.drivers.cephfs.volumes.evictions import end_of_tickets, is_over
from manila_lite.drivers.cephfs.volumes.later import Later
from manila_lite.drivers.cephfs.volumes.pools import Pools
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes

LOG = log.getLogger(__name__)

#: Seconds between two counts, until the first one, and for one while the service reports.
_COUNT_EVERY, _FIRST, _MEANWHILE = 86400.0, 3600.0, 60.0
#: Objects beyond those of CephFS that a namespace may have: of files that are just being deleted.
_TOLERATED = 100
#: What the service needs for that.
CAPABILITY = f'allow rw namespace={namespaces.OF_SHARES}* tag cephfs data=*'
_NO_RIGHT = (
    'The service may not look into the RADOS namespaces of shares, so it does not remove what clients wrote there '
    f'beside CephFS. Give it the capability osd \'{CAPABILITY}\' with "ceph auth caps"'
)


class Objects:
    """The objects of the shares of one backend, ``host``. Safe for threads."""

    def __init__(
        self, cluster: Cluster, subvolumes: Subvolumes, pools: Pools, identity: Identity, host: str = ''
    ):
        self._cluster = cluster
        self._subvolumes = subvolumes
        self._pools = pools
        self._identity = identity
        self._later = Later(pools, identity, host)
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._next_count = time.monotonic() + _FIRST
        self._denied = False
        #: Objects beyond those of CephFS, by namespace, if there are many.
        self.strange: dict[str, int] | None = None

    def problems(self) -> list[str]:
        """Return what an administrator has to do, in words."""
        return [
            *([_NO_RIGHT] if self._denied else []),
            *(
                f'RADOS namespace {name} has {number} objects more than CephFS: a client wrote them with the key of its share, '
                'beside its size'
                for name, number in sorted((self.strange or {}).items())
            ),
        ]

    def plan(self, namespace: str) -> None:
        """Note, durably, to remove objects of the namespace when all tickets have ended that clients have now, or whenever no
        subvolume uses it. Call this when nobody has access to the share any more, and before its subvolume is removed.

        :raises CommandFailed: the cluster does not answer.
        """
        if not namespace.startswith(namespaces.OF_SHARES):
            return
        try:
            self._later.add(namespace, end_of_tickets(self._cluster))
        except NotAllowed:
            self._deny()

    def _deny(self) -> None:
        if not self._denied:
            LOG.error(_NO_RIGHT)
        self._denied = True

    def remove(self, namespace: str) -> None:
        """Remove all objects of the namespace, whose share is deleted, if no subvolume uses it.

        :raises Away: the cluster does not answer.
        """
        if not namespace.startswith(namespaces.OF_SHARES):  # nothing else is ever removed
            return
        self._asked.add(namespace)
        with self._lock:  # one look at all subvolumes is for all shares that are being deleted
            if namespace in self._asked:
                self._remove(sorted(self._asked.copy()), side_programs.WHOLE)

    def _remove(self, names: Sequence[str], seconds: float) -> list[str]:
        """Remove all objects of these namespaces. Return those whose objects stay: subvolumes use them."""
        found = self._ask('remove', seconds, namespaces=names)
        if found is None:
            self._deny()
        else:
            self._denied = False
        for name in names:
            if found and found[name]:
                LOG.info('RADOS namespace %s: %s objects were left, and are removed', name, found[name])
            self._asked.discard(name)
        return [name for name in names if found is None or found[name] is None]

    def keep_up(self) -> None:
        """Remove objects of deleted shares when all tickets of their clients have ended. Count once a day. The report of the
        service waits for this, so it skips the removal while a deletion holds the lock: the next report comes soon.
        """
        try:
            over = {name: until for name, until in self._later.all().items() if is_over(until)}
            if over and self._lock.acquire(blocking=False):
                try:
                    used = self._remove(sorted(over), _MEANWHILE)
                finally:
                    self._lock.release()
                self._later.replace(over, dict.fromkeys(used, time.time() + _COUNT_EVERY))
            if time.monotonic() > self._next_count:
                self._next_count = time.monotonic() + _COUNT_EVERY
                self.count(_MEANWHILE)
        except NotAllowed:
            self._deny()
        except errors.ManilaLiteError as bad:
            LOG.warning('Objects that clients wrote beside CephFS are looked for later: %s', bad)

    def close(self) -> None:
        self._later.close()

    def count(self, seconds: float = side_programs.WHOLE) -> dict[str, int]:
        """Return the namespaces with many more objects than CephFS has in them, and how many more.

        :raises Away: the cluster does not answer, or it takes longer.
        """
        found = self._ask('count', seconds)
        self._denied = found is None
        if found is None:
            return {}
        self.strange = {
            name: number
            for name, number in found.items()
            if name.startswith(namespaces.OF_SHARES) and number > _TOLERATED
        }
        return self.strange

    def _ask(self, verb: str, seconds: float, **asked: Sequence[str]) -> dict[str, int] | None:
        told: dict[str, int] | None = side_programs.ask(
            namespaces,
            self._identity,
            self._subvolumes.filesystem,
            seconds,
            verb=verb,
            pools=self._pools.of_filesystem(),
            **asked,
        )
        return told


def namespace_of(name: str) -> str:
    """Return the namespace that Ceph makes for a subvolume of this name, unless it is a copy."""
    return f'{namespaces.OF_SHARES}{name}'
