# SPDX-License-Identifier: Apache-2.0
"""Ending the sessions of clients that lost their access.

Taking away an id's capabilities does not end what it has mounted: metadata servers and OSDs look at them only when a client
connects. So the sessions of the id are evicted, and the cluster blocks their addresses.

All sessions of the id are evicted, also those that say that they are about another share: a client says what it has mounted,
and nobody checks that. For the same reason ``fs subvolume evict`` does not suffice: it evicts only clients that say that they
have mounted exactly the root of the share.

Metadata servers know a session by the id without its type, so ``x`` is also the manager ``mgr.x``, which works in the file
system. It has the whole of it mounted, which Ceph lets no client of a share say.
"""

from collections.abc import Iterable, Mapping

from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.protocols.auth_ids import ids_in, text_of
from manila_lite.drivers.cephfs.volumes.subvolumes import TO_EVICT, Subvolumes


class Sessions:
    """The sessions of clients with the file system. Safe for threads."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes):
        self._cluster = cluster
        self._subvolumes = subvolumes

    def evict(self, auth_id: str) -> None:
        """End all sessions of the id, on every active metadata server."""
        filesystem = self._subvolumes.filesystem
        for rank in self._ranks():
            server = f'{filesystem}:{rank}'
            for session in self._cluster.metadata_server(server, 'client ls', filters=[f'auth_name={auth_id}']) or ():
                if session.get('client_metadata', {}).get('root') != '/':
                    self._cluster.metadata_server(server, 'client evict', filters=[f'id={session["id"]}'])

    def _ranks(self) -> list[int]:
        status = self._cluster.monitor('fs dump')
        for one in status['filesystems']:
            if one['mdsmap']['fs_name'] == self._subvolumes.filesystem:
                return sorted(one['mdsmap']['in'])
        return []

    # What must still be ended is marked in the cluster before it is begun, so that a crash in between forgets nothing.

    def plan(self, name: str, auth_ids: Iterable[str]) -> None:
        """Mark the subvolume: sessions of these ids must be ended."""
        self._subvolumes.mark(name, TO_EVICT, text_of(auth_ids))

    def done(self, name: str) -> None:
        """Delete the mark."""
        self._subvolumes.unmark(name, TO_EVICT)


def planned(marks: Mapping[str, str]) -> frozenset[str]:
    """Return the ids whose sessions must still be ended, by the marks of a subvolume."""
    return ids_in(marks.get(TO_EVICT))
