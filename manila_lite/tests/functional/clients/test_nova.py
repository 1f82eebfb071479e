# SPDX-License-Identifier: Apache-2.0
"""Nova, unchanged, attaches our shares to servers: its client alone, and all its services with a fake hypervisor."""

import json
import os
import subprocess
from pathlib import Path

from manila_lite.tests import nova
from manila_lite.tests.functional import keystone_base
from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Missing


class Nova(keystone_base.KeystoneTest):
    """Nova in a Python environment of its own; without that environment the tests are skipped, with the reason."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.place = environments.find('nova', 'etc/nova/api-paste.ini')
        except Missing as missing:
            raise cls.skipException(str(missing)) from missing
        super().setUpClass()

    def run_program(self, name, *words):
        """Run a program of ``tests/nova``, which must succeed; return its output."""
        share = self.caller_of('demo', 'demo').share()['id']
        told = {
            'auth_url': self.keystone.url,
            'password': self.keystone.password,
            'share': share,
            'demo': self.keystone.projects['demo'],
        }
        done = subprocess.run(
            [
                str(self.place / 'bin' / 'python'),
                '-W',
                'ignore',
                str(Path(nova.__file__).parent / name),
                *words,
            ],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.service.state,
            env={
                'PATH': os.environ.get('PATH', os.defpath),
                'LC_ALL': 'C.UTF-8',
                'HOME': str(self.service.state),
            },
        )
        self.assertEqual(0, done.returncode, f'{done.stdout[-4000:]}{done.stderr[-8000:]}')
        return done.stdout

    def test_calls_of_the_share_client_succeed(self):
        self.assertEqual('all of it\n', self.run_program('share_client.py'))

    def test_all_of_it(self):
        self.run_program('whole.py')
