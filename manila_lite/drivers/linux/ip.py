# SPDX-License-Identifier: Apache-2.0
"""What ip(8) does in network namespaces, each of which is known by its name."""

import json
from pathlib import Path
from typing import Any

from manila_lite.drivers.linux import mounts
from manila_lite.drivers.linux.run import run

_PLACE = Path('/run/netns')


def ip(netns: str, *words: str) -> str:
    """Return what the command printed when it was run in the namespace.

    :raises CommandFailed: it failed, or there is no such namespace.
    """
    return run('ip', '-n', netns, *words)


def is_there(netns: str) -> bool:
    """Say whether there is such a namespace."""
    return mounts.is_mounted(_PLACE / netns)


def identity(netns: str) -> int:
    """Return what another namespace that gets the name later does not have; 0 when there is none."""
    return (_PLACE / netns).stat().st_ino if is_there(netns) else 0


def add(netns: str) -> None:
    """The namespace is there."""
    if not is_there(netns):
        delete(netns)
        run('ip', 'netns', 'add', netns)


def delete(netns: str) -> None:
    """Nothing has the name; the namespace is gone when the last process in it has ended."""
    if (_PLACE / netns).exists():
        run('ip', 'netns', 'delete', netns)


def links(netns: str) -> list[dict[str, Any]]:
    """Return all interfaces of the namespace as ip(8) describes them."""
    found: list[dict[str, Any]] = json.loads(ip(netns, '-json', '-details', 'link', 'show'))
    return found


def addresses(netns: str) -> list[dict[str, Any]]:
    """Return all interfaces of the namespace, each with its addresses as ``addr_info``."""
    found: list[dict[str, Any]] = json.loads(ip(netns, '-json', '-details', 'address', 'show'))
    return found


def listed(netns: str, family: int, *words: str) -> list[dict[str, Any]]:
    """Return the rules or routes of a family, 4 or 6."""
    found: list[dict[str, Any]] = json.loads(ip(netns, '-json', f'-{family}', *words) or '[]')
    return found


def kind(link: dict[str, Any]) -> str:
    """Return what sort of interface a link is, '' for the loopback."""
    return str(link.get('linkinfo', {}).get('info_kind', ''))
