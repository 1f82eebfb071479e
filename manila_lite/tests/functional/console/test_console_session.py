# SPDX-License-Identifier: Apache-2.0
"""Sessions of the console: a cookie that counts only for its page, and says nothing to anybody else."""

import base64
import re

import bcrypt
import webtest

from manila_lite.api.http import app
from manila_lite.tests import hush
from manila_lite.tests.functional import base
from manila_lite.tests.functional.console.test_files import ON

PAGE = {'X-Manila-Lite-Console': '1', 'X-OpenStack-Manila-API-Version': base.LATEST}
_USER = {'user': 'ann', 'project': 'blue', 'roles': 'member,reader'}


class Wire:
    """Requests of a browser that a test builds by hand."""

    def ask(self, method, path, body=None, headers=PAGE):
        if body is None:
            return self.app.request(path, method=method, headers=headers, expect_errors=True)
        return self.app.post_json(path, body, headers=headers, expect_errors=True)

    def who(self, headers=PAGE):
        """Return the user and the project of a request."""
        answer = self.ask('GET', '/console/session', headers=headers)
        self.assertEqual(200, answer.status_int, answer.text)
        return tuple(answer.json['session'][name] for name in ('user_id', 'project_id'))

    def refused(self, answer, status, reason):
        self.assertEqual(status, answer.status_int, answer.text)
        self.assertEqual(reason, next(iter(answer.json.values()))['reason'])
        self.assertNotIn('Set-Cookie', answer.headers)


def cookie(answer):
    """Return name, value and flags of the cookie that an answer sets."""
    pair, *flags = answer.headers['Set-Cookie'].split('; ')
    name, _, value = pair.partition('=')
    return name, value, set(flags)


class NoauthTest(Wire, base.ServiceTest):
    """Without authentication: anybody may be anyone, but no page of another site may be it for them."""

    PARTS = ()
    EXTRA = ON

    def setUp(self):
        super().setUp()
        self.app = self.service.app
        self.app.reset()

    def log_in(self, **more):
        """Return the headers of a page with a session."""
        answer = self.ask('POST', '/console/session', _USER | more)
        self.assertEqual((200, {'projects': []}), (answer.status_int, answer.json))
        name, value, _ = cookie(answer)
        self.app.reset()
        return PAGE | {'Cookie': f'{name}={value}'}

    def test_settings_tell_how_to_log_in(self):
        answer = self.ask('GET', '/console/settings')
        self.assertEqual({'auth_strategy': 'noauth', 'user_domain': 'Default', 'docs_url': None}, answer.json)
        self.assertEqual('no-store', answer.headers['Cache-Control'])

    def test_cookie_is_out_of_reach_of_scripts_and_of_other_sites(self):
        answer = self.ask('POST', '/console/session', _USER)
        name, value, flags = cookie(answer)
        self.assertEqual(('manila_lite_console', {'HttpOnly', 'Path=/', 'SameSite=strict'}), (name, flags))
        self.assertEqual(b'ann:blue:member,reader', base64.urlsafe_b64decode(value + '=='))
        self.assertNotIn('ann', answer.text)

    def test_cookie_over_https_is_of_this_host_alone(self):
        answer = self.ask('POST', '/console/session', _USER, headers=PAGE | {'X-Forwarded-Proto': 'https'})
        name, value, flags = cookie(answer)
        self.assertEqual(
            ('__Host-manila_lite_console', {'HttpOnly', 'Path=/', 'SameSite=strict', 'secure'}), (name, flags)
        )
        self.app.reset()
        sent = PAGE | {'Cookie': f'{name}={value}'}
        self.assertEqual(('ann', 'blue'), self.who(sent | {'X-Forwarded-Proto': 'https'}))
        self.assertEqual(('admin', 'admin'), self.who(sent))

    def test_page_with_a_session_acts_as_its_user(self):
        page = self.log_in()
        answer = self.ask('GET', '/console/session', headers=page)
        self.assertEqual(
            {
                'user_id': 'ann',
                'user_name': 'ann',
                'project_id': 'blue',
                'project_name': 'blue',
                'roles': ['member', 'reader'],
                'administrator': False,
            },
            answer.json['session'],
        )
        made = self.app.post_json('/v2/share-networks', {'share_network': {'name': 'n'}}, headers=page)
        self.assertEqual('blue', made.json['share_network']['project_id'])
        self.assertEqual(403, self.ask('GET', '/v2/services', headers=page).status_int)
        answer = self.ask('GET', '/console/session', headers=self.log_in(roles='admin'))
        self.assertTrue(answer.json['session']['administrator'])

    def test_session_is_found_among_other_cookies_up_to_8_kib(self):
        page = self.log_in()
        own = page['Cookie']
        for line in (
            f'a=b; {own}',
            f'{own}; a=b',
            f'a; b={own};{own};',
            f'{own.replace("=", "=" + chr(34), 1)}"',
            f'a={"x" * 8000}; {own}',
        ):
            self.assertEqual(('ann', 'blue'), self.who(page | {'Cookie': line}), line)
        for line in (
            own.replace('=', 's=', 1),
            f'a={"x" * 8192}; {own}',
            own + 'a' * 4096,
            own.partition('=')[0],
        ):
            self.assertEqual(('admin', 'admin'), self.who(page | {'Cookie': line}), line)

    def test_cookie_without_the_header_of_the_page_counts_for_nothing(self):
        sent = self.log_in()
        del sent['X-Manila-Lite-Console']
        self.assertEqual(('admin', 'admin'), self.who(sent))

    def test_cookie_counts_for_no_page_of_another_site(self):
        sent = self.log_in()
        for foreign in (
            {'Origin': 'http://evil.example'},
            {'Origin': 'null'},
            {'Sec-Fetch-Site': 'cross-site'},
            {'Sec-Fetch-Site': 'same-site'},
        ):
            self.refused(self.ask('GET', '/console/session', headers=sent | foreign), 403, 'foreign_origin')
            self.refused(self.ask('GET', '/v2/shares', headers=sent | foreign), 403, 'foreign_origin')
        for own in ({'Origin': 'http://localhost:80'}, {'Sec-Fetch-Site': 'same-origin'}):
            self.assertEqual(('ann', 'blue'), self.who(sent | own), own)

    def test_token_of_a_client_comes_before_the_cookie(self):
        self.assertEqual(('bob', 'red'), self.who(self.log_in() | {'X-Auth-Token': 'bob:red:reader'}))

    def test_other_sites_cannot_log_anybody_in_or_out(self):
        foreign = ({}, PAGE | {'Origin': 'http://evil.example'}, PAGE | {'Sec-Fetch-Site': 'cross-site'})
        for headers in foreign:
            self.refused(self.ask('POST', '/console/session', _USER, headers=headers), 403, 'foreign_origin')
            self.refused(self.ask('DELETE', '/console/session', headers=headers), 403, 'foreign_origin')
            self.refused(self.ask('GET', '/console/projects', headers=headers), 403, 'foreign_origin')

    def test_log_out_takes_the_cookie_away(self):
        answer = self.ask('DELETE', '/console/session', headers=self.log_in())
        self.assertEqual(204, answer.status_int)
        name, value, flags = cookie(answer)
        self.assertEqual(('manila_lite_console', ''), (name, value))
        self.assertIn('Max-Age=0', flags)

    def test_names_that_would_be_another_token_are_refused(self):
        for bad in (
            {'user': 'ann:red:admin'},
            {'project': 'b:admin'},
            {'roles': 'a:b'},
            {'user': 'a b'},
            {'user': 'a\nb'},
            {'user': '\u00e4'},
            {'project': ''},
            {'user': 7},
            {'user': 'x' * 256},
        ):
            self.refused(self.ask('POST', '/console/session', _USER | bad), 400, 'invalid_input')

    def test_bodies_that_are_none_are_refused(self):
        for body, reason in (
            (b'{', 'malformed_body'),
            (b'[]', 'invalid_input'),
            (b'{"user": "' + b'x' * 17000 + b'"}', 'invalid_input'),
        ):
            answer = self.app.request(
                '/console/session', method='POST', body=body, headers=PAGE, expect_errors=True
            )
            self.refused(answer, 400, reason)
        self.refused(self.ask('PUT', '/console/session'), 405, 'wrong_method')
        self.refused(self.ask('POST', '/console/settings', {}), 405, 'wrong_method')

    def test_cookies_that_are_none_are_ignored(self):
        for value in ('!!!', 'YQ', 'w6Q', 'YSBi', '', 'x' * 5000):
            sent = PAGE | {'Cookie': f'manila_lite_console={value}'}
            self.assertEqual('admin', self.who(sent)[1], value)


class PasswordsTest(Wire, base.ServiceTest):
    """With a password file: the page keeps the password, and no cookie is given."""

    PARTS = ()
    EXTRA = ON

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.secret = hush.secret('password')
        path = cls.service.state / 'htpasswd'
        path.write_text(f'ann:{bcrypt.hashpw(cls.secret.encode(), bcrypt.gensalt(4)).decode()}\n')
        conf = cls.service.conf
        conf.set_override('auth_strategy', 'http_basic')
        conf.set_override('http_basic_auth_user_file', str(path), 'api')
        conf.set_override('http_basic_accounts', ['ann:blue:member+reader'], 'api')
        cls.app = webtest.TestApp(app.make(cls.service.services))

    def login(self, secret):
        return PAGE | {'Authorization': 'Basic ' + base64.b64encode(f'ann:{secret}'.encode()).decode()}

    def test_password_of_each_request_is_checked(self):
        self.assertEqual(('ann', 'blue'), self.who(self.login(self.secret)))
        for headers in (self.login('wrong'), PAGE):
            self.refused(self.ask('GET', '/console/session', headers=headers), 401, 'unauthorized')

    def test_page_itself_needs_no_password(self):
        self.assertEqual(200, self.ask('GET', '/console/', headers={}).status_int)
        self.assertEqual('http_basic', self.ask('GET', '/console/settings').json['auth_strategy'])

    def test_password_is_put_into_no_cookie(self):
        answer = self.ask('POST', '/console/session', {'user': 'ann', 'password': self.secret})
        self.refused(answer, 400, 'invalid_input')
        self.assertIsNone(re.search(self.secret, answer.text))
