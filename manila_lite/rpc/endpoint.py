# SPDX-License-Identifier: Apache-2.0
"""What a service answers to on the bus."""

import logging
from collections.abc import Callable
from typing import Any

import oslo_messaging

LOG = logging.getLogger(__name__)

#: Namespace and version of the wake-up, for server and client.
NAMESPACE = 'operations'
VERSION = '1.0'


class Operations:
    """Wake-ups for durable work. Losing one, or getting it twice, is harmless: the rows are the truth."""

    target = oslo_messaging.Target(namespace=NAMESPACE, version=VERSION)

    def __init__(self, on_wake: Callable[[list[str]], None]):
        """``on_wake`` gets the ids of operations to look at; an empty list means all. It must return soon."""
        self._on_wake = on_wake

    def wake(self, ctxt: Any, operation_ids: list[str]) -> None:
        """The operations are looked at now. Never raises: nobody waits, and the poll finds them again."""
        del ctxt
        try:
            self._on_wake(operation_ids)
        except Exception:
            LOG.exception('%s: wake-up failed, the next poll will find the work', ', '.join(operation_ids) or 'all')
