# SPDX-License-Identifier: Apache-2.0
"""Digests of the OpenAPI documents, one for each path and method, so that no limit or status of a call changes unnoticed.

The texts for people are left out.
``python -m manila_lite.tests.contract.digests`` writes digests.txt. Read the change of the contract before: a client sees it.
"""

import hashlib
import json
import pathlib
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.http import openapi

FILE = pathlib.Path(__file__).with_name('digests.txt')
#: The first, the one that most clients use, the newest.
VERSIONS = (versions.MIN, 65, versions.MAX)
#: The line for all that is not of one call.
REST = 'what all calls have in common'


def served() -> dict[str, str]:
    """Return the digests of the present documents, by method and path."""
    parts: dict[str, list[Any]] = {}
    for version in VERSIONS:
        document = json.loads(openapi.text(version))
        for path, calls in document.pop('paths').items():
            for method, call in calls.items():
                parts.setdefault(f'{method.upper()} {path}', []).append([version, call])
        parts.setdefault(REST, []).append([version, document])
    return {name: hashlib.sha256(json.dumps(_without_texts(part), sort_keys=True).encode()).hexdigest()[:10]
            for name, part in sorted(parts.items())}


def _without_texts(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _without_texts(value) for key, value in part.items()
                if key not in ('description', 'summary') or not isinstance(value, str)}
    return [_without_texts(value) for value in part] if isinstance(part, list) else part


def written() -> dict[str, str]:
    """Return those of the file."""
    rows = (line.split(' ', 1) for line in FILE.read_text().splitlines())
    return {name: digest for digest, name in rows}


def write() -> None:
    """Replace the file."""
    FILE.write_text(''.join(f'{digest} {name}\n' for name, digest in served().items()))


if __name__ == '__main__':
    write()
