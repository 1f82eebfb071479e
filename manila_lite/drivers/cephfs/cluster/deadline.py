# SPDX-License-Identifier: Apache-2.0
"""Calls into a library that may hang, for instance in C, each in a thread of its own and given up after a while."""

import threading
from collections.abc import Callable
from typing import Any


class Hangs(Exception):
    """The call did not return in time. Its thread goes on, and ends when the call returns."""


#: Most calls that hang at a time in this process. Beyond them a call fails at once: the threads would pile up.
MOST = 32

_hanging = threading.BoundedSemaphore(MOST)


def call(work: Callable[[], Any], seconds: float, *, late: Callable[[Any], None] | None = None) -> Any:
    """Return the result of ``work``, or raise its exception. ``late`` gets a result that came too late, in its thread.

    :raises Hangs: it did not end within ``seconds``, or too many calls hang already.
    """
    if not _hanging.acquire(blocking=False):
        raise Hangs(f'{MOST} calls hang already')
    running = _Running(work, late)
    threading.Thread(target=running.run, name='ceph', daemon=True).start()
    return running.result(seconds)


class _Running:
    """One call. Exactly one of the two sides sees that the other gave it up."""

    def __init__(self, work: Callable[[], Any], late: Callable[[Any], None] | None):
        self._work = work
        self._late = late
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._given_up = False
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            try:
                self._value = self._work()
            except BaseException as error:
                self._error = error
            with self._lock:
                self._ended.set()
                given_up = self._given_up
            if given_up and self._error is None and self._late:
                self._late(self._value)
        finally:
            _hanging.release()

    def result(self, seconds: float) -> Any:
        self._ended.wait(seconds)
        with self._lock:
            self._given_up = not self._ended.is_set()
        if self._given_up:
            raise Hangs(f'no answer within {seconds:g} s')
        if self._error is not None:
            raise self._error
        return self._value
