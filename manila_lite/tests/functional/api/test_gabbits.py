# SPDX-License-Identifier: Apache-2.0
"""Run the requests in ``gabbits/``, one file per resource type, against the real application."""

from pathlib import Path

import fixtures
import yaml
from gabbi import driver

from manila_lite.tests import waiting
from manila_lite.tests.functional import gabbi_fixtures


def load_tests(loader, tests, pattern):
    """Return a suite of every request of every file. Files say how often a request is repeated; all wait equally long."""
    # Each process that runs tests reads all files: in C they take a tenth of the time.
    with fixtures.MonkeyPatch('yaml.SafeLoader', yaml.CSafeLoader):
        suite = driver.build_tests(
            str(Path(__file__).parents[1] / 'gabbits'),
            loader,
            host=None,
            intercept=gabbi_fixtures.application,
            fixture_module=gabbi_fixtures,
            test_loader_name=__name__,
        )
    for test in _tests(suite):
        if poll := test.test_data['poll']:
            poll['count'] = int(waiting.LIMIT / poll['delay'])
    return suite


def _tests(suite):
    for one in suite:
        yield from _tests(one) if hasattr(one, '__iter__') else [one]
