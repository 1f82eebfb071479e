# SPDX-License-Identifier: Apache-2.0
"""Locks of shares in this process."""

import contextlib
import threading
from collections.abc import Iterator

_LOCKS = 64


class Locks:
    """A fixed number of locks, of which each name has one."""

    def __init__(self) -> None:
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep other threads out that hold the lock of this name."""
        with self._locks[hash(name) % _LOCKS]:
            yield
