# SPDX-License-Identifier: Apache-2.0
"""Group commit: what several threads want to write at the same time goes into one transaction.

A thread that comes alone writes at once. Those that come meanwhile wait, and one of them writes for all.
"""

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from manila_lite.engine.environment import Environment

Item = TypeVar('Item')
#: Items of one transaction at most, so that it stays short.
MOST = 64


@dataclasses.dataclass
class _Entry(Generic[Item]):
    """An item, and its outcome. ``told`` is set when there is one, or when its thread has to write."""

    item: Item
    told: Any
    over: bool = False
    outcome: Any = None


class Together(Generic[Item]):
    """Threads call ``put``; ``write`` gets the items of as many of them as there are, and returns an outcome for each:
    a value, or an error to raise.
    """

    def __init__(self, environment: Environment, write: Callable[[Sequence[Item]], Sequence[Any]]):
        self._environment = environment
        self._write = write
        self._lock = environment.lock()
        self._waiting: collections.deque[_Entry[Item]] = collections.deque()
        self._busy = False

    def put(self, item: Item) -> Any:
        """Have the item written. Return its outcome, or raise it if it is an error."""
        entry = _Entry(item, self._environment.event())
        with self._lock:
            self._waiting.append(entry)
            alone, self._busy = not self._busy, True
        if not alone:
            entry.told.wait()
        if not entry.over:
            self._write_for_all()
        if isinstance(entry.outcome, BaseException):
            raise entry.outcome
        return entry.outcome

    def _write_for_all(self) -> None:
        """Write what waits, with the item of this thread first, and hand over to a thread that came meanwhile."""
        with self._lock:
            entries = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))]
        try:
            outcomes: Sequence[Any] = self._write([entry.item for entry in entries])
        except BaseException as error:
            outcomes = [error] * len(entries)
        for entry, outcome in zip(entries, outcomes, strict=True):
            entry.outcome, entry.over = outcome, True
        with self._lock:
            successor = self._waiting[0] if self._waiting else None
            self._busy = successor is not None
        for entry in entries:
            entry.told.set()
        if successor is not None:
            successor.told.set()
