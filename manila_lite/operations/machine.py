# SPDX-License-Identifier: Apache-2.0
"""The machine under a runner and a scheduler: name of a worker, clocks, threads, locks and events.

``Machine`` is the real one. ``tests/simulation`` has another, whose threads take turns in an order given by a seed.
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
        """Wait until the thread has ended."""


class Machine:
    """The real machine."""

    def name(self) -> str:
        """Return a name for a worker of this process that no other worker has."""
        return owners.worker_name()

    def is_dead(self, owner: str) -> bool:
        """Say whether the process of a worker of that name is known to have ended."""
        return owners.is_dead(owner)

    def monotonic(self) -> float:
        """Return seconds by a clock that is never set."""
        return time.monotonic()

    def thread_time(self) -> float:
        """Return the seconds of processor time that this thread has used."""
        return time.thread_time()

    def lock(self) -> threading.Lock:
        """Return a new lock, not held."""
        return threading.Lock()

    def event(self) -> threading.Event:
        """Return a new event, not set."""
        return threading.Event()

    def hands(self, count: int, name: str) -> concurrent.futures.Executor:
        """Return an executor with this number of threads."""
        return concurrent.futures.ThreadPoolExecutor(count, name)

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """Run the target in a daemon thread of its own."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread


#: The real machine. It has no state.
REAL = Machine()
