# SPDX-License-Identifier: Apache-2.0
"""More requests wait for a service that does not answer than the API has threads: others are answered all the same."""

import concurrent.futures
import http.client
import http.server
import json
import threading
import time

from oslo_utils import uuidutils

from manila_lite.cmd.api import Api
from manila_lite.tests import hush
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base, served
from manila_lite.tests.waiting import LIMIT

THREADS = 8
#: Seconds: an answer that comes later was held up; a request that waits does so for much longer.
AT_ONCE, LONG = 100, int(LIMIT)


class Attack(base.ServiceTest):
    """The API on the built-in server, with its default number of threads, and clients on sockets."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.conf.set_override('threads', THREADS, 'api')
        cls.server = Api(cls.service.services)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        super().setUp()
        self.crowd = concurrent.futures.ThreadPoolExecutor(6 * THREADS)
        self.addCleanup(self.crowd.shutdown)

    def ask(self, method, path, token, body=None):
        """Send a request on a connection of its own. Return status, document, headers and seconds."""
        headers = {
            'X-Auth-Token': token,
            'X-OpenStack-Manila-API-Version': '2.99',
            'Content-Type': 'application/json',
        }
        wire = http.client.HTTPConnection('127.0.0.1', self.server.port, timeout=LONG)
        began = time.monotonic()
        try:
            wire.request(method, path, None if body is None else json.dumps(body), headers)
            answer = wire.getresponse()
            text = answer.read()
        finally:
            wire.close()
        hush.note(text.decode())
        document = json.loads(text) if answer.headers.get_content_type() == 'application/json' else None
        return answer.status, document, answer.headers, time.monotonic() - began

    def storm(self, asked):
        """Send all these requests at once. Return their futures once one of them is refused."""
        waiting = [self.crowd.submit(self.ask, *one) for one in asked]
        base.eventually(lambda: any(one.done() for one in waiting), 'nobody is refused: all threads wait')
        return waiting

    def all_are_served(self, token):
        """Check that requests that wait for no other service are answered, while the backend hangs."""
        for path in ('/healthcheck', '/v2/', '/v2/shares'):
            for _ in range(5):
                status, document, _, seconds = self.ask('GET', path, token)
                self.assertEqual((200, True), (status, seconds < AT_ONCE), (path, seconds, document))

    def refusals(self, waiting, most):
        """Return the refused requests: all but ``most``, refused at once."""
        base.eventually(
            lambda: len([one for one in waiting if not one.done()]) <= most, f'more than {most} wait'
        )
        refused = [one.result() for one in waiting if one.done()]
        for status, document, headers, seconds in refused:
            self.assertEqual(
                (503, 'too_many_waiting'), (status, document['serviceUnavailable']['reason']), document
            )
            self.assertEqual('1', headers['Retry-After'])
            self.assertLess(seconds, AT_ONCE)
        return refused


class Backends(Attack, served.ServedTest):
    """``alpha`` hangs, ``beta`` does not."""

    BACKENDS = {
        name: f'driver_handles_share_servers = true\nshare_backend_name = {name}\n'
        for name in ('alpha', 'beta')
    }
    EXTRA = f'[api]\nsubnet_check_timeout = {LONG}\nmigration_check_timeout = {LONG}\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'beta',
                    'extra_specs': {'driver_handles_share_servers': 'True', 'share_backend_name': 'beta'},
                }
            },
        )

    def token(self, project):
        return f'u:{project}:member,reader:{hush.MARK}token'

    def questions(self, count):
        """Return the token of a new project, and so many requests of it for which its backend is asked."""
        project = uuidutils.generate_uuid()
        with self.service.services.db.writer() as conn:
            made = networks.make(conn, count, project=project)
        return self.token(project), [self.subnet(project, network) for network, *_ in made]

    def subnet(self, project, network):
        return (
            'POST',
            f'/v2/share-networks/{network}/subnets',
            self.token(project),
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-small'}},
        )

    def test_one_project_cannot_hold_all_threads(self):
        """One project may have some requests wait, but not all threads; requests to other backends are answered meanwhile."""
        network = self.network()
        self.user.share(share_type='beta', share_network_id=network)
        self.fault('check_update_share_server_network_allocations:hang')
        token, asked = self.questions(3 * THREADS)
        waiting = self.storm(asked)
        self.all_are_served(token)
        self.assertEqual(3 * THREADS - 2, len(self.refusals(waiting, 2)))
        project = self.user.token.split(':')[1]
        status, document, _, seconds = self.ask(*self.subnet(project, network))
        self.assertEqual(200, status, document)
        self.assertLess(seconds, LONG / 2)
        self.service.knob('alpha', '')
        for one in waiting:
            self.assertLess(one.result()[0], 504)

    def test_all_projects_together_hold_at_most_half_of_the_threads(self):
        """All projects together hold half of the threads; when one request is answered, another may wait."""
        self.fault('check_update_share_server_network_allocations:hang')
        asked = [one for _ in range(6) for one in self.questions(4)[1]]
        waiting = self.storm(asked)
        token, (late,) = self.questions(1)
        self.all_are_served(token)
        self.assertEqual(len(asked) - THREADS // 2, len(self.refusals(waiting, THREADS // 2)))
        self.assertEqual(503, self.ask(*late)[0])
        self.service.knob('alpha', '')
        base.eventually(lambda: self.ask(*late)[0] != 503, 'it is never the turn of the last')

    def test_check_answers_unknown_while_the_backend_hangs(self):
        """A check is not refused: it can answer that the result is not known yet."""
        self.fault('check_update_share_server_network_allocations:hang')
        token, asked = self.questions(3 * THREADS)
        waiting = self.storm(asked)
        path = asked[0][1].removesuffix('/subnets') + '/action'
        status, document, _, seconds = self.ask(
            'POST',
            path,
            token,
            {
                'share_network_subnet_create_check': {
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-small',
                }
            },
        )
        self.assertEqual((202, None), (status, document['compatible']), document)
        self.assertLess(seconds, AT_ONCE)
        self.service.knob('alpha', '')
        concurrent.futures.wait(waiting)

    def test_many_checks_do_not_block_other_requests(self):
        """Each check asks and is answered without waiting, however many backends are slow."""
        self.fault('check_update_share_server_network_allocations:hang')
        token, asked = self.questions(3 * THREADS)
        body = {
            'share_network_subnet_create_check': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-small'}
        }
        checks = [
            self.crowd.submit(self.ask, 'POST', path.removesuffix('/subnets') + '/action', token, body)
            for _, path, *_ in asked
        ]
        self.all_are_served(token)
        for one in checks:
            status, document, _, seconds = one.result()
            self.assertEqual(
                (202, None, True),
                (status, document.get('compatible'), seconds < AT_ONCE),
                (seconds, document),
            )
        self.service.knob('alpha', '')


class ServerMigrations(Attack, served.ServedTest):
    """Migrations of share servers and their checks, by one administrator."""

    BACKENDS = dict.fromkeys(
        ('alpha', 'beta'), 'driver_handles_share_servers = true\nmax_shares_per_share_server = 1\n'
    )
    EXTRA = f'[api]\nmigration_check_timeout = {LONG}\n'

    def test_migrations_and_checks_of_share_servers_do_not_block_other_requests(self):
        network = self.network()
        for _ in range(2):
            self.share(network)
        for name in self.BACKENDS:
            self.fault('share_server_migration_check_compatibility:hang', name)
        asked = []
        for server in self.servers(network):
            to = next(f'test@{name}' for name in self.BACKENDS if f'test@{name}' != server.host)
            body = {'host': to, 'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}
            for action in ('migration_check', 'migration_start'):
                asked += [
                    ('POST', f'/v2/share-servers/{server.id}/action', self.admin.token, {action: body})
                ] * THREADS
        waiting = self.storm(asked)
        self.all_are_served(self.admin.token)
        self.assertEqual(len(asked) - 2, len(self.refusals(waiting, 2)))
        for name in self.BACKENDS:
            self.service.knob(name, '')
        concurrent.futures.wait(waiting)


class Migrations(Attack):
    """Migrations of shares, by one administrator."""

    BACKENDS = {'alpha': '', 'beta': ''}
    EXTRA = f'[api]\nmigration_check_timeout = {LONG}\n'

    def test_migrations_to_a_hanging_backend_do_not_block_other_requests(self):
        shares = [self.admin.share() for _ in range(3)]
        self.service.knob('alpha', 'share_migration_check_compatibility:hang')
        self.service.knob('beta', 'share_migration_check_compatibility:hang')
        self.addCleanup(lambda: [self.service.knob(name, '') for name in ('alpha', 'beta')])
        pools = {
            pool['name'].partition('#')[0]: pool['name']
            for pool in self.admin.ok('GET', '/scheduler-stats/pools')['pools']
        }
        asked = []
        for share in shares:
            home = self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host']
            to = next(pool for host, pool in pools.items() if host != home.partition('#')[0])
            asked += [
                (
                    'POST',
                    f'/v2/shares/{share["id"]}/action',
                    self.admin.token,
                    {
                        'migration_start': {
                            'host': to,
                            'writable': False,
                            'nondisruptive': False,
                            'preserve_metadata': True,
                            'preserve_snapshots': False,
                        }
                    },
                )
            ] * THREADS
        waiting = self.storm(asked)
        self.all_are_served(self.admin.token)
        self.refusals(waiting, 2)
        for name in ('alpha', 'beta'):
            self.service.knob(name, '')
        concurrent.futures.wait(waiting)


class _Silent(http.server.BaseHTTPRequestHandler):
    """A server that accepts every token; from ``server.silent`` to ``server.over`` it does not answer."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        if self.server.silent.is_set():
            self.server.over.wait(LONG)
            self.close_connection = True
            return
        url = f'http://127.0.0.1:{self.server.server_port}/v3'
        version = {'id': 'v3.14', 'status': 'stable', 'links': [{'rel': 'self', 'href': url}]}
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
        said = {'token': token} if self.path.endswith('/auth/tokens') else {'version': version}
        if self.path == '/':
            said = {'versions': {'values': [version]}}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class _Beside(Attack):
    """Another service accepts connections and does not answer."""

    PARTS = ()
    OPTIONS = ''

    @classmethod
    def setUpClass(cls):
        cls.other = http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Silent)
        cls.other.silent, cls.other.over = threading.Event(), threading.Event()
        thread = threading.Thread(target=cls.other.serve_forever)
        thread.start()
        cls.addClassCleanup(cls.other.server_close)
        cls.addClassCleanup(thread.join)
        cls.addClassCleanup(cls.other.shutdown)
        cls.addClassCleanup(cls.other.over.set)
        cls.EXTRA = cls.OPTIONS.format(url=f'http://127.0.0.1:{cls.other.server_port}')
        super().setUpClass()


class Networks(_Beside):
    """Neutron hangs."""

    OPTIONS = (
        '[network]\nplugin = neutron\n[neutron]\nauth_type = none\nendpoint_override = {url}\n'
        f'timeout = {LONG}\n'
    )

    def network(self, project):
        return (
            'POST',
            '/v2/share-networks',
            f'u:{project}:member,reader:{hush.MARK}token',
            {
                'share_network': {
                    'neutron_net_id': uuidutils.generate_uuid(),
                    'neutron_subnet_id': uuidutils.generate_uuid(),
                }
            },
        )

    def test_hanging_neutron_does_not_block_other_requests(self):
        """Other projects may wait beside the greediest one."""
        self.other.silent.set()
        waiting = self.storm([self.network('greedy')] * 3 * THREADS)
        self.all_are_served(self.network('greedy')[2])
        self.refusals(waiting, 2)
        late = self.crowd.submit(self.ask, *self.network('modest'))
        self.all_are_served(self.network('modest')[2])
        self.assertFalse(late.done())
        self.other.over.set()
        self.assertEqual('neutron_unavailable', late.result()[1]['serviceUnavailable']['reason'])


class Logins(_Beside):
    """Keystone hangs."""

    OPTIONS = (
        'auth_strategy = keystone\n[keystone_authtoken]\nauth_type = none\nendpoint = {url}/v3\n'
        'www_authenticate_uri = {url}\nservice_token_roles_required = true\n'
    )

    def test_hanging_keystone_does_not_block_known_tokens(self):
        known, _, _ = tokens = [f'{hush.MARK}{uuidutils.generate_uuid(dashed=False)}' for _ in range(3)]
        for token in tokens:
            self.all_are_served(token)
        self.other.silent.set()
        waiting = self.storm(
            [('GET', '/v2/shares', f'{hush.MARK}unknown{number}') for number in range(5 * THREADS)]
        )
        self.all_are_served(known)
        self.refusals(waiting, THREADS - 1)
        self.other.over.set()
        for one in waiting:
            self.assertEqual(503, one.result()[0])
