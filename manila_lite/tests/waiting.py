# SPDX-License-Identifier: Apache-2.0
"""Waits of tests: for a condition, however long a busy machine takes, but not for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

_Found = TypeVar('_Found')


class Late(AssertionError):
    """What was awaited did not come."""


def until(condition: Callable[[], _Found], what: str | Callable[[], object], seconds: float = 60, *, pause: float = 0.02,
          ignoring: tuple[type[Exception], ...] = ()) -> _Found:
    """Wait until ``condition()`` is true; return what it returned.

    ``what`` says what did not come, or is called to say it then. ``pause``: seconds between two looks. ``ignoring``: what the
    condition may raise for "not yet".

    :raises Late: it was false for all these seconds, and once more after them.
    """
    end = time.monotonic() + seconds
    over = False
    while True:
        try:
            if found := condition():
                return found
        except ignoring:
            pass
        if over:
            raise Late(f'not within {seconds:g} s: {what() if callable(what) else what}')
        over = time.monotonic() >= end
        time.sleep(pause)
