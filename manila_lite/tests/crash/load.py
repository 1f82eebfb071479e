# SPDX-License-Identifier: Apache-2.0
"""Clients that send all kinds of requests, each in a project of its own, and bear any failure of the service."""

import collections
import random
import threading
from typing import Any

from manila_lite.tests.crash.deployment import Deployment

#: Limits of a project: shares, snapshots, and GiB.
_SHARES, _SNAPSHOTS, _SIZE = 8, 4, 6
#: Statuses that a client must accept: wrong state, deleted meanwhile, unavailable.
_EXPECTED = frozenset({400, 403, 404, 409, 413, 503})


class Client:
    """A client that sends random requests until ``ended``. It remembers resources that it was promised, and that it deleted."""

    def __init__(self, deployment: Deployment, project: str, seed: int, ended: threading.Event):
        self.deployment = deployment
        self.project = project
        self.promised: dict[str, set[str]] = {'share': set(), 'snapshot': set()}
        self.deleted: set[str] = set()
        self.counts: collections.Counter[str] = collections.Counter()
        self.refused: list[str] = []
        self._random = random.Random(seed)
        self._ended = ended
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
                self._once()
            except OSError:
                self.counts['no answer'] += 1  # killed just now
            except Exception as bad:
                self.refused.append(f'{self.project} cannot make sense of an answer: {bad!r}')
            self._ended.wait(self._random.uniform(0.02, 0.3))

    def _once(self) -> None:
        shares = self._list('shares')
        snapshots = self._list('snapshots')
        if not shares or (len(shares) < _SHARES and self._random.random() < 0.3):
            self._create(snapshots)
            return
        share = self._random.choice(shares)
        deed = self._random.choice(
            [
                self._delete,
                self._extend,
                self._shrink,
                self._snapshot,
                self._delete_snapshot,
                self._revert,
                self._grant,
                self._grant,
                self._deny,
            ]
        )
        deed(share, snapshots)

    def _list(self, collection: str) -> list[dict[str, Any]]:
        status, document = self._ask('GET', f'/{collection}/detail')
        return document[collection] if status == 200 else []

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, document = self.deployment.call(method, path, body, self.project)
        self.counts[str(status)] += 1
        if status >= 400 and status not in _EXPECTED:
            self.refused.append(f'{method} {path}: {status} {document}')
        return status, document

    def _act(self, share: dict[str, Any], action: str, body: Any) -> None:
        self._ask('POST', f'/shares/{share["id"]}/action', {action: body})

    def _make(self, resource_type: str, body: dict[str, Any]) -> None:
        status, document = self._ask('POST', f'/{resource_type}s', {resource_type: body})
        if status < 300:
            self.promised[resource_type].add(document[resource_type]['id'])

    def _create(self, snapshots: list[dict[str, Any]]) -> None:
        more = {}
        if snapshots and self._random.random() < 0.3:
            source = self._random.choice(snapshots)
            more = {'snapshot_id': source['id'], 'size': source['size']}
        self._make('share', {'size': self._random.randint(1, 3), 'share_proto': 'NFS', **more})

    def _delete(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        self.deleted.add(share['id'])
        self._ask('DELETE', f'/shares/{share["id"]}')

    def _extend(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        if share['size'] < _SIZE:
            self._act(share, 'extend', {'new_size': share['size'] + 1})

    def _shrink(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        if share['size'] > 1:
            self._act(share, 'shrink', {'new_size': share['size'] - 1})

    def _snapshot(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        if len(snapshots) < _SNAPSHOTS:
            self._make('snapshot', {'share_id': share['id']})

    def _delete_snapshot(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        if snapshots:
            snapshot = self._random.choice(snapshots)['id']
            self.deleted.add(snapshot)
            self._ask('DELETE', f'/snapshots/{snapshot}')

    def _revert(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        mine = [snapshot for snapshot in snapshots if snapshot['share_id'] == share['id']]
        if mine:
            latest = max(mine, key=lambda snapshot: snapshot['created_at'])
            self._act(share, 'revert', {'snapshot_id': latest['id']})

    def _grant(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        self._act(
            share,
            'allow_access',
            {
                'access_type': 'ip',
                'access_to': f'10.0.0.{self._random.randint(1, 20)}',
                'access_level': self._random.choice(('rw', 'ro')),
            },
        )

    def _deny(self, share: dict[str, Any], snapshots: list[dict[str, Any]]) -> None:
        status, document = self._ask('GET', f'/share-access-rules?share_id={share["id"]}')
        if status == 200 and document['access_list']:
            self._act(share, 'deny_access', {'access_id': self._random.choice(document['access_list'])['id']})
