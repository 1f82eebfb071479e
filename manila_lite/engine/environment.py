# SPDX-License-Identifier: Apache-2.0
"""Environment of a runner, a scheduler and a backend lease: names of processes, clocks, threads, locks and events.

``Environment`` is the real one. ``tests/simulation`` has another, whose threads take turns in an order given by a seed.
"""

import concurrent.futures
import threading
import time
from collections.abc import Callable
from typing import Protocol

from manila_lite.engine import process_names
from manila_lite.host.clock import boottime


class Thread(Protocol):
    """A thread of the environment."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, or for so many seconds."""


class Environment:
    """The real environment."""

    def name(self) -> str:
        """Return a name for a worker of this process that no other worker has."""
        return process_names.worker_name()

    def process(self) -> str:
        """Return the name of this process."""
        return process_names.name()

    def is_dead(self, owner: str) -> bool:
        """Say whether the process of a worker of that name is known to have ended."""
        return process_names.is_dead(owner)

    def monotonic(self) -> float:
        """Return seconds by a clock that is never set."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return seconds by a clock that is never set, and goes on while the machine sleeps."""
        return boottime()

    def thread_time(self) -> float:
        """Return the seconds of processor time that this thread has used."""
        return time.thread_time()

    def lock(self) -> threading.Lock:
        """Return a new lock, not held."""
        return threading.Lock()

    def event(self) -> threading.Event:
        """Return a new event, not set."""
        return threading.Event()

    def condition(self) -> threading.Condition:
        """Return a new condition, with a lock of its own."""
        return threading.Condition()

    def executor(self, count: int, name: str) -> concurrent.futures.Executor:
        """Return an executor with this number of threads."""
        return concurrent.futures.ThreadPoolExecutor(count, name)

    def thread(self, target: Callable[[], None], name: str) -> Thread:
        """Run the target in a daemon thread of its own."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread


#: The real environment. It has no state.
REAL = Environment()
