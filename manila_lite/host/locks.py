# SPDX-License-Identifier: Apache-2.0
"""Locks of resources in this process."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class Locks:
    """Locks by name. Each is there as long as a thread has it, or waits for it."""

    def __init__(self, kind: Callable[[], Any] = threading.Lock):
        self._kind = kind
        self._mutex = threading.Lock()
        #: The lock of each name, and the number of its users.
        self._used: dict[str, tuple[Any, int]] = {}

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep other threads out that hold the lock of this name."""
        with self._mutex:
            lock, users = self._used.get(name) or (self._kind(), 0)
            self._used[name] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._mutex:
                lock, users = self._used.pop(name)
                if users > 1:
                    self._used[name] = lock, users - 1
