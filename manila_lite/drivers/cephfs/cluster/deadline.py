# SPDX-License-Identifier: Apache-2.0
"""Calls into a library that may hang, for instance in C, each in a thread of its own and given up after a while."""

import contextlib
import threading
from collections.abc import Callable
from concurrent import futures
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
    answer: futures.Future[Any] = futures.Future()
    threading.Thread(target=_run, args=(work, answer, late), name='ceph', daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        if answer.cancel():
            raise Hangs(f'no answer within {seconds:g} s') from None
        return answer.result()  # it came in this moment, or is this very error


def _run(work: Callable[[], Any], answer: 'futures.Future[Any]', late: Callable[[Any], None] | None) -> None:
    """Do the work. The answer is cancelled if nobody waits for it any more."""
    try:
        value = work()
        answer.set_result(value)
    except futures.InvalidStateError:
        if late:
            late(value)
    except BaseException as error:
        with contextlib.suppress(futures.InvalidStateError):
            answer.set_exception(error)
    finally:
        _hanging.release()
