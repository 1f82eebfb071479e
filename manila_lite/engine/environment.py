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

    #: A name for a worker of this process that no other worker has.
    name = staticmethod(process_names.worker_name)
    #: The name of this process.
    process = staticmethod(process_names.name)
    #: Whether the process of a worker of that name is known to have ended.
    is_dead = staticmethod(process_names.is_dead)
    #: Seconds by a clock that is never set; ``boottime`` goes on while the machine sleeps.
    monotonic = staticmethod(time.monotonic)
    boottime = staticmethod(boottime)
    #: Seconds of processor time that this thread has used.
    thread_time = staticmethod(time.thread_time)
    #: A new lock, not held; a new event, not set; a new condition, with a lock of its own.
    lock = threading.Lock
    event = threading.Event
    condition = threading.Condition

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
