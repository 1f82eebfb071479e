# SPDX-License-Identifier: Apache-2.0
"""Every test ends. One that takes too long fails, and its report has the stacks of all threads.

A test has ten minutes, or $OS_TEST_TIMEOUT seconds (0: as long as it likes), or ``LIMITS`` times as much if its class says
so; what a class sets up or takes down, two and a half times as much. Then :class:`TooLong` is raised in the main thread,
and again if cleaning up takes too long as well. Where that does not help, because the main thread does not come back from C
or catches everything, its process ends half a limit later, with the stacks on standard error: its test counts as failed,
and those after it in that process do not run.
"""

import faulthandler
import os
import pathlib
import signal
import sys
import threading
import traceback
import unittest

import testtools
from testtools import content

from manila_lite.tests import order

#: Seconds for a test.
LIMIT = 600
#: What others have of a test's seconds: what classes set up and take down between two tests;
BETWEEN = 2.5
#: a test of a class of which one was too long before, for what hung may hang in all of them;
NEXT = 0.1
#: from one interruption to the next, and at least so many seconds, in which it is reported;
AGAIN, AGAIN_AT_LEAST = 0.2, 2
#: from the first interruption to the end of the process, and for it to end when all tests have run, and at least so many;
LAST, LAST_AT_LEAST = 0.5, 5
#: to load all tests, and at least so many.
LOADING, LOADING_AT_LEAST = 0.5, 60

#: So many calls tell where it was.
_CALLS = 6

#: Names a folder where a process that runs tests leaves a file, which goes after the last of them.
UNDONE = 'MANILA_LITE_TEST_UNDONE'
#: That file, once it is there.
_words = []


class TooLong(Exception):
    """What runs in the main thread has taken longer than it may."""


_NAME = f'{TooLong.__module__}.{TooLong.__qualname__}'


class Clock:
    """What runs in the main thread is interrupted when its time is over. ``seconds``: of a test."""

    def __init__(self, seconds):
        self._seconds = self._limit = seconds
        self._again = max(seconds * AGAIN, AGAIN_AT_LEAST)
        self._last = max(seconds * LAST, LAST_AT_LEAST)
        #: If this was too long: the stacks, as a traceback. Else empty.
        self.report = ''

    def __enter__(self):
        self._before = signal.signal(signal.SIGALRM, self._over)
        self.start(BETWEEN)
        return self

    def __exit__(self, *ended):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        _end_in(self._last)

    def start(self, share=1.0):
        """Time is counted from now on; there is so much of a test's."""
        self.report = ''
        self._limit = self._seconds * share
        signal.setitimer(signal.ITIMER_REAL, self._limit, self._again)
        _end_in(self._limit + self._last)

    def _over(self, signo, frame):
        error = TooLong(f'it took more than {self._limit:g} seconds, the last in {_place(frame)}\n'
                        f'Other threads:\n{_other_stacks()}')
        if not self.report:
            self.report = ''.join(['Traceback (most recent call last):\n', *traceback.format_stack(frame),
                                   *traceback.format_exception_only(error)])
        raise error


class Result(testtools.TestResultDecorator):
    """Starts the clock for each test. What was too long has failed, whatever became of the exception."""

    def __init__(self, decorated, clock):
        super().__init__(decorated)
        self._clock = clock
        self._hung = None

    def startTest(self, test):
        super().startTest(test)
        self._clock.start(NEXT if type(test) is self._hung else getattr(test, 'LIMITS', 1.0))

    def stopTest(self, test):
        if self._clock.report:
            self._hung = type(test)
        self._clock.start(BETWEEN)
        super().stopTest(test)

    def addSuccess(self, test, details=None):
        if not self._late(test, details):
            super().addSuccess(test, details)

    def addSkip(self, test, reason=None, details=None):
        if not self._late(test, details):
            super().addSkip(test, reason, details)

    def addExpectedFailure(self, test, err=None, details=None):
        if not self._late(test, details):
            super().addExpectedFailure(test, err, details)

    def _late(self, test, details):
        """Say whether the test was too long; then it has failed."""
        if self._clock.report:
            super().addError(test, details=self._told(details or {}))
        return bool(self._clock.report)

    def addError(self, test, err=None, details=None):
        super().addError(test, err, self._told(details))

    def addFailure(self, test, err=None, details=None):
        super().addFailure(test, err, self._told(details))

    def _told(self, details):
        if not self._clock.report or details is None or any(_NAME in text for text in _tracebacks(details)):
            return details
        return details | {'traceback-of-the-limit': content.text_content(self._clock.report)}


def _tracebacks(details):
    return [detail.as_text() for name, detail in details.items() if 'traceback' in name]


class Suite(unittest.TestSuite):
    """Tests each of which ends."""

    def run(self, result, debug=False):
        """See ``unittest.TestSuite.run``. They are all that this process is for: it soon ends."""
        if seconds := limit():
            with Clock(seconds) as clock:
                super().run(Result(result, clock), debug)
        else:
            super().run(result, debug)
        if _words and not result.shouldStop:
            _words.pop().unlink()
        return result


def discovered(loader, folder, pattern):
    """Return the tests in a folder, each of which ends, in the order that is wanted."""
    if seconds := limit():
        _end_in(max(seconds * LOADING, LOADING_AT_LEAST))
    if '--list' not in sys.argv:
        _leave_word()
    return Suite([order.ordered(loader.discover(folder, pattern))])


def limit():
    """Return how many seconds a test has; 0 for as many as it likes."""
    return float(os.environ.get('OS_TEST_TIMEOUT') or LIMIT)


def _leave_word():
    """What ends this process while it still loads its tests is noticed, too."""
    if folder := os.environ.get(UNDONE):
        _words.append(pathlib.Path(folder, str(os.getpid())))
        _words[-1].touch()


def _place(frame):
    """Return where the main thread is, the innermost first: a report that is cut off has this line."""
    calls = traceback.extract_stack(frame)[:-_CALLS - 1:-1]
    return ' < '.join(f'{pathlib.Path(call.filename).stem}:{call.lineno} {call.name}' for call in calls)


def _end_in(seconds):
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)


def _other_stacks():
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return ''.join(f'Thread {names.get(ident, "unknown")}:\n{"".join(traceback.format_stack(frame))}'
                   for ident, frame in sys._current_frames().items() if ident != threading.get_ident()) or 'none\n'
