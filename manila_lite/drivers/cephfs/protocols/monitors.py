# SPDX-License-Identifier: Apache-2.0
"""The addresses of the monitors, by which clients find the cluster. Pure."""

from collections.abc import Mapping
from typing import Any

#: Types of addresses, the one first that all clients understand.
_TYPES = ('v1', 'v2', 'any')


def by_family(monmap: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    """Return an address of each monitor, as ``10.0.0.1:6789`` or ``[fd00::1]:6789``, by IP version: first 4, then 6."""
    families: dict[int, list[str]] = {4: [], 6: []}
    for monitor in monmap.get('mons', ()):
        for version, found in families.items():
            address = _best(monitor, version)
            if address:
                found.append(address)
    return {version: tuple(found) for version, found in families.items() if found}


def _best(monitor: Mapping[str, Any], version: int) -> str | None:
    vector = monitor.get('public_addrs', {}).get('addrvec') or [
        {'type': 'v1', 'addr': monitor.get('public_addr', monitor.get('addr', '')).partition('/')[0]}
    ]
    mine = {
        entry['type']: entry['addr']
        for entry in reversed(vector)
        if entry.get('addr') and entry['addr'].startswith('[') == (version == 6)
    }
    return next((mine[kind] for kind in _TYPES if kind in mine), None)
