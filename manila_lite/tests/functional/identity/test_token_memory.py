# SPDX-License-Identifier: Apache-2.0
"""Keystone tokens that a process remembers: they have the same effect as when Keystone is asked."""

import webtest

from manila_lite import thread_reserve
from manila_lite.api.http import app, definition, keystone
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import keystone_base
from manila_lite.tests.services.memcached import Memcached


class Remembered(keystone_base.KeystoneTest):
    """The API without parts; a token is remembered at its first use."""

    PARTS = ()
    BACKENDS = {}

    def override(self, group, **options):
        """Set options until the test ends."""
        for name, value in options.items():
            self.service.conf.set_override(name, value, group)
            self.addCleanup(self.service.conf.clear_override, name, group)

    def lost(self, seconds):
        """Return the status of a request with a token that the API has seen; it has lost Keystone and the cache since."""
        memcached = self.useFixture(Memcached())
        self.override(
            'keystone_authtoken',
            memcached_servers=[memcached.address],
            token_cache_time=300,
            memcache_pool_socket_timeout=int(waiting.LIMIT),
        )
        self.override('api', token_memory_time=seconds)
        headers = {'X-Auth-Token': self.token('demo', 'demo')}
        self.assertEqual(
            200,
            webtest.TestApp(app.make(self.service.services)).get('/v2/shares', headers=headers).status_int,
        )
        self.override('keystone_authtoken', auth_url=f'http://127.0.0.1:{process.free_port()}/v3')
        alone = webtest.TestApp(app.make(self.service.services))
        self.assertEqual(200, alone.get('/v2/shares', headers=headers).status_int)  # from the cache
        memcached.stop()
        return alone.get('/v2/shares', headers=headers, expect_errors=True).status_int

    def test_remembered_token_needs_neither_keystone_nor_its_cache(self):
        self.assertEqual(200, self.lost(300.0))

    def test_nothing_is_remembered_if_the_time_is_zero(self):
        self.assertEqual(503, self.lost(0.0))

    def test_token_is_remembered_no_longer_than_it_is_cached(self):
        self.override('keystone_authtoken', token_cache_time=-1)
        self.override('api', token_memory_time=300.0)
        token = self.token('demo', 'demo')
        caller = webtest.TestApp(app.make(self.service.services))
        self.assertEqual(200, caller.get('/v2/shares', headers={'X-Auth-Token': token}).status_int)
        self.keystone.connect('demo', 'demo').session.delete(
            f'{self.keystone.url}/auth/tokens', headers={'X-Subject-Token': token}
        )
        self.assertEqual(
            401, caller.get('/v2/shares', headers={'X-Auth-Token': token}, expect_errors=True).status_int
        )

    def guarded(self, status='200 OK'):
        """Return a client of an application behind the login, and the list of the headers that reach it."""
        reached = []

        def inner(environ, start_response):
            reached.append({name: value for name, value in environ.items() if name.startswith('HTTP_')})
            start_response(status, [('Content-Type', 'text/plain')])
            return [b'']

        self.override('api', token_memory_time=300.0)
        self.override('keystone_authtoken', token_cache_time=300)
        guard = keystone.guard(inner, self.service.conf, definition.SHARE, thread_reserve.ThreadReserve())
        return webtest.TestApp(guard), reached

    def test_forged_headers_do_not_reach_the_application(self):
        """Check that the application gets the same for a remembered token, whatever else the client sends."""
        client, reached = self.guarded()
        honest = {'X-Auth-Token': self.token('viewer', 'demo')}
        lies = {name.removeprefix('HTTP_').replace('_', '-'): 'admin' for name in keystone.IDENTITY}
        for headers in (honest, honest, {**honest, **lies}):
            client.get('/v2/shares', headers=headers)
        asked, *remembered = reached
        self.assertEqual('reader', asked['HTTP_X_ROLES'])
        del asked['HTTP_X_SERVICE_CATALOG']
        self.assertEqual([asked, asked], remembered)

    def test_forged_headers_without_a_token_are_refused(self):
        client, reached = self.guarded()
        client.get('/v2/shares', headers={'X-Auth-Token': self.token('demo', 'demo')})
        for token in ({}, {'X-Auth-Token': ''}, {'X-Auth-Token': 'nonsense'}):
            client.get(
                '/v2/shares',
                headers={'X-Roles': 'admin', 'X-Identity-Status': 'Confirmed', **token},
                status=401,
            )
        self.assertEqual(1, len(reached))

    def test_service_token_is_checked_beside_a_remembered_token(self):
        client, reached = self.guarded()
        user, service = self.token('demo', 'demo'), self.token('nova', 'service')
        for _ in range(2):
            client.get('/v2/shares', headers={'X-Auth-Token': user})
            client.get('/v2/shares', headers={'X-Auth-Token': user, 'X-Service-Token': service})
            client.get(
                '/v2/shares', headers={'X-Auth-Token': user, 'X-Service-Token': 'nonsense'}, status=401
            )
        self.assertEqual(
            [None, 'service'] * 2, [headers.get('HTTP_X_SERVICE_ROLES') and 'service' for headers in reached]
        )

    def test_challenge_is_added_to_refusals_of_the_application(self):
        client, _ = self.guarded('401 Unauthorized')
        headers = {'X-Auth-Token': self.token('demo', 'demo')}
        asked, remembered = (
            client.get('/v2/shares', headers=headers, status=401).headers['WWW-Authenticate']
            for _ in range(2)
        )
        self.assertIn(self.keystone.url, remembered)
        self.assertEqual(asked, remembered)
