# SPDX-License-Identifier: Apache-2.0
"""The endpoint of a service on the bus: one message in its versions, whose history is in ``manila_lite.rpc``."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import oslo_messaging

LOG = logging.getLogger(__name__)

NAMESPACE = 'operations'
#: Version -> arguments of its ``wake``, each a list; an empty one means "all". No receiver looks at single operations, so none
#: is named.
SHAPES = {'1.0': ('operation_ids',), '1.1': ('operation_ids', 'lanes')}
#: The version that is sent where ``[upgrade_levels]`` does not pin an older one.
VERSION = '1.1'
#: A minor version only adds arguments, which may be ignored.
_ACCEPTED = '1.9999'


def shape(version: str, lanes: Iterable[str]) -> dict[str, list[str]]:
    """Return the arguments of a wake-up in that version. An older one says less, so the receiver looks at more operations."""
    said = {'operation_ids': [], 'lanes': sorted(lanes)}
    return {name: said[name] for name in SHAPES[version]}


class Operations:
    """Wake-ups for durable work. Losing one, or getting it twice, is harmless: the rows are authoritative."""

    target = oslo_messaging.Target(namespace=NAMESPACE, version=_ACCEPTED)

    def __init__(self, on_wake: Callable[[list[str]], None]):
        """Set the callback. It gets the lanes of the operations to look at; an empty list means all. It must return soon."""
        self._on_wake = on_wake
        self._overlooked: set[str] = set()

    def wake(
        self, ctxt: Any, operation_ids: Iterable[str] = (), lanes: Iterable[str] = (), **newer: Any
    ) -> None:
        """Pass the wake-up to the callback. Never raises: no caller waits, and the poll finds the operations again."""
        del ctxt, operation_ids
        self._overlook(newer.keys() - self._overlooked)
        try:
            self._on_wake(list(lanes))
        except Exception:
            LOG.exception('A wake-up failed, the next poll will find the work')

    def _overlook(self, names: set[str]) -> None:
        if names:
            self._overlooked |= names
            LOG.warning(
                'Wake-ups of a newer process have more fields than version %s: %s is ignored. Pin that process with '
                'its option [upgrade_levels] operations',
                VERSION,
                ', '.join(sorted(names)),
            )
