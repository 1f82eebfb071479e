# SPDX-License-Identifier: Apache-2.0
"""The tests. On threads, like the product: whatever they import first."""

import os

import manila_lite.cmd  # noqa: F401


def load_tests(loader, tests, pattern):
    """Return all tests, for stestr, each of which ends."""
    # Processes that tests start import this package too, and have no use for limits.
    from manila_lite.tests import limits
    return limits.discovered(loader, os.path.dirname(__file__), pattern)


def _take_notes():
    """Note refusals if the environment asks for it. See ``refusals``."""
    if os.environ.get('MANILA_LITE_TEST_REFUSALS'):
        from manila_lite.tests import refusals
        refusals.listen()


_take_notes()
