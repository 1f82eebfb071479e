# SPDX-License-Identifier: Apache-2.0
"""Rules for every test that the package ``manila_lite.tests`` loads: a limit, and no skip for want of a program in CI.

stestr has the package load them. ``python -m testtools.run`` of a module or a class loads that alone, without any of this.

A test has ten minutes, or $OS_TEST_TIMEOUT seconds (0: no limit), or ``LIMITS`` times as much if its class says so. Then
:class:`TooLong` is raised in the main thread, with the stacks of all threads. That does not help if the main thread does not
return from C: then the process ends half a limit later, with the stacks on standard error.
"""

import faulthandler
import math
import os
import pathlib
import re
import signal
import sys
import threading
import time
import traceback
import unittest

import testtools
from testtools import content

from manila_lite.tests import order, spaces

#: Seconds for a test. Set-up and take-down of classes between two tests have ``BETWEEN`` times as much.
LIMIT, BETWEEN = 600.0, 2.5
#: The process ends after so many limits.
_LAST = 1.5
#: Names a folder where a process that runs tests has a file, which is renamed when the last of them has ended: stestr does not
#: notice a process that ends between two tests. The file names the tests of the classes that passed. Another one beside it has
#: what the process says on standard error.
PROGRESS = 'MANILA_LITE_TEST_PROGRESS'
#: Names the time (seconds since 1970) from which no class of tests begins any more.
UNTIL = 'MANILA_LITE_TEST_UNTIL'
NOT_REACHED = 'the time was over before this test began'
#: Names the modules to load, with spaces between them, if those are not all.
MODULES = 'MANILA_LITE_TEST_MODULES'
#: The module of a test, in its name.
_MODULE = re.compile(r'([\w.]*?\btest_\w+)\.')
#: Permitted reasons of skips where all programs are installed: the test does not apply. Each has a meaning, and the
#: whole text that the test gives. A missing program, package, right or device is no such reason.
PERMITTED = {
    'it is about another database than that of this run': re.compile(
        r'only (SQLite|MariaDB|PostgreSQL) has .*|it is about (a )?SQLite\b.*'
    ),
    'the tree is a shallow clone, or none': re.compile(
        'this tree has no history, so no earlier release is in it'
    ),
    'the run ended by the clock': re.compile(re.escape(NOT_REACHED)),
}


class TooLong(Exception):
    """What runs in the main thread has taken longer than it may."""


class Result(testtools.TestResultDecorator):
    """A result that limits each test. In CI a skip without a permitted reason is a failure."""

    def __init__(self, decorated):
        super().__init__(decorated)
        self.bad = 0
        self._over = ''

    def startTest(self, test):
        self._over = ''
        self.limit(limit() * getattr(test, 'LIMITS', 1.0))
        super().startTest(test)

    def stopTest(self, test):
        self.limit(limit() * BETWEEN)
        super().stopTest(test)

    def addSuccess(self, test, details=None):
        if self._over:  # the test caught the exception
            self.addFailure(test, details={'traceback': content.text_content(self._over)})
        else:
            super().addSuccess(test, details)

    def addSkip(self, test, reason=None, details=None):
        why = reason or (
            details['reason'].as_text() if details and 'reason' in details else 'no reason given'
        )
        if os.environ.get('CI') and not permitted(why):
            self.addFailure(test, details={'traceback': content.text_content(f'skipped: {why}')})
        else:
            super().addSkip(test, reason, details)

    def addError(self, test, err=None, details=None):
        self.bad += 1
        super().addError(test, err, details)

    def addFailure(self, test, err=None, details=None):
        self.bad += 1
        super().addFailure(test, err, details)

    def limit(self, seconds):
        """Give the main thread so many seconds from now on; 0 for any time."""

        def interrupt(signo, frame):
            self._over = f'it took more than {seconds:g} seconds\n{_stacks(frame)}'
            raise TooLong(self._over)

        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        if seconds:
            faulthandler.dump_traceback_later(seconds * _LAST, exit=True, file=2)
        else:
            faulthandler.cancel_dump_traceback_later()


class Suite(unittest.TestSuite):
    """Tests with limits. No class begins after ``until`` (seconds since 1970). ``progress``: the file of this process."""

    def __init__(self, units, until=math.inf, progress=None):
        super().__init__(units)
        self._until = until
        self._progress = progress

    def run(self, result, debug=False):
        """See ``unittest.TestSuite.run``. The process has no other tests: it soon ends."""
        limited = Result(result)
        limited._testRunEntered = True  # unittest: classes are taken down by their own suites
        limited.limit(limit() * BETWEEN)
        for unit in self:
            if limited.shouldStop:
                return result
            self._run(unit, limited)
        limited.limit(0)
        if self._progress:
            self._progress.rename(self._progress.with_suffix('.ended'))
        return result

    def _run(self, unit, limited):
        if time.time() > self._until:
            for test in order.tests(unit):
                limited.addSkip(test, NOT_REACHED)
            return
        bad, names = limited.bad, order.names(unit)
        unit.run(limited)
        if self._progress and limited.bad == bad:
            with self._progress.open('a') as file:
                file.write(''.join(f'{name}\n' for name in names))


def discovered(loader, folder, pattern):
    """Return the tests in a folder, or in the modules that ``MODULES`` or the list of tests names, with limits and in the
    wanted order.
    """
    # They are not for the processes that tests start.
    modules, noted, until = (os.environ.pop(name, '') for name in (MODULES, PROGRESS, UNTIL))
    chosen = modules.split() or listed(sys.argv)
    progress = pathlib.Path(noted, f'{os.getpid()}.begun') if noted and '--list' not in sys.argv else None
    if '--list' not in sys.argv:
        spaces.enter()  # pids are those of other processes, too, from here on
    if progress:
        progress.touch()
        # Nine of ten lines of the run would be what services log.
        os.dup2(os.open(progress.with_suffix('.said'), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    tests = loader.loadTestsFromNames(chosen) if chosen else loader.discover(folder, pattern)
    return Suite(order.ordered(tests), float(until or math.inf), progress)


def listed(words):
    """Return the modules of the tests in the file that these words of a command name; none if they name none."""
    if '--load-list' not in words:
        return []
    names = pathlib.Path(words[words.index('--load-list') + 1]).read_text().splitlines()
    return sorted({found[1] for name in names if (found := _MODULE.match(name))})


def limit():
    """Return the limit of a test in seconds; 0 for none."""
    return float(os.environ.get('OS_TEST_TIMEOUT') or LIMIT)


def permitted(why):
    """Say whether a test may be skipped for this reason, wherever tests run."""
    return any(form.fullmatch(why.strip()) for form in PERMITTED.values())


def _stacks(frame):
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    others = ''.join(
        f'Thread {names.get(thread_id, "unknown")}:\n{"".join(traceback.format_stack(stack))}'
        for thread_id, stack in sys._current_frames().items()
        if thread_id != threading.get_ident()
    )
    return f'{"".join(traceback.format_stack(frame))}Other threads:\n{others or "none"}'
