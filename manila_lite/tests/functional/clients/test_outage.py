# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients while the database of the API is away: they say to try again, or do so by themselves."""

import json
import threading
import urllib.error
import urllib.request

import openstack
import testtools
from openstack import exceptions

from manila_lite.tests import process, waiting
from manila_lite.tests.functional import commandline
from manila_lite.tests.services import daemon, databases

_SAID = 'The database is busy or cannot be reached. Nothing was changed; try again in a moment.'
#: A list, a look-up by name, and a change.
_COMMANDS = ('share list', 'share show docs', 'share create NFS 1 --name late')


class Outage(commandline.Calls, testtools.TestCase):
    """The API in a process, and a database server that stops and starts: PostgreSQL, since it starts fastest."""

    def setUp(self):
        super().setUp()
        self.server = databases.PostgreSQL()
        try:
            self.server.need()
        except daemon.Missing as missing:
            self.skipTest(str(missing))
        self.useFixture(self.server)
        self.parts = self.useFixture(process.Parts(f'[database]\nconnection = {self.server.url}\n'))
        self.parts.run('api')
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        self.url = f'http://127.0.0.1:{self.parts.port}'

    def refused(self, agent):
        """Return headers and document of a refused request."""
        request = urllib.request.Request(f'{self.url}/v2/shares', headers={'User-Agent': agent})
        with (
            self.assertRaises(urllib.error.HTTPError) as refused,
            urllib.request.urlopen(request, timeout=waiting.LIMIT),
        ):
            pass
        self.assertEqual(503, refused.exception.code)
        return refused.exception.headers, json.load(refused.exception)['serviceUnavailable']

    def shares(self, **more):
        """Return the names of shares, as openstacksdk finds them."""
        cloud = openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            shared_file_system_endpoint_override=f'{self.url}/v2',
            shared_file_system_default_microversion='2.82',
            **more,
        )
        return [share.name for share in cloud.shared_file_system.shares()]

    def test_clients_say_to_try_again_or_do_so(self):
        self.assertEqual([], self.shares())
        self.server.stop()
        for agent, after in (('curl/8', '1'), ('python-manilaclient', None)):
            headers, fault = self.refused(agent)
            self.assertEqual(
                (after, '1', _SAID), (headers['Retry-After'], fault['retryAfter'], fault['message'])
            )
        for words in _COMMANDS:
            said = self.run_cli(*words.split(), fails=True)
            self.assertIn(f'{_SAID} (HTTP 503)', said, words)
        with self.assertRaises(exceptions.HttpException) as refused:
            self.shares()
        self.assertIn(_SAID, str(refused.exception))
        self.retry()
        self.run_cli('share', 'create', 'NFS', '1', '--name', 'late')
        self.assertEqual(['late'], self.shares())

    def retry(self):
        """Have openstacksdk ask on, which it does if told to, until the database is there again."""
        found = []
        asking = threading.Thread(
            target=lambda: found.append(self.shares(shared_file_system_status_code_retries=60))
        )
        before = self.refusals()
        asking.start()
        self.addCleanup(asking.join)
        self.parts.until(lambda: self.refusals() > before + 1, 'openstacksdk asks again')
        self.server.start()
        asking.join(waiting.LIMIT)
        self.assertEqual([[]], found)

    def refusals(self):
        """Return the number of requests that were refused so far."""
        return self.parts.log.read_text().count('status: 503')
