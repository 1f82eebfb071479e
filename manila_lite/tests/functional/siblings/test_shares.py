# SPDX-License-Identifier: Apache-2.0
"""The siblings' client of the share service, with every kind of authentication."""

import base64
import urllib.parse

import bcrypt
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.api.http import auth, client_address, login_checks, rate_limits
from manila_lite.api.http.definition import SHARE
from manila_lite.siblings import shares
from manila_lite.tests.functional import base, commandline, keystone_base
from manila_lite.tests.functional.siblings.relay import Relay
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest, WithShares


def port_of(url):
    """Return the port of a URL."""
    return urllib.parse.urlsplit(url).port


class WithoutKeystone(ShareServiceTest):
    """Authentication by tokens that name the user."""

    def test_user_sees_own_shares(self):
        share = self.user.share(name='mine')
        seen = self.shares.share(self.who, share['id'])
        self.assertEqual(shares.VisibleShare(share['id'], 'p', 'mine', 'available', 'NFS', 1, False), seen)
        exports = self.shares.exports(self.who, share['id'])
        locations = self.user.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertEqual(
            {row['path']: row['preferred'] for row in locations}, {row.path: row.preferred for row in exports}
        )
        self.assertTrue(exports[0].preferred)
        self.assertEqual(exports[0].path, shares.preferred(exports))
        self.assertEqual(exports[1].path, shares.preferred(exports, exports[1].path))
        self.assertEqual(exports[0].path, shares.preferred(exports, 'it moved'))
        self.assertIsNone(shares.preferred([]))

    def test_others_see_no_private_shares(self):
        mine = self.user.share()
        public = self.admin.share(is_public=True)
        other = {'X-Auth-Token': 'x:other:member'}
        gone = self.assertRaises(errors.NotFound, self.shares.share, other, mine['id'])
        self.assertEqual('share_not_found', gone.code)
        self.assertRaises(errors.NotFound, self.shares.exports, other, mine['id'])
        self.assertTrue(self.shares.share(other, public['id']).is_public)
        self.assertRaises(errors.NotFound, self.shares.share, self.who, uuidutils.generate_uuid())

    def test_endpoint_may_have_any_form(self):
        share = self.user.share()
        for options in (
            {'auth_type': 'none', 'endpoint': self.url},
            {'auth_type': 'none', 'endpoint': f'{self.url}/v2/'},
            {'auth_type': 'none', 'endpoint_override': f'{self.url}/v2'},
            {'auth_type': 'admin_token', 'endpoint': self.url, 'token': 'nova:service:service'},
        ):
            self.assertEqual(share['id'], self.connect(**options).share(self.who, share['id']).id)

    def test_wrong_options_are_refused(self):
        for options, word in (({}, 'auth_type'), ({'auth_type': 'nonsense'}, 'nonsense')):
            error = self.assertRaises(
                errors.BadConfig, self.connect(**options).rules, uuidutils.generate_uuid()
            )
            self.assertIn(word, str(error))

    def test_unreachable_service_is_unavailable(self):
        away = self.service_user(endpoint='http://127.0.0.1:1', connect_retries=0)
        error = self.assertRaises(errors.Unavailable, away.share, self.who, uuidutils.generate_uuid())
        self.assertEqual('share_service_unavailable', error.code)

    def test_client_recovers_when_the_service_is_back(self):
        """Check that a lost or unanswered request is repeated, and that a last failure is not taken for an answer."""
        share = self.user.share()
        relay = self.useFixture(Relay(port_of(self.url)))
        there = self.service_user(endpoint=f'http://127.0.0.1:{relay.port}/v2')
        self.assertEqual([], there.rules(share['id']))
        relay.lost, relay.away = 1, 1
        relay.hang_up()
        self.assertEqual(share['id'], there.share(self.who, share['id']).id)
        self.assertEqual(2, relay.met)
        relay.away = 100
        relay.hang_up()
        for away in (there, self.service_user(endpoint=f'http://127.0.0.1:{relay.port}/v2')):
            self.assertRaises(errors.Unavailable, away.rules, share['id'])
            relay.away, before = 0, relay.away
            self.assertEqual([], away.rules(share['id']))
            relay.away = before

    def test_foreign_answer_is_unavailable(self):
        """Check that a 404 for an unknown path is not taken for a share that does not exist."""
        wrong = self.service_user(endpoint_override=f'{self.url}/identity')
        self.assertRaises(errors.Unavailable, wrong.rules, uuidutils.generate_uuid())

    def test_service_user_without_the_role_sees_no_rules(self):
        share = self.user.share()
        nobody = self.service_user(token='nova:service:reader')
        self.assertRaises(errors.NotFound, nobody.rules, share['id'])

    def test_more_locks_than_fit_on_a_page(self):
        share = self.user.share()
        rule = self.shares.allow(share['id'], 'ip', '10.0.0.1', 'rw', 'many')
        for number in range(3):
            self.shares.lock(rule.id, f'many {number}')
        self.addCleanup(setattr, shares, '_PAGE', shares._PAGE)
        shares._PAGE = 2
        locks = self.shares.locks(resource_id=rule.id)
        self.assertEqual(
            ['many', 'many', 'many 0', 'many 1', 'many 2'], sorted(lock.reason for lock in locks)
        )
        self.assertEqual({'service'}, {lock.by for lock in locks})


class HttpBasic(WithShares, commandline.OverHttp, base.ServiceTest):
    """Users with passwords; a sibling with the same users passes their header on."""

    EXTRA = '[api]\nhttp_basic_accounts = demo:p:member+reader,other:q:member,nova:service:service\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        password = bcrypt.hashpw(b'x', bcrypt.gensalt(4)).decode()
        (cls.service.state / 'htpasswd').write_text(
            ''.join(f'{user}:{password}\n' for user in ('demo', 'other', 'nova'))
        )

    def test_a_user_and_the_service(self):
        share = self.caller().share()
        self.service.conf.set_override(
            'http_basic_auth_user_file', str(self.service.state / 'htpasswd'), 'api'
        )
        self.service.conf.set_override('auth_strategy', 'http_basic')
        self.addCleanup(self.service.conf.clear_override, 'auth_strategy')
        guarded = self._listening()
        sibling = self.connect(auth_type='http_basic', endpoint=guarded, username='nova', password='x')
        demo, other = (
            shares.caller({'Authorization': 'Basic ' + base64.b64encode(f'{user}:x'.encode()).decode()})
            for user in ('demo', 'other')
        )
        self.assertEqual(share['id'], sibling.share(demo, share['id']).id)
        self.assertRaises(errors.NotFound, sibling.share, other, share['id'])
        self.assertRaises(errors.Unauthorized, sibling.share, shares.caller({}), share['id'])
        rule = sibling.allow(share['id'], 'ip', '10.0.0.1', 'rw', 'mlite-test server x on h')
        self.assertEqual({'service'}, {lock.by for lock in sibling.locks(resource_id=rule.id)})
        wrong = self.connect(auth_type='http_basic', endpoint=guarded, username='nova', password='y')
        self.assertRaises(errors.Unavailable, wrong.rules, share['id'])

    def test_who_answers_can_hand_the_header_on(self):
        """Check that the header is passed on, both when the password is checked and when it is remembered."""
        self.service.conf.set_override(
            'http_basic_auth_user_file', str(self.service.state / 'htpasswd'), 'api'
        )
        header = 'Basic ' + base64.b64encode(b'demo:x').decode()
        seen = []
        conf = self.service.conf
        limits = rate_limits.Limits(conf, SHARE, client_address.ClientAddresses((), 64))
        guarded = auth.http_basic(
            lambda environ, start_response: seen.append(environ.get('HTTP_AUTHORIZATION')),
            conf,
            SHARE,
            login_checks.LoginChecks(self.service.services.turns, limits),
        )
        for _ in range(2):
            guarded({'HTTP_AUTHORIZATION': header}, None)
        self.assertEqual([header, header], seen)

    def _listening(self):
        api = commandline.Api(self.service.services)
        api.start()
        self.addCleanup(api.stop)
        return f'http://127.0.0.1:{api.port}'


class WithKeystone(WithShares, keystone_base.KeystoneTest):
    """The catalog has the share service's address; users' tokens are sent together with that of the service."""

    def sibling(self, **more):
        """Return the client of a sibling with the service user ``nova``."""
        return self.connect(
            auth_type='password', region_name='RegionOne', **self.keystone.login('nova', 'service'), **more
        )

    def test_a_user_and_the_service(self):
        share = self.caller_of('demo', 'demo').share()
        sibling = self.sibling()
        who = shares.caller({'X-Auth-Token': self.token('demo', 'demo'), 'X-Other': 'x'})
        self.assertEqual(share['project_id'], sibling.share(who, share['id']).project_id)
        self.assertRaises(
            errors.NotFound, sibling.exports, {'X-Auth-Token': self.token('other', 'other')}, share['id']
        )
        self.assertRaises(errors.Unauthorized, sibling.share, {'X-Auth-Token': 'nonsense'}, share['id'])
        rule = sibling.allow(share['id'], 'ip', '10.0.0.1', 'rw', 'mlite-test server x on h')
        self.assertEqual(rule.id, sibling.rules(share['id'])[0].id)
        self.assertEqual({'service'}, {lock.by for lock in sibling.locks(resource_id=rule.id)})
        sibling.deny(share['id'], rule.id)
        base.eventually(lambda: not sibling.rules(share['id']), 'the rule stays')

    def test_no_such_service_in_the_catalog(self):
        nowhere = self.sibling(service_type='object-store')
        error = self.assertRaises(errors.Unavailable, nowhere.rules, uuidutils.generate_uuid())
        self.assertEqual('share_service_missing', error.code)

    def test_a_login_that_is_wrong(self):
        wrong = self.connect(
            auth_type='password', **{**self.keystone.login('nova', 'service'), 'password': 'wrong'}
        )
        self.assertRaises(errors.Unavailable, wrong.rules, uuidutils.generate_uuid())
