# SPDX-License-Identifier: Apache-2.0
"""Attacks on the compute and data-processing services, as on the share service: others are answered within a second."""

import concurrent.futures
import http.client
import json
import socket

import testtools
from oslo_utils import uuidutils

from manila_lite.siblings.compute import cmd as compute_cmd
from manila_lite.siblings.dataproc import cmd as dataproc_cmd
from manila_lite.tests.functional import base
from manila_lite.tests.functional.siblings.compute import base as compute
from manila_lite.tests.functional.siblings.dataproc import base as dataproc
from manila_lite.tests.security import crowds

_SECOND, _ROUNDS, _LONG = 1.0, 3, 120
#: Many more than the eight threads.
_CROWD = 60


class Attacked:
    """A sibling on the built-in server, with ``service`` its fixture and ``sibling`` its description. The share service
    at ``url`` accepts connections and never answers.
    """

    def setUp(self):
        super().setUp()
        self.silent = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.addCleanup(self.silent.close)
        self.url = f'http://127.0.0.1:{self.silent.getsockname()[1]}'
        self.service = self.make()

    def serve(self):
        """Start the API, after all options are set."""
        server = self.sibling.http(self.service.services)
        server.start()
        self.addCleanup(server.stop, 1)
        self.port = server.port

    def ask(self, method, path, body=None, project='p'):
        """Send a request on a connection of its own. Return status and headers."""
        wire = http.client.HTTPConnection('127.0.0.1', self.port, timeout=_LONG)
        headers = {
            'X-Auth-Token': f'u:{project}:member,reader',
            **self.VERSION,
            'Content-Type': 'application/json',
        }
        try:
            wire.request(method, path, None if body is None else json.dumps(body), headers)
            answer = wire.getresponse()
            answer.read()
        finally:
            wire.close()
        return answer.status, answer.headers

    def assert_answered(self):
        """Check that honest clients are answered at once, in the best of some rounds: the machine may be busy."""
        for _ in range(_ROUNDS):
            answers = [
                (path, *crowds.ask(self.port, path, 'u:q:member,reader'))
                for _ in range(5)
                for path in ('/healthcheck', self.LIST)
            ]
            bad = [one for one in answers if one[1] != 200 or one[2] > _SECOND]
            if not bad:
                break
        self.assertEqual([], bad)

    def test_other_clients_are_answered_during_connection_attacks(self):
        for name in ('header_timeout', 'body_timeout', 'answer_timeout'):
            self.service.conf.set_override(name, 2, self.sibling.name)
        self.serve()
        for kind in crowds.ATTACKS:
            with crowds.Crowd(self.port, kind, _CROWD) as crowd:
                base.eventually(
                    lambda crowd=crowd: crowd.made >= _CROWD or not crowd.is_alive(), f'{kind}: {crowd.made}'
                )
                self.assert_answered()

    def test_hanging_share_service_does_not_block_other_requests(self):
        self.serve()
        request = self.waiting()
        with concurrent.futures.ThreadPoolExecutor(30) as workers:
            asked = [workers.submit(self.ask, *request) for _ in range(30)]
            base.eventually(lambda: any(one.done() for one in asked), 'nobody is refused: all threads wait')
            self.assert_answered()
            first = next(one for one in asked if one.done()).result()
            self.assertEqual((503, '1'), (first[0], first[1]['Retry-After']))
            self.silent.close()  # requests that wait end at once, before their deadline
            self.assertEqual({503}, {one.result()[0] for one in asked})

    def test_requests_over_the_project_limit_are_refused(self):
        for name, value in (('project_rate', 1 / 3600), ('project_burst', 5)):
            self.service.conf.set_override(name, value, 'rate_limits')
        self.serve()
        answers = [self.ask('GET', self.LIST) for _ in range(8)]
        self.assertEqual([200] * 5 + [429] * 3, [status for status, _ in answers])
        self.assertTrue(3500 < int(answers[-1][1]['Retry-After']) <= 3600)
        self.assertEqual(200, self.ask('GET', self.LIST, project='q')[0])
        for path in ('/healthcheck', '/'):  # these are health checks
            self.assertLess(self.ask('GET', path)[0], 400, path)


class Compute(Attacked, testtools.TestCase):
    VERSION = {'OpenStack-API-Version': 'compute 2.97'}
    LIST = '/v2.1/servers'
    sibling = compute_cmd.COMPUTE

    def make(self):
        return self.useFixture(compute.Compute(self.url))

    def waiting(self):
        """Return a request that waits for the share service."""
        server_id = compute.Caller(self.service.app).off()
        return 'POST', f'/v2.1/servers/{server_id}/shares', {'share': {'share_id': uuidutils.generate_uuid()}}


class Dataproc(Attacked, testtools.TestCase):
    VERSION = {}
    LIST = '/v2/cluster-templates'
    sibling = dataproc_cmd.SIBLING

    def make(self):
        return self.useFixture(dataproc.Dataproc(dataproc.LOGIN.format(url=self.url), engine=False))

    def waiting(self):
        """Return a request that waits for the share service."""
        return (
            'POST',
            '/v2/node-group-templates',
            {
                'name': 'n',
                'plugin_name': 'plain',
                'plugin_version': '1.0',
                'shares': [{'id': uuidutils.generate_uuid()}],
            },
        )
