# SPDX-License-Identifier: Apache-2.0
"""Waits of tests: for a condition, however long a busy machine takes, but not for ever.

All waits have the one ``LIMIT``: it costs nothing where tests pass, and no test guesses how slow a machine may be. Calls
that take a timeout of their own (a process that ends, an answer of HTTP) are given it, too. ``tools/check_sleeps.py``
refuses others. What a test says about *time* it measures, with a reason.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

_Found = TypeVar('_Found')
#: Seconds that a test waits for anything, on the slowest machine; half of what tests/limits.py gives a test.
LIMIT = 300.0
#: Seconds between two looks: at first, and at most after a long wait.
PAUSE, LONGEST = 0.02, 0.25
#: Between them a pause is this part of the time waited so far.
_PART = 0.1


class Late(AssertionError):
    """What was awaited did not come."""


def until(
    condition: Callable[[], _Found],
    what: str | Callable[[], object],
    *,
    pause: float = PAUSE,
    ignoring: tuple[type[Exception], ...] = (),
) -> _Found:
    """Wait until ``condition()`` is true; return what it returned.

    ``what`` says what did not come, or is called to say it then. ``pause``: seconds between two looks. It grows, for a
    look often costs as much as a request; if it is shorter than usual it does not. ``ignoring``: what the condition may
    raise for "not yet".

    :raises Late: it was false for ``LIMIT`` seconds, and once more after them.
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
            raise Late(f'not within {LIMIT:g} s: {what() if callable(what) else what}')
        waited = time.monotonic() - start
        over = waited >= LIMIT
        time.sleep(pause if pause < PAUSE else max(pause, min(waited * _PART, LONGEST)))


def until_deleted(get: Callable[[], tuple[Any, ...]], path: str) -> None:
    """Wait until a resource whose deletion was requested is gone; ``get`` asks for it, and returns (status, document, ...).

    :raises Late: it is in an error, or stays. What has no status is deleted at once, or is none of the resources that go.
    """

    def ended() -> bool:
        answer[:] = get()[:2]
        status, document = answer
        state = next((one.get('status') for one in (document or {}).values() if isinstance(one, dict)), None)
        if status == 200 and state and 'error' in state:
            raise Late(f'{path} is {state}, not deleted')
        return status != 200 or not state

    answer: list[Any] = []
    until(ended, lambda: f'{path} is deleted: {answer}')
