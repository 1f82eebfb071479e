# SPDX-License-Identifier: Apache-2.0
"""Sessions of the console behind a real Keystone."""

import base64

from manila_lite.tests import hush, waiting
from manila_lite.tests.functional import keystone_base
from manila_lite.tests.functional.console.test_console_session import PAGE, Wire, cookie
from manila_lite.tests.functional.console.test_files import ON
from manila_lite.tests.services.keystone import ADMIN


class KeystoneSessionsTest(Wire, keystone_base.KeystoneTest):
    """Users log in with a password; the page never sees a token."""

    PARTS = ()
    MORE = ON

    def setUp(self):
        super().setUp()
        self.app = self.service.app
        self.app.reset()

    def log_in(self, user='demo', headers=PAGE, **more):
        return self.ask(
            'POST',
            '/console/session',
            {'user': user, 'password': self.keystone.password, **more},
            headers=headers,
        )

    def page(self, answer):
        """Return the headers of a page with the session of this answer."""
        self.assertEqual((200, {'projects': []}), (answer.status_int, answer.json), answer.text)
        name, value, _ = cookie(answer)
        self.app.reset()
        return PAGE | {'Cookie': f'{name}={hush.keep(value)}'}

    def user_of_two_projects(self, name):
        """Make a user with roles in two projects."""
        identity = self.keystone.connect(ADMIN, ADMIN).identity
        user = identity.create_user(name=name, password=self.keystone.password, domain_id='default')
        self.addCleanup(identity.delete_user, user)
        roles = {role.name: role.id for role in identity.roles()}
        for project in ('demo', 'other'):
            identity.assign_project_role_to_user(self.keystone.projects[project], user.id, roles['member'])

    def test_user_of_one_project_is_in_it_at_once(self):
        page = self.page(self.log_in())
        shown = self.ask('GET', '/console/session', headers=page).json['session']
        self.assertEqual(
            ('demo', 'demo', self.keystone.projects['demo'], False),
            tuple(shown[name] for name in ('user_name', 'project_name', 'project_id', 'administrator')),
        )
        self.assertIn('member', shown['roles'])
        self.assertEqual(200, self.ask('GET', '/v2/shares', headers=page).status_int)
        self.assertEqual(403, self.ask('GET', '/v2/services', headers=page).status_int)

    def test_administrator_is_told_so(self):
        page = self.page(self.log_in(ADMIN))
        self.assertTrue(self.ask('GET', '/console/session', headers=page).json['session']['administrator'])
        self.assertEqual(200, self.ask('GET', '/v2/services', headers=page).status_int)

    def test_wrong_logins_are_refused_alike(self):
        for bad in (
            {'password': 'wrong'},
            {'user': 'nobody'},
            {'user_domain': 'none'},
            {'project_id': 'none'},
            {'project_id': self.keystone.projects['other']},
        ):
            answer = self.log_in(**bad)
            self.refused(answer, 401, 'unauthorized')
            self.assertIn('is wrong, or the user has no role', answer.text)
        for missing in ({'password': ''}, {'user': ''}):
            self.refused(self.log_in(**missing), 400, 'invalid_input')

    def test_cookie_without_the_header_is_refused(self):
        page = self.page(self.log_in())
        del page['X-Manila-Lite-Console']
        self.assertEqual(401, self.ask('GET', '/v2/shares', headers=page).status_int)
        self.assertEqual(401, self.ask('GET', '/console/session', headers=page).status_int)
        answer = self.app.post_json(
            '/v2/share-networks', {'share_network': {}}, headers=page, expect_errors=True
        )
        self.assertEqual(401, answer.status_int)

    def test_pages_of_other_sites_are_refused(self):
        page = self.page(self.log_in())
        for foreign in ({'Origin': 'http://evil.example'}, {'Sec-Fetch-Site': 'cross-site'}):
            self.refused(self.ask('GET', '/v2/shares', headers=page | foreign), 403, 'foreign_origin')

    def test_user_of_several_projects_chooses_one_and_changes_it(self):
        self.user_of_two_projects('twofold')
        answer = self.log_in('twofold')
        self.assertEqual(['demo', 'other'], [project['name'] for project in answer.json['projects']])
        self.assertNotIn('Set-Cookie', answer.headers)
        first, second = (project['id'] for project in answer.json['projects'])
        page = self.page(self.log_in('twofold', project_id=first))
        self.assertEqual(first, self.who(page)[1])
        listed = self.ask('GET', '/console/projects', headers=page).json['projects']
        self.assertEqual([first, second], [project['id'] for project in listed])
        changed = self.page(self.ask('POST', '/console/session', {'project_id': second}, headers=page))
        self.assertEqual(second, self.who(changed)[1])
        self.refused(
            self.ask('POST', '/console/session', {'project_id': 'none'}, headers=page), 401, 'unauthorized'
        )

    def test_log_out_ends_the_token_itself(self):
        page = self.page(self.log_in())
        self.assertEqual(200, self.ask('GET', '/v2/shares', headers=page).status_int)
        self.assertEqual(204, self.ask('DELETE', '/console/session', headers=page).status_int)
        waiting.until(
            lambda: self.ask('GET', '/v2/shares', headers=page).status_int == 401, 'the token is refused'
        )
        self.assertEqual(204, self.ask('DELETE', '/console/session', headers=page).status_int)

    def test_cookie_that_is_no_token_is_no_session(self):
        sent = PAGE | {'Cookie': 'manila_lite_console=' + base64.urlsafe_b64encode(b'invalid').decode()}
        for path in ('/console/session', '/console/projects', '/v2/shares'):
            self.refused(self.ask('GET', path, headers=sent), 401, 'unauthorized')
        self.refused(
            self.ask('POST', '/console/session', {'project_id': 'p'}, headers=sent), 401, 'unauthorized'
        )
        self.assertEqual(204, self.ask('DELETE', '/console/session', headers=sent).status_int)


class AwayTest(Wire, keystone_base.KeystoneTest):
    """Users log in at a Keystone that is not there."""

    PARTS = ()
    MORE = f'{ON}identity_url = http://127.0.0.1:9/v3\n'

    def test_log_in_says_that_keystone_is_away(self):
        self.app = self.service.app
        answer = self.ask('POST', '/console/session', {'user': 'demo', 'password': self.keystone.password})
        self.refused(answer, 503, 'identity_unavailable')
