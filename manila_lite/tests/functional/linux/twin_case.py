# SPDX-License-Identifier: Apache-2.0
"""Tests that need a kernel of Debian, in a twin of this machine: see ``in_twin``."""

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite import tests
from manila_lite.tests import limits
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import twin

_IN_TWIN = 'manila_lite.tests.functional.linux.in_twin'


class InTwin(testtools.TestCase):
    """An emulated machine, which beside other tests has a fraction of two processors."""

    LIMITS = 3
    #: Seconds, below the time limit of the test.
    SECONDS = LIMITS * limits.LIMIT - 30

    def succeed(self, *names, lacks=''):
        """Run modules of ``in_twin`` in one twin, each with one test. ``lacks``: their missing packages."""
        if lacks := ', '.join(filter(None, (base.missing(), twin.missing(), lacks))):
            raise unittest.SkipTest(
                f'a twin of this machine needs {lacks}; tools/setup-env --guests puts it in place'
            )
        folder = Path(tempfile.mkdtemp(prefix='ml-twin-'))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        env = {
            'PATH': f'{os.environ["PATH"]}:/usr/sbin:/sbin',
            'HOME': '/root',
            'LC_ALL': 'C.UTF-8',
            # A test that is skipped in the twin has failed. Its time is that of the twin.
            'CI': '1',
            'OS_TEST_TIMEOUT': '0',
            limits.MODULES: ' '.join(f'{_IN_TWIN}.{name}' for name in names),
        }
        words = [sys.executable, '-m', 'testtools.run', tests.__name__]
        status, said = twin.run(folder, words, env, self.SECONDS)
        self.assertEqual(0, status, said)
        self.assertRegex(said, rf'(?m)^Ran {len(names)} tests? in ')
