# SPDX-License-Identifier: Apache-2.0
"""Floods from an address and of a project: a caller that sends too much waits, and no other caller does."""

import concurrent.futures
import contextlib
import http.client
import json
import time
import unittest

import bcrypt
import fixtures

from manila_lite.api.http import app
from manila_lite.api.server import server
from manila_lite.tests import hush, waiting
from manila_lite.tests.functional import base
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.memcached import Memcached

#: A rate that refills one token an hour: results do not depend on the speed of this machine.
SLOW = 1 / 3600
BURST = 7


class Flood(base.ServiceTest):
    """Clients on sockets, from several addresses of the loopback."""

    PARTS = ()

    def serve(self, **options):
        """Start another process of the API, as far as its memory goes, with these limits. Return its port."""
        for name, value in options.items():
            group = 'api' if name == 'trusted_proxies' else 'rate_limits'
            self.service.conf.set_override(name, value, group)
            self.addCleanup(self.service.conf.clear_override, name, group)
        made = server.ApiServer(app.make(self.service.services), '127.0.0.1', 0)
        made.start()
        self.addCleanup(made.stop, 1)
        return made.port

    def get(self, port, path='/v2/shares', project='p', source='127.0.0.1', **headers):
        """Send a request from an address. Return status, document and headers."""
        sent = {
            'X-Auth-Token': f'u:{project}:member,reader:{hush.MARK}token',
            'X-OpenStack-Manila-API-Version': '2.99',
            **{name.replace('_', '-'): value for name, value in headers.items()},
        }
        wire = http.client.HTTPConnection(
            '127.0.0.1', port, timeout=waiting.LIMIT, source_address=(source, 0)
        )
        with contextlib.closing(wire):
            wire.request('GET', path, headers=sent)
            answer = wire.getresponse()
            text = answer.read()
        document = (
            json.loads(text) if text and answer.headers.get_content_type() == 'application/json' else None
        )
        return answer.status, document, answer.headers

    def let_in(self, port, times=3 * BURST, **request):
        """Return how many of ``times`` requests, several at once, are not refused for being too many."""
        with concurrent.futures.ThreadPoolExecutor(6) as workers:
            return sum(
                status != 429 for status, *_ in workers.map(lambda _: self.get(port, **request), range(times))
            )

    def assertRefused(self, answer, whose):
        status, document, headers = answer
        self.assertEqual((429, ['overLimit']), (status, list(document)))
        fault = document['overLimit']
        self.assertEqual((429, 'rate_limited'), (fault['code'], fault['reason']))
        self.assertIn(whose, fault['message'])
        self.assertEqual(headers['Retry-After'], fault['retryAfter'])
        self.assertTrue(3500 < int(headers['Retry-After']) <= 3600, headers['Retry-After'])
        self.assertTrue(headers['X-OpenStack-Request-ID'])


class Addresses(Flood):
    def test_requests_are_not_limited_by_default(self):
        self.assertEqual(300, self.let_in(self.serve(), 300))

    def test_requests_of_one_address_are_limited(self):
        port = self.serve(address_rate=SLOW, address_burst=BURST)
        self.assertEqual(BURST, self.let_in(port, source='127.0.0.2'))
        self.assertRefused(self.get(port, source='127.0.0.2'), '127.0.0.2')
        self.assertEqual(BURST, self.let_in(port, source='127.0.0.3'))

    def test_all_calls_except_health_and_versions_are_limited(self):
        """All requests of the address are limited, except for the health check and the list of versions."""
        port = self.serve(address_rate=SLOW, address_burst=1)
        self.let_in(port, 2)
        for path in (
            '/v2/shares',
            '/v2/nothing',
            '/nothing',
            '/openapi.json',
            '/identity/users/x',
            '/healthcheck/more',
        ):
            self.assertEqual(429, self.get(port, path)[0], path)
        for path, status in (
            ('/healthcheck', 200),
            ('/healthcheck/', 200),
            ('/', 300),
            ('/v2', 200),
            ('/v2/', 200),
        ):
            self.assertEqual(status, self.get(port, path)[0], path)

    def test_allowance_refills(self):
        port = self.serve(address_rate=50.0, address_burst=1)
        began = time.monotonic()
        base.eventually(
            lambda: self.let_in(port, 10) < 10 or time.monotonic() - began > 20, 'nothing is refused'
        )
        base.eventually(lambda: self.get(port)[0] == 200, 'it stays refused')

    def test_forwarded_headers_of_clients_are_ignored(self):
        """Each request claims another address, in each of the possible headers."""
        port = self.serve(address_rate=SLOW, address_burst=BURST)
        names = ('X_Forwarded_For', 'Forwarded', 'X_Real_IP', 'Client_IP', 'True_Client_IP', 'Remote_Addr')
        said = sum(
            self.get(
                port,
                source='127.0.0.2',
                **{name: f'{"for=" * (name == "Forwarded")}192.0.2.{number}' for name in names},
            )[0]
            != 429
            for number in range(3 * BURST)
        )
        self.assertEqual(BURST, said)

    def test_address_behind_a_proxy_is_used(self):
        """The proxy adds the client's address; addresses that the client wrote before do not count."""
        port = self.serve(address_rate=SLOW, address_burst=BURST, trusted_proxies=['127.0.0.1', '10.0.0.0/8'])
        client, other = '1.1.1.1, 192.0.2.1, 10.1.2.3', '192.0.2.2'
        self.assertEqual(BURST, self.let_in(port, X_Forwarded_For=client))
        self.assertRefused(self.get(port, X_Forwarded_For='2.2.2.2, 192.0.2.1'), '192.0.2.1')
        self.assertEqual(200, self.get(port, X_Forwarded_For=other)[0])
        # A client that is no proxy, and connects directly.
        self.assertEqual(BURST, self.let_in(port, source='127.0.0.2', X_Forwarded_For=other))

    def test_ipv6_addresses_of_one_network_share_one_limit(self):
        port = self.serve(address_rate=SLOW, address_burst=BURST, trusted_proxies=['127.0.0.1'])
        said = sum(
            self.get(port, X_Forwarded_For=f'2001:db8::{number:x}:1')[0] != 429 for number in range(3 * BURST)
        )
        self.assertEqual(BURST, said)
        self.assertEqual(200, self.get(port, X_Forwarded_For='2001:db8:0:1::1')[0])

    def test_exempt_addresses_are_not_limited(self):
        port = self.serve(address_rate=SLOW, address_burst=1, address_exempt=['127.0.0.4/31'])
        self.assertEqual(30, self.let_in(port, 30, source='127.0.0.5'))
        self.assertEqual(1, self.let_in(port, 30, source='127.0.0.6'))

    def test_limit_applies_when_switched_on_at_run_time(self):
        port = self.serve()
        self.assertEqual(20, self.let_in(port, 20))
        self.service.conf.set_override('address_rate', SLOW, 'rate_limits')
        self.service.conf.set_override('address_burst', 1, 'rate_limits')
        for name in ('address_rate', 'address_burst'):
            self.addCleanup(self.service.conf.clear_override, name, 'rate_limits')
        self.assertEqual(1, self.let_in(port, 20))


class Projects(Flood):
    def test_requests_of_one_project_are_limited(self):
        """All requests of the project count, from any address."""
        port = self.serve(project_rate=SLOW, project_burst=BURST)
        self.assertEqual(
            BURST,
            sum(self.let_in(port, 3, project='greedy', source=f'127.0.0.{host}') for host in range(2, 9)),
        )
        self.assertRefused(self.get(port, project='greedy'), 'project greedy')
        self.assertEqual(BURST, self.let_in(port, project='modest'))
        self.assertEqual(200, self.get(port, '/healthcheck', project='greedy')[0])

    def test_exempt_projects_are_not_limited(self):
        port = self.serve(project_rate=SLOW, project_burst=1, project_exempt=['service'])
        self.assertEqual(30, self.let_in(port, 30, project='service'))
        self.assertEqual(1, self.let_in(port, 30, project='other'))

    def test_projects_have_separate_limits(self):
        """Without a login, a header with a project does not count."""
        port = self.serve(project_rate=SLOW, project_burst=BURST)
        self.assertEqual(30, self.let_in(port, 30, path='/openapi.json', X_Project_Id='victim'))
        self.assertEqual(30, self.let_in(port, 30, path='/v2/', X_Project_Id='victim'))
        self.let_in(port, project='greedy', X_Project_Id='victim')
        self.assertEqual(BURST, self.let_in(port, project='victim'))


class Passwords(Flood):
    """Guesses of passwords of users in a file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = cls.service.state / 'users'
        cls.file.write_text(
            f'alice:{bcrypt.hashpw(hush.secret("alice").encode(), bcrypt.gensalt(4)).decode()}\n'
        )

    def test_password_guesses_over_the_limit_are_refused_unchecked(self):
        """After too many guesses no password is checked, so that the right one is refused as well."""
        self.service.conf.set_override('auth_strategy', 'http_basic')
        self.service.conf.set_override('http_basic_auth_user_file', str(self.file), 'api')
        self.addCleanup(self.service.conf.clear_override, 'auth_strategy')
        self.addCleanup(self.service.conf.clear_override, 'http_basic_auth_user_file', 'api')
        port = self.serve(address_rate=SLOW, address_burst=BURST)
        guess = {'Authorization': 'Basic YWxpY2U6bm90aGluZw=='}
        with concurrent.futures.ThreadPoolExecutor(4) as workers:
            said = list(workers.map(lambda _: self.get(port, **guess)[0], range(3 * BURST)))
        self.assertEqual([401] * BURST + [429] * 2 * BURST, sorted(said))


class Together(Flood):
    """Several processes that share a memcached."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.memcached = Memcached()
        try:
            self.useFixture(self.memcached)
        except Missing as bad:
            raise unittest.SkipTest(f'no memcached: {bad}') from bad
        options = {
            'project_rate': SLOW,
            'project_burst': BURST,
            'memcached_servers': [self.memcached.address],
            'memcached_timeout': waiting.LIMIT,  # a memcached that is slow is not away
        }
        self.ports = [self.serve(**options) for _ in range(3)]

    def all_let_in(self, **request):
        with concurrent.futures.ThreadPoolExecutor(3) as workers:
            return list(workers.map(lambda port: self.let_in(port, 2 * BURST, **request), self.ports))

    def test_processes_count_together(self):
        self.assertEqual(BURST, sum(self.all_let_in(project='greedy')))
        self.assertRefused(self.get(self.ports[0], project='greedy'), 'project greedy')
        self.assertEqual(BURST, sum(self.all_let_in(project='modest')))

    def test_limits_work_when_memcached_stops(self):
        """Without memcached each process counts for itself, and logs that once."""
        self.all_let_in(project='greedy')
        self.memcached.abort()
        self.assertEqual([BURST] * 3, self.all_let_in(project='greedy'))
        self.assertEqual(3, self.log.output.count('cannot be used for rate limits'))

    def test_limits_work_when_memcached_hangs(self):
        # What was away once stays away: each process waits for it in its first requests only, and logs that once.
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.token_buckets._AGAIN', 3600.0))
        self.ports = [self.serve(memcached_timeout=0.5) for _ in range(3)]
        self.all_let_in(project='first')
        self.memcached.pause()
        self.addCleanup(self.memcached.go_on)
        self.assertEqual([BURST] * 3, self.all_let_in(project='greedy'))
        self.assertEqual(3, self.log.output.count('cannot be used for rate limits'))

    def test_memcached_is_used_again(self):
        """The processes count together again when memcached is back."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.token_buckets._AGAIN', 0.2))
        self.all_let_in(project='greedy')
        self.memcached.abort()
        self.assertEqual([BURST] * 3, self.all_let_in(project='greedy'))
        self.memcached.start()
        base.eventually(
            lambda: (
                self.all_let_in(project='x')
                and self.log.output.count('can be used for rate limits again') == 3
            ),
            'it is not asked again',
        )
        self.assertEqual(BURST, sum(self.all_let_in(project='y')))
