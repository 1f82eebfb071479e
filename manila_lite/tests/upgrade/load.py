# SPDX-License-Identifier: Apache-2.0
"""Clients that ask only for what must be granted, and note each request that is refused, fails or gets no answer."""

import collections
import dataclasses
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from manila_lite.tests import waiting
from manila_lite.tests.upgrade.cluster import MACHINES, Cluster

#: Seconds for which a client waits for the end of what it asked for, and between two looks.
_LOOK = 0.3
#: Seconds that a client waits after a failure, before it begins anew.
_PAUSE = 1.0
#: Shares that a user makes at once, so that they are placed and made in batches; and how many of these batches stay.
_AT_ONCE, _KEPT = 3, 2
_MOVED = {
    'writable': False,
    'nondisruptive': False,
    'preserve_snapshots': True,
    'preserve_metadata': True,
    'force_host_assisted_migration': False,
}


_ID = re.compile(r'[0-9a-f]{8}-[0-9a-f-]{27}')


def _id(path: str) -> str:
    return path.rpartition('/')[2]


class Unfulfilled(Exception):
    """What was promised did not come."""


@dataclasses.dataclass
class Requests:
    """The requests of one kind. ``slowest``: seconds."""

    count: int = 0
    refused: int = 0
    unanswered: int = 0
    slowest: float = 0.0


@dataclasses.dataclass
class Record:
    """What became of the requests of all clients. ``refused``: also those without an answer. ``failed``: what they led to."""

    requests: dict[str, Requests] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(Requests)
    )
    refused: list[str] = dataclasses.field(default_factory=list)
    failed: list[str] = dataclasses.field(default_factory=list)
    #: Shares that were made and used, and migrations that ended.
    rounds: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


class Client:
    """A client in a project of its own, in a thread, until ``ended`` is set."""

    _noting = threading.Lock()

    def __init__(
        self,
        cluster: Cluster,
        project: str,
        record: Record,
        ended: threading.Event,
        abandoned: threading.Event,
    ):
        self.cluster = cluster
        self.project = project
        self.record = record
        self._ended = ended
        self._abandoned = abandoned
        self._thread = threading.Thread(target=self._run, name=project, daemon=True)

    def start(self) -> None:
        """Start the requests."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the requests."""
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.round()
            except Exception as bad:
                self.record.failed.append(f'{self.project}: {bad!r}')
                self._ended.wait(_PAUSE)
            else:
                self.record.rounds[type(self).__name__] += 1

    def round(self) -> None:
        """Do something from its begin to its end."""
        raise NotImplementedError

    def ask(self, method: str, path: str, body: Any = None, may: int = 0) -> tuple[int, Any]:
        """Send a request; return (status, document). ``may``: another status than success that is none of a refusal."""
        began = time.monotonic()
        what = f'{method} {path} {next(iter(body)) if path.endswith("/action") else ""}'.strip()
        try:
            status, document = self.cluster.call(method, path, body, self.project)
        except OSError as away:
            status, document = 0, f'no answer: {away}'
        refused = status >= 400 and status != may
        self._note(_ID.sub('{id}', what), time.monotonic() - began, refused=refused, unanswered=not status)
        if refused or not status:
            self.record.refused.append(f'{what}: {status} {document}')
            raise Unfulfilled(f'{what}: {status}')
        return status, document

    def _note(self, kind: str, seconds: float, *, refused: bool, unanswered: bool) -> None:
        with self._noting:
            of_kind = self.record.requests[kind]
            of_kind.count += 1
            of_kind.refused += refused
            of_kind.unanswered += unanswered
            of_kind.slowest = max(of_kind.slowest, seconds)

    def wait(self, path: str, key: str, field: str, wanted: str) -> Any:
        """Wait until a field of the resource has the value. Return the resource."""

        def look() -> Any:
            found = self.ask('GET', path)[1][key]
            if 'error' in str(found[field]):
                raise Unfulfilled(f'{path}: {field} is {found[field]}')
            return found if found[field] == wanted else None

        return self.until(look, f'{path}: {field} {wanted}')

    def wait_gone(self, path: str) -> None:
        """Wait until the resource is gone."""
        self.until(lambda: self.ask('GET', path, may=404)[0] == 404, f'{path} is gone')

    def until(self, look: Callable[[], Any], what: str) -> Any:
        """Wait until ``look`` returns something true; return it.

        :raises Unfulfilled: it did not in time.
        """
        end = time.monotonic() + waiting.LIMIT
        while not (found := look()):
            if time.monotonic() > end or self._abandoned.wait(_LOOK):
                raise Unfulfilled(f'not within {waiting.LIMIT:g} s: {what}')
        return found

    def make(self, resource_type: str, bodies: Iterable[dict[str, Any]]) -> list[str]:
        """Make resources, and wait until all are available. Return their paths."""
        made = [
            self.ask('POST', f'/{resource_type}s', {resource_type: body})[1][resource_type] for body in bodies
        ]
        paths = [f'/{resource_type}s/{one["id"]}' for one in made]
        for path in paths:
            self.wait(path, resource_type, 'status', 'available')
        return paths

    def act(self, share: str, action: str, body: Any) -> Any:
        """Send an action of a share; return the document."""
        return self.ask('POST', f'{share}/action', {action: body})[1]


class User(Client):
    """A user who makes shares, grants access, makes snapshots, grows shares, and deletes all that again."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._made: collections.deque[tuple[list[str], list[str]]] = collections.deque()

    def round(self) -> None:
        """Make and use a few shares at once; delete the oldest of those made before, if there are many."""
        shares = self.make('share', [{'size': 1, 'share_proto': 'NFS'}] * _AT_ONCE)
        rules = [
            self.act(
                share, 'allow_access', {'access_type': 'ip', 'access_to': address, 'access_level': 'rw'}
            )['access']
            for share in shares
            for address in ('10.0.0.1', '10.0.0.2')
        ]
        snapshots = self.make('snapshot', [{'share_id': _id(share)} for share in shares])
        for share in shares:
            self.wait(share, 'share', 'access_rules_status', 'active')
        for share, rule in zip(shares, rules[::2], strict=True):
            self.act(share, 'deny_access', {'access_id': rule['id']})
            self.act(share, 'extend', {'new_size': 2})
        for share in shares:
            self.until(
                lambda share=share: self.ask('GET', share)[1]['share']['size'] == 2, f'{share} has 2 GiB'
            )
            self.wait(share, 'share', 'status', 'available')
        self._made.append((shares, snapshots))
        if len(self._made) > _KEPT:
            for resources in reversed(self._made.popleft()):
                for path in resources:
                    self.ask('DELETE', path)
                for path in resources:
                    self.wait_gone(path)


class Mover(Client):
    """An administrator who moves a share with a snapshot to and fro between two backends."""

    _share = ''

    def round(self) -> None:
        """Move the share once, to the other backend."""
        share, self._share = self._share or self._make(), ''  # after a failure it takes another
        here = self.wait(share, 'share', 'status', 'available')['host'].partition('#')[0]
        machine = MACHINES['left' if here == 'one@alpha' else 'one']
        self.act(share, 'migration_start', {**_MOVED, 'host': f'{machine.host}@{machine.backend}'})
        self.wait(share, 'share', 'task_state', 'migration_driver_phase1_done')
        self.act(share, 'migration_complete', {})
        self.wait(share, 'share', 'task_state', 'migration_success')
        if (host := self.wait(share, 'share', 'status', 'available')['host']).partition('#')[0] == here:
            raise Unfulfilled(f'{share} is still on {host}')
        # The next move is refused as long as the source is not yet deleted.
        self.until(
            lambda: len(self.ask('GET', f'{share}/instances')[1]['share_instances']) == 1,
            'the source is deleted',
        )
        self._share = share

    def _make(self) -> str:
        (share,) = self.make('share', [{'size': 1, 'share_proto': 'NFS'}])
        self.make('snapshot', [{'share_id': _id(share)}])
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.3', 'access_level': 'rw'})
        self.wait(share, 'share', 'access_rules_status', 'active')
        return share


class Load:
    """Some users and an administrator, from ``start`` to ``stop``."""

    def __init__(self, cluster: Cluster, users: int):
        self.record = Record()
        self._cluster = cluster
        self._ended, self._abandoned = threading.Event(), threading.Event()
        how = (self.record, self._ended, self._abandoned)
        self._clients: list[Client] = [
            *(User(cluster, f'project{number}', *how) for number in range(users)),
            Mover(cluster, 'moves', *how),
        ]

    def start(self) -> None:
        """Start the clients."""
        for client in self._clients:
            client.start()

    def stop(self) -> None:
        """Let each client end its round, and wait for that."""
        self._ended.set()
        for client in self._clients:
            client.join()

    def abandon(self) -> None:
        """Stop without waiting for the ends of rounds."""
        self._abandoned.set()
        self.stop()

    def go_on(self, rounds: int, moves: int = 0) -> None:
        """Wait until the users have ended so many rounds more, and the administrator so many; return early at a problem."""
        before, known = self.record.rounds.copy(), len(self.problems)
        wanted = before + collections.Counter({User.__name__: rounds, Mover.__name__: moves})
        self._cluster.until(
            lambda: self.record.rounds >= wanted or len(self.problems) > known, f'more than {before}'
        )

    @property
    def problems(self) -> list[str]:
        """All that should not have been."""
        return [*(f'refused: {what}' for what in self.record.refused), *self.record.failed]
