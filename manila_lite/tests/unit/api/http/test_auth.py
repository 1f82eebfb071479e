# SPDX-License-Identifier: Apache-2.0
"""Headers of HTTP Basic that are known to be valid."""

import base64
import contextlib

import testtools

from manila_lite import errors
from manila_lite.api.http import auth
from manila_lite.tests import waiting


class Known(testtools.TestCase):
    """Users whose passwords are ``one``."""

    def setUp(self):
        super().setUp()
        self.checked, self.seen = [], []
        self.passwords = auth._Passwords(self, self)
        self.passwords._SECONDS = 2 * waiting.LIMIT  # longer than a test

    def check(self, user, password):
        """Stand for the password file."""
        self.checked.append(user)
        if password != b'one':
            raise errors.Unauthorized

    @contextlib.contextmanager
    def password(self, environ, name, *, seen):
        """Stand for the bounds of logins."""
        self.seen.append(seen)
        yield

    def user(self, user, password='one'):
        login = base64.b64encode(f'{user}:{password}'.encode()).decode()
        return self.passwords.user({'HTTP_AUTHORIZATION': f'Basic {login}'})

    def test_header_is_known_for_a_minute(self):
        self.assertEqual(60.0, auth._Passwords._SECONDS)
        self.assertEqual(['alice'] * 3, [self.user('alice') for _ in range(3)])
        self.assertEqual(['alice'], self.checked)
        self.passwords._SECONDS = -1.0
        self.assertEqual(['bob'] * 3, [self.user('bob') for _ in range(3)])
        self.assertEqual(
            (['alice', 'bob', 'bob', 'bob'], [False, False, True, True]), (self.checked, self.seen)
        )

    def test_another_password_is_not_known(self):
        self.assertEqual(['alice', 'bob'], [self.user(user) for user in ('alice', 'bob')])
        for user, password in (('alice', 'two'), ('bob', 'two'), ('alice', '')):
            for _ in range(2):
                self.assertRaises(errors.Unauthorized, self.user, user, password)
        for header in ('Basic ', '', 'Bearer x', 'Basic !', 'Basic YWxpY2U='):
            self.assertRaises(errors.Unauthorized, self.passwords.user, {'HTTP_AUTHORIZATION': header})
        self.assertEqual(['alice', 'bob'], [self.user(user) for user in ('alice', 'bob')])
        self.assertEqual([False] * 8, self.seen)

    def test_password_that_is_wrong_now_was_not_seen(self):
        self.passwords._SECONDS = -1.0
        self.user('alice')
        self.check = lambda user, password: (_ for _ in ()).throw(errors.Unauthorized)
        for _ in range(2):
            self.assertRaises(errors.Unauthorized, self.user, 'alice')
        self.assertEqual([False, True, False], self.seen)
