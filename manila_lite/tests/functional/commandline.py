# SPDX-License-Identifier: Apache-2.0
"""The ``openstack`` command, unchanged, against an API without Keystone."""

import json
import os

from manila_lite.cmd.api import Api
from manila_lite.tests import forks


class Calls:
    """Mixin that runs ``openstack`` commands in a test with ``url``, the address of the API."""

    def env(self, **more):
        clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        return clean | {
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': f'{self.url}/identity',
            'OS_SHARED_FILE_SYSTEM_ENDPOINT_OVERRIDE': f'{self.url}/v2',
            # There is no Neutron. The client only wants to find an API under this name and sends no
            # request to it.
            'OS_NETWORK_ENDPOINT_OVERRIDE': self.url,
            **more,
        }

    def run_cli(self, *words, env=None, fails=False):
        done = forks.run('manila_lite.tests.openstack_page:command', *words, env=env or self.env())
        self.assertEqual(
            fails, bool(done.returncode), f'openstack {" ".join(words)}\n{done.stdout}{done.stderr}'
        )
        return done.stderr if fails else done.stdout

    def cli(self, *words, **more):
        return json.loads(self.run_cli(*words, '-f', 'json', **more))


class OverHttp(Calls):
    """Mixin for a ``base.ServiceTest``: its API also answers over HTTP at ``url``."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        api = Api(cls.service.services)
        api.start()
        cls.addClassCleanup(api.stop)
        cls.url = f'http://127.0.0.1:{api.port}'
