# SPDX-License-Identifier: Apache-2.0
"""All tests. They run on threads, like the product, whichever module they import first."""

import os
import sys

import manila_lite.cmd  # noqa: F401
from manila_lite.tests import spaces

# Those that stestr starts do the same as they load their tests: limits.py.
if sys.argv[0].endswith('/testtools/run.py'):
    spaces.enter()


def load_tests(loader, tests, pattern):
    """Return all tests, each with a time limit, for stestr."""
    # Processes that tests start import this package too, and need neither limits nor the API.
    from manila_lite.tests import limits

    take_notes()
    return limits.discovered(loader, os.path.dirname(__file__), pattern)


def take_notes():
    """Note statements in this process if the environment asks for it; see ``statements``."""
    # On a server a test reads what was noted on SQLite.
    if os.environ.get('MANILA_LITE_TEST_STATEMENTS') and not os.environ.get('MANILA_LITE_TEST_DATABASE'):
        from manila_lite.tests import statements

        statements.listen()
