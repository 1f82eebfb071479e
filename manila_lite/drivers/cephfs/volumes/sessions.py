# SPDX-License-Identifier: Apache-2.0
"""Ending the sessions of clients that lost their access.

Taking away an id's capabilities does not end what it has mounted: metadata servers and OSDs look at them only when a client
connects. So the sessions of the id are evicted, and the cluster blocks their addresses.

All sessions of the id are evicted, by the name with which they authenticated: the metadata server compares it, and nothing that
a client says of itself takes part. The list of sessions holds words of clients, and Ceph 16.2 does not escape their keys: a key
can break the list, or forge a directory or a session in it. So only an empty list says that nobody is left. What else is read
from it is read strictly, and each number that is read from it is sent back together with the name.

Metadata servers know a session by the id without its type, so ``x`` is also the manager ``mgr.x``. Nobody gets such an id.
"""

import dataclasses
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes

#: Seconds within which a session must be gone after it was evicted, and between two looks.
_GONE, _PAUSE = 20.0, 0.2
#: The key of what a client says of itself. Each session has it.
_WORDS = 'client_metadata'
#: What metadata servers tell of a session, of all releases. Anything else may be forged.
_KEYS = frozenset(
    {
        'id',
        'entity',
        'state',
        'num_leases',
        'num_caps',
        'caps',
        'request_load_avg',
        'uptime',
        'requests_in_flight',
        'num_completed_requests',
        'num_completed_flushes',
        'reconnecting',
        'recall_caps',
        'release_caps',
        'recall_caps_throttle',
        'recall_caps_throttle2o',
        'session_cache_liveness',
        'cap_acquisition',
        'last_trim_completed_requests_tid',
        'last_trim_completed_flushes_tid',
        'delegated_inos',
        'inst',
        'completed_requests',
        'prealloc_inos',
        _WORDS,
    }
)


class Unreadable(errors.ManilaLiteError):
    """The list of sessions is no proper one: a client may have forged it. Evict by the name."""

    code = 'ceph_unreadable'


@dataclasses.dataclass(frozen=True)
class Session:
    """A session of a client with the metadata server ``server``, as ``filesystem:0``. ``number`` is the client's, and
    ``machine`` the host and the process that it says to be, with the address from which it is connected; ``root`` the
    directory that it says to have mounted. It is stale if the client has not been heard of for a minute. ``auth_id`` is the
    name with which it authenticated.
    """

    server: str
    number: int
    machine: str
    root: str
    is_stale: bool = False
    auth_id: str = ''

    def is_below(self, path: str) -> bool:
        """Say whether it is about this directory or one below, as the client says."""
        return f'{self.root}/'.startswith(f'{path}/')


class Sessions:
    """The sessions of clients with the file system. Safe for threads."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes):
        self._cluster = cluster
        self._subvolumes = subvolumes

    def evict(self, auth_id: str) -> None:
        """End all sessions of the id, on every active metadata server.

        :raises Away: some are still there.
        """
        end = time.monotonic() + _GONE
        while self.are_any(auth_id):
            self._end_all(auth_id)
            if time.monotonic() > end:
                raise Away(
                    f'Clients of Ceph id {auth_id} still have sessions, although they were evicted. Look at "ceph '
                    'tell mds.FILESYSTEM:RANK client ls".'
                )
            time.sleep(_PAUSE)

    def evict_host(self, name: str) -> None:
        """End all sessions of clients that report this host name, in one step. A client that reports it falsely loses only its
        own sessions.
        """
        for server in self._servers():
            self._cluster.metadata_server(server, 'client evict', filters=[f'{_WORDS}.hostname={name}'])

    def _end_all(self, auth_id: str) -> None:
        for server in self._servers():
            self._cluster.metadata_server(server, 'client evict', filters=[f'auth_name={auth_id}'])

    def are_any(self, auth_id: str) -> bool:
        """Say whether the id has a session. Only a list that is empty says that it has none."""
        return any(self._list(server, auth_id) for server in self._servers())

    def of(self, auth_id: str) -> list[Session]:
        """Return the sessions of the id with every active metadata server, with what the clients say of themselves.

        :raises Unreadable: a client may have forged something.
        """
        return [
            _session(server, auth_id, told)
            for server in self._servers()
            for told in read(self._list(server, auth_id))
        ]

    def is_surely_at_its_root(self, session: Session) -> bool:
        """Say whether a session of this number says by itself, and not by a word that looks so, that it is at its root."""
        return bool(
            self._list(
                session.server,
                session.auth_id,
                f'id={session.number}',
                f'client_metadata.root={session.root}',
            )
        )

    def end(self, sessions: Iterable[Session]) -> None:
        """End these sessions, if they are of their id."""
        for session in sessions:
            self._cluster.metadata_server(
                session.server,
                'client evict',
                filters=[f'auth_name={session.auth_id}', f'id={session.number}'],
            )

    def _list(self, server: str, auth_id: str, *filters: str) -> str:
        """Return the list of sessions as it came, or '' for an empty one."""
        text = self._cluster.metadata_server(server, 'client ls', filters=[f'auth_name={auth_id}', *filters])
        return '' if ''.join(text.split()) == '[]' else text

    @property
    def can_be_asked_for(self) -> bool:
        """Whether all metadata servers are there. One that is away is waited for."""
        served = self._map()
        active = {
            server['rank'] for server in served.get('info', {}).values() if server['state'] == 'up:active'
        }
        return bool(served) and active >= set(served['in'])

    def _servers(self) -> Sequence[str]:
        return [f'{self._subvolumes.filesystem}:{rank}' for rank in sorted(self._map().get('in', ()))]

    def _map(self) -> Mapping[str, Any]:
        """Return what the monitors know of the metadata servers of the file system."""
        return next(
            (
                one['mdsmap']
                for one in self._cluster.monitor('fs dump')['filesystems']
                if one['mdsmap']['fs_name'] == self._subvolumes.filesystem
            ),
            {},
        )


def read(text: str) -> list[Mapping[str, Any]]:
    """Return the sessions of a list, as the metadata server tells them; '' is an empty one.

    :raises Unreadable: it is no proper list, or has a key twice or one that metadata servers do not tell, or hides a session.
    """
    objects: list[Mapping[str, Any]] = []
    try:
        told = json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, objects)) if text else []
        if not all(
            one.keys() <= _KEYS and one[_WORDS].items() is not None and int(one['id']) > 0 for one in told
        ):
            raise ValueError('it has a key that metadata servers do not tell')
        if sum(_WORDS in one for one in objects) != len(told):
            raise ValueError('it has a session within another one')
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as bad:
        raise Unreadable(f'The list of sessions of a Ceph id cannot be read: {bad}') from None
    return list(told)


def _unique(pairs: list[tuple[str, Any]], objects: list[Mapping[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError('it has a key twice')
    objects.append(found)
    return found


def _session(server: str, auth_id: str, told: Mapping[str, Any]) -> Session:
    try:
        address, _, _ = str(told.get('entity', {}).get('addr', {}).get('addr', '')).rpartition(':')
    except AttributeError as bad:
        raise Unreadable(f'The address of a session cannot be read: {bad}') from None
    says = told[_WORDS]
    machine = f'{says.get("hostname", "?")} at {address}, process {says.get("pid", "?")}'
    return Session(
        server, int(told['id']), machine, str(says.get('root', '')), told.get('state') == 'stale', auth_id
    )
