# SPDX-License-Identifier: Apache-2.0
"""Nova, unchanged, attaches our shares to servers: its client alone, and all its services with a fake hypervisor."""

import json
import os
import subprocess
import sys
from pathlib import Path

from manila_lite.tests import nova
from manila_lite.tests.functional import keystone_base

#: Environment variable with the path of a Python environment with Nova, if that is not the one beside ours.
PLACE = 'MANILA_LITE_TEST_NOVA'


class Nova(keystone_base.KeystoneTest):
    """Nova in a Python environment of its own; without that environment the tests are skipped, with the reason."""

    @classmethod
    def setUpClass(cls):
        cls.place = Path(os.environ.get(PLACE) or f'{sys.prefix}.nova')
        if not (cls.place / 'etc' / 'nova' / 'api-paste.ini').exists():
            raise cls.skipException(f'{cls.place} has no Nova (tools/setup-env --tests installs one)')
        super().setUpClass()

    def run_program(self, name, *words):
        """Run a program of ``tests/nova``, which must succeed; return its output."""
        share = self.caller_of('demo', 'demo').share()['id']
        told = {'auth_url': self.keystone.url, 'password': self.keystone.password, 'share': share,
                'demo': self.keystone.projects['demo']}
        done = subprocess.run(
            [str(self.place / 'bin' / 'python'), '-W', 'ignore', str(Path(nova.__file__).parent / name), *words],
            input=json.dumps(told), capture_output=True, text=True, timeout=600, check=False, cwd=self.service.state,
            env={'PATH': os.environ.get('PATH', os.defpath), 'LC_ALL': 'C.UTF-8', 'HOME': str(self.service.state)})
        self.assertEqual(0, done.returncode, f'{done.stdout[-4000:]}{done.stderr[-8000:]}')
        return done.stdout

    def test_its_client(self):
        self.assertEqual('all of it\n', self.run_program('share_client.py'))

    def test_all_of_it(self):
        self.run_program('whole.py')
