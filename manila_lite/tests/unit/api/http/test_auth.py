# SPDX-License-Identifier: Apache-2.0
"""Headers of HTTP Basic that are known to be valid."""

import testtools

from manila_lite.api.http import auth


class Known(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.known = auth._Known()
        self.known.remember('Basic alice:one', 'alice')

    def test_header_is_known_for_a_minute(self):
        self.assertEqual('alice', self.known.user('Basic alice:one'))
        self.known._SECONDS = -1.0
        self.known.remember('Basic alice:one', 'alice')
        self.assertIsNone(self.known.user('Basic alice:one'))
        self.assertEqual(60.0, auth._Known._SECONDS)

    def test_another_password_is_not_known(self):
        self.known.remember('Basic bob:one', 'bob')
        for header in ('Basic alice:two', 'Basic bob:two', 'Basic ', ''):
            self.assertIsNone(self.known.user(header), header)
        self.assertEqual(['alice', 'bob'], [self.known.user(f'Basic {user}:one') for user in ('alice', 'bob')])
