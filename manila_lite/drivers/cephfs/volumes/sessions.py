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

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes


@dataclasses.dataclass(frozen=True)
class Session:
    """A session of a client with the metadata server ``server``, as ``filesystem:0``. ``number`` is the client's, and
    ``machine`` the host and the process that it says to be, with the address from which it is connected; ``root`` the
    directory that it says to have mounted. It is stale if the client has not been heard of for a minute.
    """

    server: str
    number: int
    machine: str
    root: str
    is_stale: bool = False

    def is_below(self, path: str) -> bool:
        """Say whether it is about this directory or one below, as the client says."""
        return f'{self.root}/'.startswith(f'{path}/')


class Sessions:
    """The sessions of clients with the file system. Safe for threads."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes):
        self._cluster = cluster
        self._subvolumes = subvolumes

    def evict(self, auth_id: str) -> None:
        """End all sessions of the id, on every active metadata server."""
        self.end(self.of(auth_id))

    def of(self, auth_id: str) -> list[Session]:
        """Return the sessions of the id with every active metadata server, without those of a whole file system."""
        return [_session(server, told) for server in self._servers()
                for told in self._cluster.metadata_server(server, 'client ls', filters=[f'auth_name={auth_id}']) or ()
                if _root(told) != '/']

    def end(self, sessions: Iterable[Session]) -> None:
        """End these sessions."""
        for session in sessions:
            self._cluster.metadata_server(session.server, 'client evict', filters=[f'id={session.number}'])

    @property
    def can_be_asked_for(self) -> bool:
        """Whether all metadata servers are there. One that is away is waited for."""
        served = self._map()
        active = {server['rank'] for server in served.get('info', {}).values() if server['state'] == 'up:active'}
        return bool(served) and active >= set(served['in'])

    def _servers(self) -> Sequence[str]:
        return [f'{self._subvolumes.filesystem}:{rank}' for rank in sorted(self._map().get('in', ()))]

    def _map(self) -> Mapping[str, Any]:
        """Return what the monitors know of the metadata servers of the file system."""
        return next((one['mdsmap'] for one in self._cluster.monitor('fs dump')['filesystems']
                     if one['mdsmap']['fs_name'] == self._subvolumes.filesystem), {})


def _session(server: str, told: Mapping[str, Any]) -> Session:
    address, _, _ = str(told.get('entity', {}).get('addr', {}).get('addr', '')).rpartition(':')
    says = told.get('client_metadata', {})
    machine = f'{says.get("hostname", "?")} at {address}, process {says.get("pid", "?")}'
    return Session(server, int(told['id']), machine, _root(told), told.get('state') == 'stale')


def _root(told: Mapping[str, Any]) -> str:
    return str(told.get('client_metadata', {}).get('root', ''))
