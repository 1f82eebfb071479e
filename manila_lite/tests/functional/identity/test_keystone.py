# SPDX-License-Identifier: Apache-2.0
"""The API behind a real Keystone: credentials that it accepts, and the effect of a token's roles."""

import datetime
import json

import openstack
import requests
import webtest
from keystoneauth1 import exceptions
from oslo_utils import uuidutils

from manila_lite.api.http import app
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base, keystone_base
from manila_lite.tests.services.keystone import ADMIN
from manila_lite.tests.services.memcached import Memcached

_SHARE = {'share': {'size': 1, 'share_proto': 'NFS', 'name': 'wanted'}}


class Logins(keystone_base.KeystoneTest):
    """Clients find the API in the catalog and log in."""

    def test_openstacksdk_sees_only_shares_of_its_project(self):
        mine = self.sdk('demo', 'demo')
        share = mine.create_share(name='mine', size=1, share_protocol='NFS')
        share = mine.wait_for_status(share, status='available', interval=0.2, wait=waiting.LIMIT)
        self.assertEqual(self.keystone.projects['demo'], share.project_id)
        rule = mine.create_access_rule(share.id, access_type='ip', access_to='10.0.0.9', access_level='rw')
        self.assertEqual([rule.id], [row.id for row in mine.access_rules(share.id)])
        theirs = self.sdk('other', 'other')
        self.assertEqual([], list(theirs.shares()))
        self.assertRaises(openstack.exceptions.NotFoundException, theirs.get_share, share.id)
        self.assertRaises(
            openstack.exceptions.NotFoundException, theirs.delete_share, share.id, ignore_missing=False
        )
        self.assertIn(share.id, [row.id for row in self.sdk('admin', 'admin').shares(all_projects=True)])
        mine.delete_share(share.id)
        self.admin.wait(f'/shares/{share.id}', 'share', 'gone')

    def test_openstack_command_sees_only_shares_of_its_project(self):
        env = self.env_of('demo', 'demo')
        share = self.cli('share', 'create', 'NFS', '1', '--name', 'typed', '--wait', env=env)
        self.assertEqual(('available', 'typed'), (share['status'], share['name']))
        self.assertIn('typed', [row['Name'] for row in self.cli('share', 'list', env=env)])
        self.assertEqual([], self.cli('share', 'list', env=self.env_of('other', 'other')))
        self.assertIn('403', self.run_cli('share', 'type', 'create', 'x', 'False', env=env, fails=True))
        self.run_cli('share', 'delete', share['id'], '--wait', env=env)
        self.assertIn('401', self.run_cli('share', 'list', env=env | {'OS_PASSWORD': 'wrong'}, fails=True))

    def test_commands_for_operations_find_the_api_in_the_catalog_and_show_only_the_project(self):
        env = self.env_of('demo', 'demo')
        share = self.cli('share', 'create', 'NFS', '1', env=env)
        self.run_cli('share', 'operation', 'wait', share['id'], env=env)
        [row] = self.cli('share', 'operation', 'list', '--resource', share['id'], env=env)
        self.assertEqual(('share.create', 'done'), (row['Kind'], row['State']))
        other = self.env_of('other', 'other')
        self.assertEqual(
            [], self.cli('share', 'operation', 'list', '--all-projects', '--resource', share['id'], env=other)
        )
        self.assertIn(
            'could not be found', self.run_cli('share', 'operation', 'show', row['ID'], env=other, fails=True)
        )
        self.assertEqual(
            [row],
            self.cli(
                'share',
                'operation',
                'list',
                '--all-projects',
                '--resource',
                share['id'],
                env=self.env_of(ADMIN, ADMIN),
            ),
        )
        self.run_cli('share', 'delete', share['id'], '--wait', env=env)

    def test_every_catalog_type_reaches_the_api(self):
        session = self.keystone.connect('demo', 'demo').session
        for kind in ('sharev2', 'shared-file-system'):
            found = session.get('/shares', endpoint_filter={'service_type': kind, 'region_name': 'RegionOne'})
            self.assertEqual(200, found.status_code, kind)

    def test_project_in_the_path_is_kept_in_links(self):
        """Check paths with a project: URLs in old catalogs end with it."""
        user = self.caller_of('demo', 'demo')
        old = f'/{self.keystone.projects["demo"]}'
        share = user.ok('POST', f'{old}/shares', _SHARE)['share']['id']
        self.addCleanup(self.admin.action, share, 'force_delete')
        user.wait(f'/shares/{share}', 'share', 'available')
        self.assertIn(share, [one['id'] for one in user.ok('GET', f'{old}/shares')['shares']])
        for path in ('/shares', f'/shares/{share}'):
            found, plain = user.call('GET', f'{old}{path}')[1], user.ok('GET', path)
            # A client with such a catalog follows the links.
            self.assertIn(f'{old}/shares/{share}', json.dumps(found))
            self.assertEqual(plain, json.loads(json.dumps(found).replace(old, '')))


class Credentials(keystone_base.KeystoneTest):
    """Application credentials in place of passwords."""

    PARTS = ()
    BACKENDS = {}

    def credential(self, **more):
        """Create an application credential of demo; return it. ``more``: its attributes in Keystone."""
        owner = self.keystone.connect('demo', 'demo').identity
        made = owner.create_application_credential(
            self.keystone.users['demo'], uuidutils.generate_uuid(), **more
        )
        self.addCleanup(owner.delete_application_credential, self.keystone.users['demo'], made.id)
        return made

    def connect(self, credential):
        return openstack.connect(
            auth_type='v3applicationcredential',
            region_name='RegionOne',
            load_yaml_config=False,
            load_envvars=False,
            auth={
                'auth_url': self.keystone.url,
                'application_credential_id': credential.id,
                'application_credential_secret': credential.secret,
            },
        )

    def test_credential_allows_the_calls_of_its_user(self):
        cloud = self.connect(self.credential())
        share = cloud.shared_file_system.create_share(name='by an application', size=1, share_protocol='NFS')
        self.assertEqual(self.keystone.projects['demo'], share.project_id)

    def test_credential_with_reader_role_cannot_create_shares(self):
        cloud = self.connect(self.credential(roles=[{'name': 'reader'}]))
        list(cloud.shared_file_system.shares())
        self.assertRaises(
            openstack.exceptions.ForbiddenException,
            cloud.shared_file_system.create_share,
            size=1,
            share_protocol='NFS',
        )

    def test_credential_allows_only_calls_in_its_access_rules(self):
        """Check access rules of a credential: the middleware enforces them when the option ``service_type`` has our type."""
        self.assertEqual('shared-file-system', self.service.conf.keystone_authtoken.service_type)
        cloud = self.connect(
            self.credential(
                access_rules=[{'service': 'shared-file-system', 'method': 'GET', 'path': '/v2/shares'}]
            )
        )
        get = cloud.session.get
        here = {'endpoint_filter': {'service_type': 'shared-file-system'}, 'raise_exc': False}
        self.assertEqual(200, get('/shares', **here).status_code)
        self.assertEqual(401, get('/limits', **here).status_code)

    def short_lived(self, seconds):
        """Return a caller whose token was valid and will expire, or None if it expired too soon for this machine."""
        expires = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(
            seconds=seconds
        )
        try:
            caller = self.bearer(
                self.connect(self.credential(expires_at=expires.isoformat())).session.get_token()
            )
        except (exceptions.Unauthorized, openstack.exceptions.BadRequestException):
            return None
        return caller if caller.call('GET', '/shares')[0] == 200 else None

    def test_token_expires_with_its_credential(self):
        caller = next(filter(None, map(self.short_lived, (3, 12, 48))), None)
        self.assertTrue(caller, 'each had expired before it was used')
        base.eventually(lambda: caller.call('GET', '/shares')[0] == 401, 'the token never expires')
        beside = {'X-Service-Token': self.token('nova', 'service')}
        self.assertEqual(200, caller.call('GET', '/shares', headers=beside)[0])


class Roles(keystone_base.KeystoneTest):
    """The calls that the roles of a token allow."""

    PARTS = ()
    BACKENDS = {}

    def test_share_creation_is_forbidden_to_readers_and_services(self):
        for user, project, status in (
            ('viewer', 'demo', 403),
            ('demo', 'demo', 200),
            ('boss', 'demo', 200),
            ('admin', 'admin', 200),
            ('nova', 'service', 403),
        ):
            found, document, _ = self.caller_of(user, project).call('POST', '/shares', _SHARE)
            self.assertEqual(status, found, (user, document))

    def test_share_is_shown_to_its_project_and_administrators(self):
        mine = self.caller_of('demo', 'demo').ok('POST', '/shares', _SHARE)['share']['id']
        for user, project, status in (
            ('viewer', 'demo', 200),
            ('boss', 'demo', 200),
            ('admin', 'admin', 200),
            ('other', 'other', 404),
        ):
            self.assertEqual(status, self.caller_of(user, project).call('GET', f'/shares/{mine}')[0], user)
        for user, project, path, seen in (
            ('viewer', 'demo', '/shares', True),
            ('boss', 'demo', '/shares', True),
            ('other', 'other', '/shares', False),
            ('admin', 'admin', '/shares', False),
            ('admin', 'admin', '/shares?all_tenants=1', True),
        ):
            shares = self.caller_of(user, project).ok('GET', path)['shares']
            self.assertEqual(seen, mine in [share['id'] for share in shares], user)

    def test_forged_identity_headers_are_ignored(self):
        caller = self.caller_of('viewer', 'demo')
        lies = {
            'X-Roles': 'admin',
            'X-Project-Id': self.keystone.projects['other'],
            'X-User-Id': 'root',
            'X-Is-Admin': 'True',
            'X-Identity-Status': 'Confirmed',
            'X-Service-Roles': 'service',
        }
        self.assertEqual(403, caller.call('POST', '/shares', _SHARE, headers=lies)[0])
        self.assertEqual(403, caller.call('GET', '/services', headers=lies)[0])
        self.assertEqual(401, self.bearer('').call('GET', '/shares', headers=lies)[0])

    def test_token_without_a_project_is_forbidden(self):
        """Check a token without a project: it identifies a user, who has no role here."""
        login = self.keystone.login('demo', 'demo')
        for name in ('project_name', 'project_domain_name'):
            del login[name]
        cloud = openstack.connect(auth=login, load_yaml_config=False, load_envvars=False)
        self.assertEqual(403, self.bearer(cloud.session.get_token()).call('GET', '/shares')[0])


class Tokens(keystone_base.KeystoneTest):
    """The tokens that the API accepts."""

    PARTS = ()
    BACKENDS = {}

    def get(self, token, **headers):
        """Send a request over HTTP; return the answer."""
        sent = {name.replace('_', '-'): value for name, value in headers.items()}
        return requests.get(
            f'{self.url}/v2/shares', headers={'X-Auth-Token': token, **sent}, timeout=waiting.LIMIT
        )

    def test_missing_and_invalid_tokens_are_refused(self):
        good = self.token('demo', 'demo')
        for token in (
            None,
            '',
            'nonsense',
            'u:p:admin',
            good[:-1],
            good[:40] + good[41:],
            good[::-1],
            'ü' * 50,
            'a' * 5000,
        ):
            answer = self.get(token.encode() if token else token)
            self.assertEqual(
                (401, 'application/json'), (answer.status_code, answer.headers['Content-Type']), token
            )
            self.assertEqual(
                (401, 'unauthorized'), tuple(answer.json()['unauthorized'][key] for key in ('code', 'reason'))
            )
            self.assertIn(self.keystone.url, answer.headers['WWW-Authenticate'])
        self.assertEqual(200, self.get(good).status_code)

    def test_discovery_needs_no_token(self):
        for path, status in (('/', 300), ('/v2', 200), ('/v2/', 200), ('/healthcheck', 200)):
            self.assertEqual(
                status, requests.get(f'{self.url}{path}', timeout=waiting.LIMIT).status_code, path
            )

    def test_revoked_token_is_refused(self):
        """Check that a revoked token is refused when its time in the cache is over (``token_cache_time``)."""
        token = self.token('demo', 'demo')
        self.assertEqual(200, self.get(token).status_code)
        self.keystone.connect('demo', 'demo').session.delete(
            f'{self.keystone.url}/auth/tokens', headers={'X-Subject-Token': token}
        )
        base.eventually(lambda: self.get(token).status_code == 401, 'it is good for ever')

    def test_token_of_a_disabled_user_is_refused(self):
        identity = self.keystone.connect('admin', 'admin').identity
        user = identity.create_user(name='leaver', password=self.keystone.password, domain_id='default')
        self.addCleanup(identity.delete_user, user)
        (role,) = identity.roles(name='member')
        identity.assign_project_role_to_user(self.keystone.projects['demo'], user, role)
        token = self.token('leaver', 'demo')
        self.assertEqual(200, self.get(token).status_code)
        identity.update_user(user, is_enabled=False)
        base.eventually(lambda: self.get(token).status_code == 401, 'it is good for ever')
        self.assertRaises(exceptions.Unauthorized, self.token, 'leaver', 'demo')

    def test_service_token_must_be_valid_and_needs_a_user_token(self):
        user, service = self.token('demo', 'demo'), self.token('nova', 'service')
        self.assertEqual(200, self.get(user).status_code)  # it is remembered from now on
        self.assertEqual(200, self.get(user, X_Service_Token=service).status_code)
        for token in ('nonsense', user, ''):
            self.assertEqual(401 if token else 200, self.get(user, X_Service_Token=token).status_code, token)
        self.assertIn(
            'X-Service-Token', self.get(user, X_Service_Token=user).json()['unauthorized']['message']
        )
        self.assertEqual(401, self.get('nonsense', X_Service_Token=service).status_code)

    def api(self, **options):
        """Return another instance of the API, as in another process; ``options`` of ``[keystone_authtoken]``."""
        for name, value in options.items():
            self.service.conf.set_override(name, value, 'keystone_authtoken')
            self.addCleanup(self.service.conf.clear_override, name, 'keystone_authtoken')
        return webtest.TestApp(app.make(self.service.services))

    def test_unreachable_keystone_is_answered_503(self):
        """Check the API without Keystone: 503 in the format of the API, while discovery works."""
        lost = self.api(auth_url=f'http://127.0.0.1:{process.free_port()}/v3')
        answer = lost.get(
            '/v2/shares', headers={'X-Auth-Token': self.token('demo', 'demo')}, expect_errors=True
        )
        (fault,) = answer.json.values()
        self.assertEqual((503, 'identity_unavailable'), (answer.status_int, fault['reason']))
        self.assertEqual(200, lost.get('/v2/').status_int)

    def test_validated_tokens_are_shared_through_memcached(self):
        """Check that APIs share validated tokens in memcached, and that another secret key cannot read them."""
        memcached = self.useFixture(Memcached())
        cache = {
            'memcached_servers': [memcached.address],
            'token_cache_time': 300,
            'memcache_pool_socket_timeout': int(waiting.LIMIT),
            'memcache_security_strategy': 'ENCRYPT',
            'memcache_secret_key': memcached.password,
        }
        known, unknown = ({'X-Auth-Token': self.token('demo', 'demo')} for _ in range(2))
        self.assertEqual(200, self.api(**cache).get('/v2/shares', headers=known).status_int)
        lost = self.api(auth_url=f'http://127.0.0.1:{process.free_port()}/v3', **cache)
        self.assertEqual(200, lost.get('/v2/shares', headers=known).status_int)
        self.assertEqual(503, lost.get('/v2/shares', headers=unknown, expect_errors=True).status_int)
        other = self.api(
            auth_url=f'http://127.0.0.1:{process.free_port()}/v3',
            **cache | {'memcache_secret_key': 'another'},
        )
        self.assertEqual(503, other.get('/v2/shares', headers=known, expect_errors=True).status_int)
