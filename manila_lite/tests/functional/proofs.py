# SPDX-License-Identifier: Apache-2.0
"""Tell which test proves which call of the contract: computed from the files of requests, the others named here.

A request proves a call if it makes that call and must be answered with success. A call that needs the work of a
backend is proved by a module of tests, which must name the call.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from manila_lite.api.framework.call import Call

_HERE = Path(__file__).parent
_METHODS = ('GET', 'POST', 'PUT', 'DELETE')
#: Placeholders for an id from the answer to an earlier request.
_EARLIER = re.compile(
    r"\$HISTORY\['[^']*'\]\.\$RESPONSE\['.*?'\]|\$RESPONSE\['.*?'\]|\$HISTORY\['[^']*'\]\.\$HEADERS\['.*?'\]"
)

#: By the beginning of the line of a call (method, path, action): the functional tests that prove the call.
NAMED = (
    ('GET /extensions/{alias}', 'gabbits/extensions.yaml'),  # there are no extensions: the answer is 404
    ('POST /findings/mend', 'commands/test_findings.py'),
    ('DELETE /share-servers/{share_server_id}', 'share_servers/test_share_servers.py'),
    ('GET /shares/{share_id}/migration-progress', 'migrations/test_share_migration.py'),
    ('GET /shares/{share_id}/schedule-copies', 'schedules/test_runs.py'),
    (
        'POST /share-networks/{share_network_id}/action add_security_service_check',
        'networks/test_security_services_in_use.py',
    ),
    ('POST /services/evacuate', 'migrations/test_evacuation.py'),
    ('POST /services/stop-evacuation', 'migrations/test_evacuation.py'),
    ('POST /share-servers/manage', 'share_servers/test_managed.py'),
    ('POST /share-servers/{share_server_id}/action migration_', 'migrations/test_share_server_migration.py'),
    ('POST /shares/{share_id}/action migrat', 'migrations/test_share_migration.py'),
    ('POST /shares/{share_id}/action unmanage', 'shares/test_manage_shares.py'),
    ('POST /snapshots/manage', 'shares/test_manage_shares.py'),
    *((f'{method} /share-group', 'share_groups/test_share_groups.py') for method in _METHODS),
    ('GET /share-replicas/{share_replica_id}/export-locations', 'share_replicas/test_share_replicas.py'),
    *((f'{method} /share-replicas', 'share_replicas/test_calls.py') for method in _METHODS),
)


@dataclasses.dataclass(frozen=True)
class _Sent:
    """A request of a file that must be answered with success."""

    file: str
    name: str
    method: str
    path: str
    action: str | None


def label(op: Call) -> str:
    """Return the line of a call: method, path and action."""
    return f'{op.method} {op.path} {op.action or ""}'.strip()


@functools.cache
def _requests() -> tuple[_Sent, ...]:
    return tuple(sent for file in sorted((_HERE / 'gabbits').glob('*.yaml')) for sent in _of_file(file))


def _of_file(file: Path) -> Iterator[_Sent]:
    document = yaml.load(file.read_text(), yaml.CSafeLoader)
    for test in document['tests']:
        request: dict[str, Any] = {**document.get('defaults', {}), **test}
        method = next((name for name in _METHODS if name in request), None)
        if method is None or not str(request.get('status', 200)).startswith(('2', '3')):
            continue
        path = _EARLIER.sub('X', request[method]).partition('?')[0]
        data = request.get('data')
        yield _Sent(
            f'gabbits/{file.name}',
            test['name'],
            method,
            path,
            next(iter(data), None) if path.endswith('/action') and isinstance(data, dict) else None,
        )


def _fits(op: Call, sent: _Sent) -> bool:
    if sent.method != op.method or sent.action not in {
        op.action,
        op.old_action,
        op.action and f'os-{op.action}',
    }:
        return False
    return any(
        re.fullmatch(r'/v2(/[^/]+)?' + re.sub(r'\\\{\w+\\\}', '[^/]+', re.escape(path)), sent.path)
        for path in (op.path, op.old_path)
        if path
    )


def proof(op: Call) -> str | None:
    """Return the file that proves the call, with the name of the request in a file of requests; None if there is none."""
    for sent in _requests():
        if _fits(op, sent):
            return f'{sent.file}: {sent.name}'
    return next((file for begin, file in NAMED if label(op).startswith(begin)), None)


def is_named_in(op: Call, file: str) -> bool:
    """Say whether a file names the call: its action, or else the last word of its path."""
    word = op.action or re.sub(r'/?\{\w+\}', '', op.path).rpartition('/')[2]
    return word in (_HERE / file).read_text()
