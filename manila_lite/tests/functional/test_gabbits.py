# SPDX-License-Identifier: Apache-2.0
"""Run the requests in ``gabbits/``, one file per resource type, against the real application."""

from pathlib import Path

from gabbi import driver

from manila_lite.tests.functional import gabbi_fixtures


def load_tests(loader, tests, pattern):
    """Return a suite of every request of every file."""
    return driver.build_tests(str(Path(__file__).parent / 'gabbits'), loader, host=None,
                              intercept=gabbi_fixtures.application, fixture_module=gabbi_fixtures,
                              test_loader_name=__name__)
