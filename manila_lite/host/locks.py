# SPDX-License-Identifier: Apache-2.0
"""Locks of resources in this process."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

_LOCKS = 64


class Locks:
    """A fixed number of locks, of which each name has one."""

    def __init__(self, kind: Callable[[], Any] = threading.Lock):
        self._locks = tuple(kind() for _ in range(_LOCKS))

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep other threads out that hold the lock of this name."""
        with self._locks[hash(name) % _LOCKS]:
            yield
