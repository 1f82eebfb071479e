# SPDX-License-Identifier: Apache-2.0
"""Notes in the folder of a share server: a mark if it is unmanaged, and its identifier if that is not its id."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manila_lite.host import durable

_NOTE, _NAME = 'not-ours.json', 'name'


def of(home: Path) -> dict[str, Any]:
    """Return the identifier and the addresses of an unmanaged server; empty for a managed one."""
    note: dict[str, Any] = json.loads(durable.text(home / _NOTE) or '{}')
    return note


def leave(home: Path, identifier: str, addresses: Sequence[str]) -> None:
    """Mark the server as unmanaged."""
    durable.replace(home / _NOTE, json.dumps({'identifier': identifier, 'addresses': list(addresses)}))
    durable.remove(home / _NAME)


def drop(home: Path) -> None:
    durable.remove(home / _NOTE)


def name(home: Path) -> str:
    """Return the identifier that ``rename`` gave the server, or ''."""
    return durable.text(home / _NAME)


def rename(home: Path, identifier: str) -> None:
    durable.replace(home / _NAME, identifier)
