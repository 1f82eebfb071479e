# SPDX-License-Identifier: Apache-2.0
"""Notes in the folder of a share server: that it is not ours, and what it is called if that is not its id."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_NOTE, _NAME = 'not-ours.json', 'name'


def of(home: Path) -> dict[str, Any]:
    """Return the identifier and the addresses of a server that is not ours; nothing of one that is."""
    try:
        found: dict[str, Any] = json.loads((home / _NOTE).read_text())
    except FileNotFoundError:
        return {}
    return found


def leave(home: Path, identifier: str, addresses: Sequence[str]) -> None:
    """The server is not ours."""
    _write(home / _NOTE, json.dumps({'identifier': identifier, 'addresses': list(addresses)}))
    (home / _NAME).unlink(missing_ok=True)


def drop(home: Path) -> None:
    """The server is ours."""
    (home / _NOTE).unlink(missing_ok=True)


def name(home: Path) -> str:
    """Return what the server was given as its name, or nothing."""
    try:
        return (home / _NAME).read_text()
    except FileNotFoundError:
        return ''


def rename(home: Path, identifier: str) -> None:
    """The server is called so."""
    _write(home / _NAME, identifier)


def _write(file: Path, text: str) -> None:
    """The file holds the text, or what it held before."""
    draft = file.with_suffix('.new')
    draft.write_text(text)
    os.replace(draft, file)
