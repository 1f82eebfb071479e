# SPDX-License-Identifier: Apache-2.0
"""Malformed addresses, headers and filters are refused with their name and a reason, by each API alike."""

import base64
import concurrent.futures
import gc
import re
import socket
import threading
import time
import urllib.parse
import wsgiref.util

import bcrypt
import fixtures
import webob

from manila_lite.api.http import app, definition, json_bodies
from manila_lite.api.server import server
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.siblings.compute.base import Compute
from manila_lite.tests.functional.siblings.dataproc.base import LOGIN, Dataproc

_NOBODY = 'http://127.0.0.1:1'
#: Values of headers that are no text, or more than one value.
ODD = (
    '\xff',
    '\xc3\xa9',
    '',
    ' ',
    ',',
    ';',
    '"',
    '\\',
    '%',
    '%ff',
    'a,b',
    '"a',
    'a' * 60000,
    '[',
    '[::1',
    'http://[',
    '\x85',
    '=',
    '/',
    '//a',
    '/?a',
    '/#a',
    '\t',
    'for=;proto=;host=',
    'host="a:1"',
    'host=\xff',
    'proto=\xff;host=[',
    '0',
    '-1',
    '9' * 5000,
)
#: Headers that code reads, ours or that of oslo.middleware or WebOb.
HEADERS = (
    'HOST',
    'FORWARDED',
    'X_FORWARDED_PROTO',
    'X_FORWARDED_HOST',
    'X_FORWARDED_FOR',
    'X_FORWARDED_PREFIX',
    'ORIGIN',
    'ACCEPT',
    'ACCEPT_ENCODING',
    'IF_NONE_MATCH',
    'IF_MODIFIED_SINCE',
    'RANGE',
    'AUTHORIZATION',
    'X_AUTH_TOKEN',
    'X_SERVICE_TOKEN',
    'OPENSTACK_API_VERSION',
    'X_OPENSTACK_MANILA_API_VERSION',
    'X_OPENSTACK_NOVA_API_VERSION',
    'IDEMPOTENCY_KEY',
    'X_OPENSTACK_REQUEST_ID',
    'X_OPENSTACK_MANILA_API_EXPERIMENTAL',
    'COOKIE',
    'EXPECT',
    'UPGRADE',
    'X_TRACE_INFO',
    'X_TRACE_HMAC',
)


class ApisTest(base.ServiceTest):
    """The three APIs, in one process and without their workers."""

    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        siblings = [Compute(_NOBODY, agent=False), Dataproc(LOGIN.format(url=_NOBODY), engine=False)]
        for one in siblings:
            one.setUp()
            cls.addClassCleanup(one.cleanUp)
        cls.made = {
            '/v2/shares': (cls.service.conf, lambda: app.make(cls.service.services)),
            '/v2.1/servers': (siblings[0].conf, lambda: compute.COMPUTE.wsgi(siblings[0].services)),
            '/v2/p/clusters': (siblings[1].conf, lambda: dataproc.SIBLING.wsgi(siblings[1].services)),
        }
        cls.apis = {path: make() for path, (_, make) in cls.made.items()}

    def ask(self, api, path, method='GET', query='', body=b'', **environ):
        """Send raw bytes (as latin-1 text, as in WSGI). Return the answer, which must not be a server error."""
        sent = {
            'REQUEST_METHOD': method,
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'CONTENT_TYPE': 'application/json',
            'REMOTE_ADDR': '127.0.0.1',
            **environ,
        }
        wsgiref.util.setup_testing_defaults(sent)
        sent = {name: value for name, value in sent.items() if value is not None}
        request = webob.Request(sent)
        request.body = body
        answer = request.get_response(api)
        self.assertLess(answer.status_int, 500, (path, query[:100], environ, answer.text))
        if answer.status_int >= 400:
            self.assertEqual('application/json', answer.content_type, (path, environ))
        return answer


class Headers(ApisTest):
    def test_odd_headers_cause_no_server_error(self):
        """No value of a header causes a server error: for versions, a list, a create, or an unknown path."""
        for own, api in self.apis.items():
            for header in HEADERS:
                for odd in ODD:
                    for path, method, body in (('/', 'GET', b''), (own, 'GET', b''), (own, 'POST', b'{}')):
                        self.ask(api, path, method, body=body, **{f'HTTP_{header}': odd})

    def test_invalid_forwarded_prefix_is_refused(self):
        for api in self.apis.values():
            for odd in ('\xff', '\xc3\x28', 'x', '/?a=', '/#', '/\x85', '/\xe2\x80\xa8'):
                answer = self.ask(api, '/', HTTP_X_FORWARDED_PREFIX=odd)
                self.assertEqual(400, answer.status_int, odd)
                self.assertIn('X-Forwarded-Prefix: ', answer.text)
            for good in ('/share', '/\xc3\xa9', ''):
                self.assertLess(self.ask(api, '/', HTTP_X_FORWARDED_PREFIX=good).status_int, 400, good)

    def test_links_use_the_first_forwarded_host_and_scheme(self):
        """Values that several proxies added, and a value that is quoted because of its port."""
        for headers, seen in (
            ({'HTTP_X_FORWARDED_HOST': 'cloud.example:8443, inner'}, 'http://cloud.example:8443/v2/'),
            ({'HTTP_X_FORWARDED_PROTO': 'https, http'}, 'https://127.0.0.1/v2/'),
            ({'HTTP_X_FORWARDED_PROTO': 'HTTPS'}, 'https://127.0.0.1/v2/'),
            ({'HTTP_FORWARDED': 'proto=HTTPS'}, 'https://127.0.0.1/v2/'),
            (
                {'HTTP_FORWARDED': 'for=1.2.3.4;host="cloud.example:99";proto=https, for=5.6.7.8'},
                'https://cloud.example:99/v2/',
            ),
        ):
            answer = self.ask(self.apis['/v2/shares'], '/', **headers)
            self.assertEqual(seen, answer.json['versions'][0]['links'][0]['href'])

    def test_forwarded_headers_count_only_from_trusted_proxies(self):
        """Others than the listed proxies put nothing into links, and get no refusal for headers that are ignored."""
        forged = (
            {'HTTP_X_FORWARDED_HOST': 'evil.example', 'HTTP_X_FORWARDED_PROTO': 'https'},
            {'HTTP_X_FORWARDED_PREFIX': '/evil'},
            {'HTTP_FORWARDED': 'host=evil.example;proto=https'},
        )
        for path, (conf, make) in self.made.items():
            conf.set_override('trusted_proxies', ['192.0.2.0/24'], 'api')
            self.addCleanup(conf.clear_override, 'trusted_proxies', 'api')
            api = make()
            plain = self.ask(api, '/', HTTP_HOST='localhost').text
            for headers in forged:
                for peer, counts in (
                    ('192.0.2.7', True),
                    ('127.0.0.1', False),
                    ('198.51.100.1', False),
                    ('', False),
                ):
                    answer = self.ask(api, '/', HTTP_HOST='localhost', REMOTE_ADDR=peer, **headers)
                    self.assertEqual(counts, answer.text != plain, (path, peer, headers))
                    self.assertEqual(counts, 'evil' in answer.text, (path, peer, headers))

    def test_repeated_login_headers_are_refused(self):
        """A request with two logins is refused, under each strategy: some servers join two headers of one name."""

        def basic(user):
            return 'Basic ' + base64.b64encode(f'{user}:right'.encode()).decode()

        folder = self.useFixture(fixtures.TempDir()).path
        secret = bcrypt.hashpw(b'right', bcrypt.gensalt(4)).decode()
        with open(f'{folder}/users', 'w') as users:
            users.write(f'alice:{secret}\nroot:{secret}\n')
        for path, (conf, make) in self.made.items():
            for name, value, group in (
                ('auth_strategy', 'http_basic', None),
                ('http_basic_auth_user_file', f'{folder}/users', 'api'),
                ('http_basic_accounts', ['alice:p:member+reader', 'root:p:admin'], 'api'),
            ):
                conf.set_override(name, value, group)
                self.addCleanup(conf.clear_override, name, group)
            api = make()
            self.assertEqual(200, self.ask(api, path, HTTP_AUTHORIZATION=basic('alice')).status_int)
            for one, other in (
                (basic('alice'), basic('root')),
                (basic('root'), basic('alice')),
                ('Bearer x', basic('root')),
            ):
                two = f'{one}, {other}'
                answer = self.ask(api, path, HTTP_AUTHORIZATION=two)
                self.assertEqual(400, answer.status_int, two)
                self.assertIn('Authorization: is there twice', answer.text)


class Bodies(ApisTest):
    """Bodies nested so deep that they could be read and not written again."""

    def test_body_nested_deep_is_refused_with_an_idempotency_key_as_without(self):
        creates = (
            ('/v2/shares', '/v2/share-groups', '{"share_group": {"deep": %s}}'),
            ('/v2/shares', '/v2/shares', '%s'),
            ('/v2.1/servers', '/v2.1/servers', '{"server": {"deep": %s}}'),
            ('/v2/p/clusters', '/v2/p/clusters', '{"deep": %s}'),
        )
        for own, path, body in creates:
            for form, (begin, end) in enumerate((('[', ']'), ('{"a": ', '}'), ('[1, {"a": [[], ', ']}]'))):
                for deep in (json_bodies.DEEPEST + 1, 84, 125, 254, 260, 500):
                    sent = (body % (begin * deep + '1' + end * deep)).encode()
                    for key in (None, f'{body.count("{")}-{form}-{deep}'):
                        answer = self.ask(
                            self.apis[own],
                            path,
                            'POST',
                            body=sent,
                            HTTP_IDEMPOTENCY_KEY=key,
                            HTTP_X_OPENSTACK_MANILA_API_VERSION='2.90',
                        )
                        self.assertEqual(400, answer.status_int, (path, deep))
                        self.assertIn(
                            'body: is n', answer.text, (path, deep)
                        )  # not JSON, says orjson of 1024

    def test_calls_need_much_less_than_the_deepest_body(self):
        """The rest is for fields of later releases, which are ignored."""

        def levels(schema):
            below = [
                *schema.get('properties', {}).values(),
                *(
                    schema[name]
                    for name in ('items', 'additionalProperties')
                    if isinstance(schema.get(name), dict)
                ),
            ]
            nested = [*schema.get('anyOf', ()), *schema.get('oneOf', ()), *schema.get('allOf', ())]
            return max([bool(below) + max(map(levels, below), default=0), *map(levels, nested)])

        for api in (definition.SHARE, compute.COMPUTE.api, dataproc.SIBLING.api):
            bodies = ((op.name, op.body_at(version), version) for op in api.calls for version in (0, 50, 99))
            for name, body, version in bodies:
                self.assertLess(4 * levels(body.schema(version) if body else {}), json_bodies.DEEPEST, name)


class Names(ApisTest):
    """Host names by which requests without a login may call the service."""

    STRANGE = (
        'evil.example',
        'evil.example:8786',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        'xlocalhost',
        'EVIL',
        'evil.',
        '0x7f000001',
        '2130706433',
        '127.1',
        'localhost.evil',
    )
    MALFORMED = (
        'a, localhost',
        'localhost,evil',
        'localhost evil',
        'localhost/evil',
        'evil@localhost',
        'localhost:',
        'localhost:x',
        '[::1',
        '::1]',
        'localhost\xff',
        'localhost#evil',
        '[localhost]x',
        'localhost:999999',
    )
    OWN = (
        'localhost',
        'LOCALHOST:1',
        'localhost.',
        'a.localhost:8786',
        '127.0.0.1',
        '127.0.0.1:8786',
        '[::1]',
        '[::1]:8786',
        '10.1.2.3',
        '[fd00::1]:80',
        socket.gethostname(),
        f'{socket.gethostname().upper()}:8786',
        '',
        None,
    )

    def test_foreign_and_malformed_host_names_are_refused_without_a_login(self):
        for own, api in self.apis.items():
            for path, method in (('/', 'GET'), (own, 'GET'), (own, 'POST'), (own, 'OPTIONS')):
                for names, status in ((self.STRANGE, 403), (self.MALFORMED, 400)):
                    for name in names:
                        answer = self.ask(
                            api, path, method, body=b'{}', HTTP_HOST=name, HTTP_ORIGIN=f'http://{name}'
                        )
                        self.assertEqual(status, answer.status_int, (path, name))
                        self.assertIn('Host: ', answer.text)
            for name in self.OWN:
                self.assertLess(self.ask(api, own, HTTP_HOST=name).status_int, 400, name)
            for name in (*self.STRANGE, *self.MALFORMED):
                self.assertEqual(200, self.ask(api, '/healthcheck', HTTP_HOST=name).status_int)

    def test_forwarded_host_headers_do_not_admit_a_foreign_host(self):
        for headers in ({'HTTP_X_FORWARDED_HOST': 'localhost'}, {'HTTP_FORWARDED': 'host=localhost'}):
            for own, api in self.apis.items():
                self.assertEqual(403, self.ask(api, own, HTTP_HOST='evil.example', **headers).status_int)

    def test_configured_host_names_are_accepted(self):
        for path, (conf, make) in self.made.items():
            conf.set_override('allowed_hosts', ['share.example', 'Other.Example.'], 'api')
            self.addCleanup(conf.clear_override, 'allowed_hosts', 'api')
            group, name = {
                '/v2/shares': (None, 'osapi_share_base_URL'),
                '/v2.1/servers': ('compute', 'base_url'),
                '/v2/p/clusters': ('dataproc', 'base_url'),
            }[path]
            conf.set_override(name, 'https://base.example/x', group)
            self.addCleanup(conf.clear_override, name, group)
            api = make()
            for name in ('share.example', 'SHARE.example:99', 'other.example', 'base.example', 'localhost'):
                self.assertEqual(200, self.ask(api, path, HTTP_HOST=name).status_int, name)
            self.assertEqual(403, self.ask(api, path, HTTP_HOST='evil.example').status_int)
            conf.set_override('allowed_hosts', ['*'], 'api')
            self.assertEqual(200, self.ask(make(), path, HTTP_HOST='evil.example').status_int)

    def test_any_host_name_is_accepted_with_a_login(self):
        """With a login any name is accepted, since each cloud has its own, unless the operator lists them."""
        conf = self.service.conf
        with open(self.service.state / 'users', 'w') as users:
            users.write(f'alice:{bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()}\n')
        for name, value, group in (
            ('auth_strategy', 'http_basic', None),
            ('http_basic_auth_user_file', str(self.service.state / 'users'), 'api'),
        ):
            conf.set_override(name, value, group)
            self.addCleanup(conf.clear_override, name, group)
        api = app.make(self.service.services)
        self.assertEqual(401, self.ask(api, '/v2/shares', HTTP_HOST='cloud.example').status_int)
        conf.set_override('allowed_hosts', ['cloud.example'], 'api')
        self.addCleanup(conf.clear_override, 'allowed_hosts', 'api')
        api = app.make(self.service.services)
        self.assertEqual(401, self.ask(api, '/v2/shares', HTTP_HOST='cloud.example').status_int)
        self.assertEqual(403, self.ask(api, '/v2/shares', HTTP_HOST='evil.example').status_int)


class Wire(ApisTest):
    """Requests on a socket of the built-in server, one for each API."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = {path: server.ApiServer(api, '127.0.0.1', 0) for path, api in cls.apis.items()}
        for one in cls.servers.values():
            one.start()
            cls.addClassCleanup(one.stop, 1)

    def say(self, one, sent):
        """Send bytes; return the statuses of all answers until the server closes the connection."""
        with socket.create_connection(('127.0.0.1', one.port), timeout=waiting.LIMIT) as wire:
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
            said = b''
            while got := wire.recv(65536):
                said += got
        return [int(status) for status in re.findall(rb'HTTP/1\.1 (\d{3}) ', said)]

    def test_odd_request_lines_cause_no_server_error(self):
        for one in self.servers.values():
            for target in (
                b'http://[::1/v2/shares',
                b'http://[/',
                b'//[::1/',
                b'http://]/',
                b'http://[::1]:x/',
                b'http://[v1.x]/',
                b'http://evil.example/v2/shares',
                b'/\xff',
                b'\xff',
                b'/%',
                b'/a#b',
                b'*',
                b'http://',
                b'//',
                b'?',
                b'[',
                b'/v2/shares?\xff',
                b'/' + b'a' * 60000,
                b'http://\xe2\x84\x80/',
                b'http://a\xef\xbc\x8fb/',
            ):
                for method in (b'GET', b'OPTIONS', b'CONNECT', b'get'):
                    first = b'%s %s HTTP/1.1\r\n' % (method, target)
                    statuses = self.say(one, first + b'Host: localhost\r\nConnection: close\r\n\r\n')
                    self.assertEqual(1, len(statuses), (method, target[:50]))
                    self.assertLess(statuses[0], 500, (method, target[:50]))

    def test_repeated_headers_are_refused(self):
        for path, one in self.servers.items():
            request = b'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n' % path.encode()
            self.assertEqual([200], self.say(one, request + b'\r\n'))
            for name in (
                b'Authorization',
                b'X-Auth-Token',
                b'Host',
                b'X-Service-Token',
                b'Origin',
                b'Content-Length',
            ):
                for first, second in ((b'0', b'0'), (b'', b'0'), (b'a:p:admin', b'0')):
                    twice = b'%s: %s\r\n%s: %s\r\n\r\n' % (name, first, name.upper(), second)
                    self.assertEqual([400], self.say(one, request + twice), (name, first))


class Literals(base.ServiceTest):
    """Filters by pairs, nested deep, from many at once: some threads made the parser of others fail."""

    PARTS = ()
    NESTED = tuple(
        f'{begin * deep}1{end * deep}'
        for deep in (90, 600, 1500)
        for begin, end in (
            ('[', ']'),
            ('(', ')'),
            ('{', '}'),
            ("{'a':", '}'),
            ('{"a":', '}'),
            ('-', ''),
            ('1+', ''),
        )
        if deep * len(begin) < 2000
    )

    def setUp(self):
        """Switch threads also at allocations: there Python's parser lost its count."""
        super().setUp()
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        self.addCleanup(gc.callbacks.remove, self.pause)
        gc.set_threshold(100)
        gc.callbacks.append(self.pause)

    def pause(self, *_):
        time.sleep(0)  # sleeps: not at all; another thread has its turn

    def test_concurrent_nested_filters_are_refused_and_do_not_harm_others(self):
        share = self.admin.share(wait=None, metadata={'a': 'b'})['id']
        began = threading.Barrier(16)

        def ask(number):
            began.wait(waiting.LIMIT)
            for turn in range(12):
                text = self.NESTED[(number + turn) % len(self.NESTED)]
                path = f'/shares?metadata={urllib.parse.quote(text)}'
                status, document, _ = self.admin.call('GET', path)
                self.assertEqual(400, status, document)
                self.assertTrue(document['badRequest']['message'].startswith('metadata: '))
                shares = self.admin.ok('GET', f'/shares?metadata={urllib.parse.quote(repr({"a": "b"}))}')[
                    'shares'
                ]
                self.assertEqual([share], [row['id'] for row in shares])

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(ask, range(16)))

    def test_text_that_no_database_stores_is_refused(self):
        for text in (
            '{"a": "\\ud800"}',
            '{"\\udfff": "b"}',
            '{"a": "\\u0000"}',
            "{'a': '\\ud800'}",
            "{'a': '\\x00'}",
            "{'a': '\\U00110000'}",
        ):
            for path, name in (
                ('/shares', 'metadata'),
                ('/shares/detail', 'extra_specs'),
                ('/types', 'extra_specs'),
                ('/snapshots', 'metadata'),
                ('/scheduler-stats/pools', 'capabilities'),
            ):
                status, document, _ = self.admin.call('GET', f'{path}?{name}={urllib.parse.quote(text)}')
                self.assertEqual(400, status, (path, text, document))
                self.assertTrue(document['badRequest']['message'].startswith(f'{name}: '), document)
