# SPDX-License-Identifier: Apache-2.0
"""Backups and migrations with the kernel's own NFS client, in a twin of this machine: see ``in_twin``."""

import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.tests import limits
from manila_lite.tests.functional.linux import base
from manila_lite.tests.services import twin

#: Below the time limit of the test. Beside other tests an emulated machine has a fraction of two processors.
_SECONDS = 3 * limits.LIMIT - 30
_IN_TWIN = 'manila_lite.tests.functional.linux.in_twin'


class InTwin(testtools.TestCase):

    LIMITS = 3

    def test_backups_and_moves_work_with_the_kernel_client_and_survive_a_takeover(self):
        if lacks := ', '.join(filter(None, (base.missing(), twin.missing()))):
            raise unittest.SkipTest(f'a kernel NFS client needs {lacks}; tools/setup-env --tests puts it in place')
        folder = Path(tempfile.mkdtemp(prefix='ml-twin-'))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        env = {'PATH': f'{os.environ["PATH"]}:/usr/sbin:/sbin', 'HOME': '/root', 'LC_ALL': 'C.UTF-8'}
        # One twin for all: its start and the first imports take minutes of a processor.
        tests = [f'{_IN_TWIN}.{name}' for name in ('backups', 'backup_takeover', 'moves')]
        status, said = twin.run(folder, [sys.executable, '-m', 'testtools.run', *tests], env, _SECONDS)
        self.assertEqual(0, status, said)
        self.assertRegex(said, r'(?m)^Ran 3 tests in ')
