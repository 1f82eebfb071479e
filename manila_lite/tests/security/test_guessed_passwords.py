# SPDX-License-Identifier: Apache-2.0
"""Guessed passwords keep nobody out, soon are not checked any more, and do not tell which users exist. And no login at all."""

import base64
import collections
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import threading

import bcrypt
import fixtures

from manila_lite import errors
from manila_lite.api.http import app
from manila_lite.api.server import server
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.tests import hush, waiting
from manila_lite.tests.functional import base, commandline
from manila_lite.tests.functional.siblings.compute.base import Compute
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Dataproc

THREADS, BURST = 8, 10
_MINE, _THEIRS = '127.0.0.3', '127.0.0.2'
_NOBODY = 'http://127.0.0.1:1'


def ask(port, source, method='GET', path='/v2/shares', body=None, **headers):
    """Send a request from an address, on a connection of its own. Return status, document and headers."""
    wire = http.client.HTTPConnection('127.0.0.1', port, timeout=waiting.LIMIT, source_address=(source, 0))
    with contextlib.closing(wire):
        sent = {name.replace('_', '-'): value for name, value in headers.items()}
        wire.request(method, path, None if body is None else json.dumps(body), sent)
        answer = wire.getresponse()
        text = answer.read()
    return answer.status, json.loads(text), answer.headers


class Crowd(base.ServiceTest):
    """Clients on sockets, from several addresses of the loopback."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.crowd = concurrent.futures.ThreadPoolExecutor(16)
        self.addCleanup(self.crowd.shutdown)

    def serve(self, application):
        made = server.ApiServer(application, '127.0.0.1', 0, THREADS)
        made.start()
        self.addCleanup(made.stop, 1)
        return made.port

    def option(self, conf, name, value, group=None):
        conf.set_override(name, value, group)
        self.addCleanup(conf.clear_override, name, group)

    def refused(self, answer):
        """Check that an answer refuses a login unchecked, and says when to come again."""
        status, document, headers = answer
        self.assertEqual((429, 'too_many_failed_logins'), (status, document['overLimit']['reason']), document)
        self.assertIn(_THEIRS, document['overLimit']['message'])
        self.assertTrue(0 < int(headers['Retry-After']) <= 10, headers['Retry-After'])

    def guess(self, send, times):
        """Send logins with wrong passwords one after the other. Return how many were checked, and the last answer."""
        answers = [send() for _ in range(times)]
        self.assertEqual({401, 429}, {status for status, *_ in answers})
        self.assertEqual(sorted(status for status, *_ in answers), [status for status, *_ in answers])
        return sum(status == 401 for status, *_ in answers), answers[-1]


class Passwords(Crowd):
    """Passwords of users in a file. Those that begin with ``slow`` are checked until ``over`` is set."""

    USERS = ('alice', *(f'user{number}' for number in range(12)))
    COSTS = (4, 5, 6)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.secrets = {user: hush.secret(user) for user in cls.USERS}
        cls.file = cls.service.state / 'users'
        cls.file.write_text(
            ''.join(
                f'{user}:{bcrypt.hashpw(cls.secrets[user].encode(), bcrypt.gensalt(cls.COSTS[place % 3])).decode()}\n'
                for place, user in enumerate(cls.USERS)
            )
        )

    def setUp(self):
        super().setUp()
        self.over = threading.Event()
        self.addCleanup(self.over.set)
        #: The cost of bcrypt of each check, by password.
        self.checks = collections.defaultdict(list)
        self.useFixture(fixtures.MonkeyPatch('bcrypt.checkpw', self.checked_by(bcrypt.checkpw)))
        self.use_passwords(self.service.conf)

    def checked_by(self, real):
        def check(password, hashed):
            self.checks[password].append(int(hashed[4:6]))
            if password.startswith(b'slow'):
                self.over.wait(waiting.LIMIT)
            return real(password, hashed)

        return check

    def use_passwords(self, conf):
        self.option(conf, 'auth_strategy', 'http_basic')
        self.option(conf, 'http_basic_auth_user_file', str(self.file), 'api')
        self.option(conf, 'http_basic_accounts', [f'{user}:p:member+reader' for user in self.USERS], 'api')

    def log_in(self, port, user, password=None, source=_MINE, path='/v2/shares'):
        """Return the answer to a request with this password, or the right one."""
        login = base64.b64encode(f'{user}:{password or self.secrets[user]}'.encode()).decode()
        return ask(port, source, path=path, Authorization=f'Basic {login}')

    def guessing(self, port, path='/v2/shares', number=16):
        """Send guesses of one name from one address, whose checks do not end, until some of them are refused."""
        guesses = [
            self.crowd.submit(self.log_in, port, 'alice', f'slow{guess}', _THEIRS, path)
            for guess in range(number)
        ]
        waiting.until(
            lambda: any(one.done() for one in guesses) and self.slow() >= THREADS // 4,
            'some guesses are refused, and the others are checked',
        )
        return guesses

    def slow(self):
        """Return how many checks of slow passwords have begun."""
        return sum(len(checks) for guess, checks in list(self.checks.items()) if guess.startswith(b'slow'))

    def test_guesses_of_one_address_keep_no_other_out(self):
        """Everybody else is let in at once: other users, and the one whose name is guessed."""
        port = self.serve(app.make(self.service.services))
        guesses = self.guessing(port)
        for user in self.USERS:
            self.assertEqual(200, self.log_in(port, user)[0], user)
        self.assertEqual(THREADS // 4, self.slow())
        self.over.set()
        self.assertEqual({401, 503}, {one.result()[0] for one in guesses})

    def test_guesses_of_one_name_from_many_addresses_keep_no_other_name_out(self):
        port = self.serve(app.make(self.service.services))
        guesses = [
            self.crowd.submit(self.log_in, port, 'alice', f'slow{guess}', f'127.0.1.{guess}')
            for guess in range(16)
        ]
        waiting.until(lambda: any(one.done() for one in guesses), 'some guesses are refused')
        for user in self.USERS[1:]:
            self.assertEqual(200, self.log_in(port, user)[0], user)
        self.over.set()
        self.assertEqual({401, 503}, {one.result()[0] for one in guesses})

    def test_user_who_was_let_in_before_is_not_kept_out_from_the_same_address(self):
        """Behind a proxy that names no clients, all have one address. The password is checked again, but out of turn."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.auth._Passwords._SECONDS', 0.0))
        port = self.serve(app.make(self.service.services))
        self.assertEqual(200, self.log_in(port, 'alice', source=_THEIRS)[0])
        self.guessing(port)
        for _ in range(3):
            self.assertEqual(200, self.log_in(port, 'alice', source=_THEIRS)[0])
        self.over.set()
        self.assertEqual(4, len(self.checks[self.secrets['alice'].encode()]))

    def test_failed_logins_of_one_address_are_limited_by_default(self):
        """After the burst no password of the address is checked, but for those that were right before."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.api.http.auth._Passwords._SECONDS', 0.0))
        self.option(self.service.conf, 'failed_login_rate', 0.1 / 3600, 'rate_limits')
        for name in ('alice', 'stranger'):
            port = self.serve(app.make(self.service.services))
            self.checks.clear()
            self.assertEqual(200, self.log_in(port, 'user1', source=_THEIRS)[0])
            checked, last = self.guess(
                lambda port=port, name=name: self.log_in(port, name, 'wrong', _THEIRS), 3 * BURST
            )
            self.assertEqual((BURST, BURST), (checked, len(self.checks[b'wrong'])))
            self.assertEqual('too_many_failed_logins', last[1]['overLimit']['reason'])
            self.assertEqual(429, self.log_in(port, 'alice', source=_THEIRS)[0])
            self.assertEqual(200, self.log_in(port, 'user1', source=_THEIRS)[0])
            self.assertEqual(200, self.log_in(port, 'alice')[0])
            # A password that is wrong now is not let through again for having been right once.
            self.assertEqual({429}, {self.log_in(port, 'user1', 'wrong', _THEIRS)[0] for _ in range(3)})

    def test_default_limit_refills(self):
        port = self.serve(app.make(self.service.services))
        answers = []

        def refused():
            answers.append(self.log_in(port, 'alice', 'wrong', _THEIRS))
            return answers[-1][0] != 401

        waiting.until(refused, 'no guess is refused')
        self.assertGreater(len(answers), BURST)
        self.refused(answers[-1])

    def test_exempt_addresses_and_rate_zero_have_no_limit(self):
        for name, value in (('address_exempt', [f'{_THEIRS}/32']), ('failed_login_rate', 0.0)):
            with self.subTest(name):
                self.option(self.service.conf, name, value, 'rate_limits')
                port = self.serve(app.make(self.service.services))
                self.assertEqual(
                    {401}, {self.log_in(port, 'alice', 'wrong', _THEIRS)[0] for _ in range(3 * BURST)}
                )
                self.service.conf.clear_override(name, 'rate_limits')

    def test_unknown_name_costs_the_same_hashes_as_a_wrong_password(self):
        """Each takes one hash, of a cost that users of the file have, and the same one again."""
        self.option(self.service.conf, 'failed_login_rate', 0.0, 'rate_limits')
        port = self.serve(app.make(self.service.services))
        names = [f'nobody{number}' for number in range(30)]
        for round_ in ('first', 'again'):
            for user in (*self.USERS, *names):
                self.assertEqual(401, self.log_in(port, user, f'{round_} {user}')[0])
        costs = {
            user: tuple(self.checks[f'{round_} {user}'.encode()] for round_ in ('first', 'again'))
            for user in (*self.USERS, *names)
        }
        for user, (first, again) in costs.items():
            self.assertEqual((1, first), (len(first), again), user)
        self.assertEqual({4, 5, 6}, {cost for user in names for cost in costs[user][0]})

    def test_unknown_name_costs_a_hash_where_the_file_is_empty(self):
        self.option(self.service.conf, 'http_basic_auth_user_file', '/dev/null', 'api')
        port = self.serve(app.make(self.service.services))
        self.assertEqual(401, self.log_in(port, 'alice', 'wrong')[0])
        self.assertEqual([12], self.checks[b'wrong'])

    def test_siblings_have_the_same_limits(self):
        siblings = (
            (Compute(_NOBODY, agent=False), compute.COMPUTE, '/v2.1/servers'),
            (Dataproc(LOGIN.format(url=_NOBODY), engine=False), dataproc.SIBLING, '/v2/p/clusters'),
        )
        for fixture, sibling, path in siblings:
            one = self.useFixture(fixture)
            self.use_passwords(one.conf)
            self.option(one.conf, 'failed_login_rate', 0.1 / 3600, 'rate_limits')
            self.over.clear()
            self.checks.clear()
            port = self.serve(sibling.wsgi(one.services))
            guesses = self.guessing(port, path)
            for user in self.USERS:
                self.assertEqual(200, self.log_in(port, user, path=path)[0], (path, user))
            self.over.set()
            concurrent.futures.wait(guesses)
            _, (status, *_) = self.guess(
                lambda port=port, path=path: self.log_in(port, 'alice', 'wrong', _THEIRS, path), 30
            )
            self.assertEqual(429, status)


class WithoutLogin(base.ServiceTest):
    """Services that make everybody an administrator, on addresses that others may reach."""

    PARTS = ()

    def test_noauth_listens_on_loopback_only_unless_an_option_says_so(self):
        siblings = [
            self.useFixture(fixture)
            for fixture in (Compute(_NOBODY, agent=False), Dataproc(LOGIN.format(url=_NOBODY), engine=False))
        ]
        apis = (
            ('osapi_share_listen', None, self.service.services, commandline.Api),
            ('listen', 'compute', siblings[0].services, compute.COMPUTE.http),
            ('listen', 'dataproc', siblings[1].services, dataproc.SIBLING.http),
        )
        for option, group, services, make in apis:
            conf = services.conf
            for name, place in ((option, group), ('allow_remote_noauth', 'api')):
                self.addCleanup(conf.clear_override, name, place)
            for address in ('0.0.0.0', '::', '192.0.2.1', 'fd00::1', '::ffff:192.0.2.1'):
                conf.set_override(option, address, group)
                conf.set_override('allow_remote_noauth', False, 'api')
                refusal = str(self.assertRaises(errors.BadConfig, make, services))
                for word in (option, group or '', address, 'auth_strategy', 'allow_remote_noauth'):
                    self.assertIn(word, refusal)
                conf.set_override('allow_remote_noauth', True, 'api')
                make(services)
            conf.set_override('allow_remote_noauth', False, 'api')
            for address in ('127.0.0.1', '127.0.0.2', '::1'):
                conf.set_override(option, address, group)
                make(services)


class _Keystone(http.server.BaseHTTPRequestHandler):
    """Knows the user ann. Logins of others are refused, those of ``slow`` once ``server.over`` is set."""

    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        user = sent['auth']['identity']['password']['user']['name']
        self.server.asked.append(user)
        if user == 'slow':
            self.server.over.wait(waiting.LIMIT)
        named = {'id': 'x', 'name': 'x', 'domain': {'id': 'default', 'name': 'Default'}}
        token = {
            'methods': ['password'],
            'user': named,
            'project': named,
            'roles': [{'id': 'r', 'name': 'member'}],
            'issued_at': '2026-01-01T00:00:00.000000Z',
            'expires_at': '2099-01-01T00:00:00.000000Z',
            'catalog': [],
        }
        status, said = (
            (201, {'token': token}) if user == 'ann' else (401, {'error': {'code': 401, 'message': 'no'}})
        )
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('X-Subject-Token', f'{hush.MARK}token')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Console(Crowd):
    """Log-ins in the console, whose passwords Keystone checks."""

    @classmethod
    def setUpClass(cls):
        cls.keystone = http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Keystone)
        cls.keystone.over, cls.keystone.asked = threading.Event(), []
        thread = threading.Thread(target=cls.keystone.serve_forever)
        thread.start()
        for end in (cls.keystone.server_close, thread.join, cls.keystone.shutdown, cls.keystone.over.set):
            cls.addClassCleanup(end)
        url = f'http://127.0.0.1:{cls.keystone.server_port}'
        cls.EXTRA = (
            f'auth_strategy = keystone\n[console]\nenabled = true\nidentity_url = {url}/v3\n[keystone_authtoken]\n'
            f'auth_type = none\nendpoint = {url}/v3\nwww_authenticate_uri = {url}\n'
            'service_token_roles_required = true\n'
        )
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.keystone.asked.clear()
        self.keystone.over.clear()
        self.port = self.serve(app.make(self.service.services))

    def log_in(self, user, source=_MINE):
        return ask(
            self.port,
            source,
            'POST',
            '/console/session',
            {'user': user, 'password': hush.secret('console'), 'project_id': 'x'},
            X_Manila_Lite_Console='1',
        )

    def test_guesses_of_one_address_keep_no_other_out(self):
        guesses = [self.crowd.submit(self.log_in, 'slow', _THEIRS) for _ in range(16)]
        waiting.until(
            lambda: any(one.done() for one in guesses) and self.keystone.asked.count('slow') >= THREADS // 4,
            'some guesses are refused, and the others are checked',
        )
        for _ in range(12):
            status, document, _ = self.log_in('ann')
            self.assertEqual(200, status, document)
        self.assertEqual(THREADS // 4, self.keystone.asked.count('slow'))
        self.keystone.over.set()
        self.assertEqual({401, 503}, {one.result()[0] for one in guesses})

    def test_failed_logins_of_one_address_are_limited(self):
        self.option(self.service.conf, 'failed_login_rate', 0.1 / 3600, 'rate_limits')
        checked, last = self.guess(lambda: self.log_in('eve', _THEIRS), 3 * BURST)
        self.assertEqual((BURST, BURST), (checked, self.keystone.asked.count('eve')))
        self.assertEqual('too_many_failed_logins', last[1]['overLimit']['reason'])
        self.assertEqual(200, self.log_in('ann')[0])
