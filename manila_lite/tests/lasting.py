# SPDX-License-Identifier: Apache-2.0
"""Things that classes of tests share, since they take long to make: from the first use to the end of the group.

Classes with the same group as ``TOGETHER`` are beside each other in the order of any seed (``order.py``). The group ends after
the last of them, or with the process: what runs on is work for the processors while other tests run.
"""

import atexit
import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Made = TypeVar('_Made')


class Group:
    """A group of classes of tests, by its name."""

    def __init__(self, name: str):
        self.name = name
        self._ends = contextlib.ExitStack()
        atexit.register(self.end)

    def keep(self, make: Callable[[], _Made]) -> Callable[[], _Made]:
        """Decorate a function that makes something: the first call makes it, for all calls until the group ends."""

        @functools.cache
        def kept() -> _Made:
            made = make()
            self.at_end(kept.cache_clear)
            return made

        return functools.update_wrapper(kept, make)

    def at_end(self, call: Callable[..., Any], *args: Any) -> None:
        """Have this call made when the group ends: the last one comes first."""
        self._ends.callback(call, *args)

    def end(self) -> None:
        """End the group. Things that are used after that are made anew."""
        self._ends.pop_all().close()
