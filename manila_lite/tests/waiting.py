# SPDX-License-Identifier: Apache-2.0
"""Waits of tests: for a condition, however long a busy machine takes, but not for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

_Found = TypeVar('_Found')
#: Seconds between two looks: at first, and at most after a long wait.
PAUSE, LONGEST = 0.02, 0.25
#: Between them a pause is this part of the time waited so far.
_PART = 0.1


class Late(AssertionError):
    """What was awaited did not come."""


def until(condition: Callable[[], _Found], what: str | Callable[[], object], seconds: float = 60, *, pause: float = PAUSE,
          ignoring: tuple[type[Exception], ...] = ()) -> _Found:
    """Wait until ``condition()`` is true; return what it returned.

    ``what`` says what did not come, or is called to say it then. ``pause``: seconds between two looks. It grows, for a
    look often costs as much as a request; if it is shorter than usual it does not. ``ignoring``: what the condition may
    raise for "not yet".

    :raises Late: it was false for all these seconds, and once more after them.
    """
    start = time.monotonic()
    over = False
    while True:
        try:
            if found := condition():
                return found
        except ignoring:
            pass
        if over:
            raise Late(f'not within {seconds:g} s: {what() if callable(what) else what}')
        waited = time.monotonic() - start
        over = waited >= seconds
        time.sleep(pause if pause < PAUSE else max(pause, min(waited * _PART, LONGEST)))
