# SPDX-License-Identifier: Apache-2.0
"""The machine under a runner and a scheduler: process name, clocks, threads, locks and events.

``Machine`` is the real one. ``tests/simulation`` has another, whose threads take turns in an order that a seed gives.
"""

import concurrent.futures
import threading
import time
from collections.abc import Callable
from typing import Protocol

from manila_lite.operations import owners


class Thread(Protocol):
    """A thread of the machine."""

    def join(self) -> None:
        """It has ended."""


class Machine:
    """The machine as it is."""

    def name(self) -> str:
        """Name this process, as no other is named."""
        return owners.name()

    def is_dead(self, owner: str) -> bool:
        """Say whether the process of that name is known to have ended."""
        return owners.is_dead(owner)

    def monotonic(self) -> float:
        """Return seconds, by a clock that nobody sets."""
        return time.monotonic()

    def thread_time(self) -> float:
        """Return the seconds of a processor that this thread has had."""
        return time.thread_time()

    def lock(self) -> threading.Lock:
        """Return a lock that is free."""
        return threading.Lock()

    def event(self) -> threading.Event:
        """Return an event that is not set."""
        return threading.Event()

    def hands(self, count: int, name: str) -> concurrent.futures.Executor:
        """Return so many threads that wait for work."""
        return concurrent.futures.ThreadPoolExecutor(count, name)

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """The target runs in a thread of its own, which keeps no process alive."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread


#: The machine as it is. It has no state.
REAL = Machine()
