# SPDX-License-Identifier: Apache-2.0
"""Calls of ip(8) for network namespaces, which are identified by their names."""

import json
from pathlib import Path
from typing import Any

from manila_lite.host import mounts
from manila_lite.host.commands import run

_PLACE = Path('/run/netns')


def ip(netns: str, *words: str) -> str:
    """Run the command in the namespace, and return its output.

    :raises CommandFailed: it failed, or there is no such namespace.
    """
    return run('ip', '-n', netns, *words)


def is_there(netns: str) -> bool:
    return mounts.is_mounted(_PLACE / netns)


def identity(netns: str) -> int:
    """Return a number that differs for a later namespace of the same name; 0 if there is none."""
    return (_PLACE / netns).stat().st_ino if is_there(netns) else 0


def add(netns: str) -> None:
    """Create the namespace if it is missing."""
    if not is_there(netns):
        delete(netns)
        run('ip', 'netns', 'add', netns)


def delete(netns: str) -> None:
    """Delete the name; the namespace itself goes when its last process has ended."""
    if (_PLACE / netns).exists():
        run('ip', 'netns', 'delete', netns)


def links(netns: str) -> list[dict[str, Any]]:
    """Return all interfaces of the namespace as ip(8) describes them."""
    shown: list[dict[str, Any]] = json.loads(ip(netns, '-json', '-details', 'link', 'show'))
    return shown


def addresses(netns: str) -> list[dict[str, Any]]:
    """Return all interfaces of the namespace, each with its addresses as ``addr_info``."""
    shown: list[dict[str, Any]] = json.loads(ip(netns, '-json', '-details', 'address', 'show'))
    return shown


def listed(netns: str, family: int, *words: str) -> list[dict[str, Any]]:
    """Return the rules or routes of a family, 4 or 6."""
    shown: list[dict[str, Any]] = json.loads(ip(netns, '-json', f'-{family}', *words) or '[]')
    return shown


def kind(link: dict[str, Any]) -> str:
    """Return the type of an interface, '' for the loopback."""
    return str(link.get('linkinfo', {}).get('info_kind', ''))
