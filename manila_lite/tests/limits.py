# SPDX-License-Identifier: Apache-2.0
"""Time limits of tests. A test that takes too long fails, and its report has the stacks of all threads.

A test has ten minutes, or $OS_TEST_TIMEOUT seconds (0: no limit), or ``LIMITS`` times as much if its class says so;
set-up and take-down of a class have two and a half times as much. Then :class:`TooLong` is raised in the main thread,
and again if cleaning up takes too long as well. That does not help if the main thread does not return from C or catches
everything: then the process ends half a limit later, with the stacks on standard error. Its test counts as failed, and
later tests of that process do not run.
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
#: Parts of a test's limit for other work: set-up and take-down of classes between two tests;
BETWEEN = 2.5
#: a test of a class in which another test was too long, for the same may hang in all of them;
NEXT = 0.1
#: the time from one interruption to the next, with a minimum in seconds, in which it is reported;
AGAIN, AGAIN_AT_LEAST = 0.2, 2
#: the time from the first interruption to the end of the process, and for its end after all tests, with a minimum in
#: seconds;
LAST, LAST_AT_LEAST = 0.5, 5
#: loading of all tests, with a minimum in seconds.
LOADING, LOADING_AT_LEAST = 0.5, 60

#: Number of calls that a report shows.
_CALLS = 6

#: Names a folder where a process that runs tests leaves a file until the last of them has ended.
UNDONE = 'MANILA_LITE_TEST_UNDONE'
#: That file, once it exists.
_words = []

#: Names the modules to load, with spaces between them, if those are not all (tools/matching.py).
MODULES = 'MANILA_LITE_TEST_MODULES'


class TooLong(Exception):
    """What runs in the main thread has taken longer than it may."""


_NAME = f'{TooLong.__module__}.{TooLong.__qualname__}'


class Clock:
    """A clock that interrupts the main thread when its time is over. ``seconds``: the limit of a test."""

    def __init__(self, seconds):
        self._seconds = self._limit = seconds
        self._again = max(seconds * AGAIN, AGAIN_AT_LEAST)
        self._last = max(seconds * LAST, LAST_AT_LEAST)
        #: If the work was too long: the stacks, as a traceback. Else empty.
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
        """Count time from now on; the limit is ``share`` of a test's."""
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
    """A result that starts the clock for each test. A test that was too long has failed, even if the exception was caught."""

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
        """Say whether the test was too long, and report it as failed then."""
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
    """Tests with time limits."""

    def run(self, result, debug=False):
        """See ``unittest.TestSuite.run``. The process has no other tests: it soon ends."""
        if seconds := limit():
            with Clock(seconds) as clock:
                super().run(Result(result, clock), debug)
        else:
            super().run(result, debug)
        if _words and not result.shouldStop:
            _words.pop().unlink()
        return result


def discovered(loader, folder, pattern):
    """Return the tests in a folder, or in the modules that ``MODULES`` names, with time limits and in the wanted order."""
    if seconds := limit():
        _end_in(max(seconds * LOADING, LOADING_AT_LEAST))
    if '--list' not in sys.argv:
        _leave_word()
    chosen = os.environ.pop(MODULES, '').split()      # it is not for the processes of tests
    tests = loader.loadTestsFromNames(chosen) if chosen else loader.discover(folder, pattern)
    return Suite([order.ordered(tests)])


def limit():
    """Return the limit of a test in seconds; 0 for none."""
    return float(os.environ.get('OS_TEST_TIMEOUT') or LIMIT)


def _leave_word():
    """Leave a file, so that an end of this process while it still loads its tests is noticed, too."""
    if folder := os.environ.get(UNDONE):
        _words.append(pathlib.Path(folder, str(os.getpid())))
        _words[-1].touch()


def _place(frame):
    """Return the present calls of the main thread, the innermost first, in one line that survives a cut-off report."""
    calls = traceback.extract_stack(frame)[:-_CALLS - 1:-1]
    return ' < '.join(f'{pathlib.Path(call.filename).stem}:{call.lineno} {call.name}' for call in calls)


def _end_in(seconds):
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)


def _other_stacks():
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return ''.join(f'Thread {names.get(thread_id, "unknown")}:\n{"".join(traceback.format_stack(frame))}'
                   for thread_id, frame in sys._current_frames().items() if thread_id != threading.get_ident()) or 'none\n'
