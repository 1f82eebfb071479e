# SPDX-License-Identifier: Apache-2.0
"""The password file: who is let in, what is no password file, and what an unknown user costs."""

from pathlib import Path

import bcrypt
import fixtures
import testtools

from manila_lite import errors
from manila_lite.api.http import password_file


class Files(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.file = Path(self.useFixture(fixtures.TempDir()).path, 'users')

    def written(self, *lines):
        self.file.write_text('\n'.join((*lines, '')))
        return password_file.PasswordFile(str(self.file))

    def line(self, user, password, cost=4):
        return f'{user}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()}'

    def refused(self, file, user, password):
        self.assertRaises(errors.Unauthorized, file.check, user, password)

    def test_right_passwords_are_let_in_and_others_refused(self):
        file = self.written(
            self.line('alice', 'a'),
            '',
            f'  {self.line("bob", "b")}  ',
            self.line('alice', 'second'),
            self.line('eve', 'e').replace('$2b$', '$2y$'),
        )
        for user, password in (('alice', b'a'), ('bob', b'b'), ('eve', b'e')):
            self.assertIsNone(file.check(user, password))
        for user, password in (
            ('alice', b'b'),
            ('alice', b'second'),
            ('bob', b''),
            ('', b''),
            ('Alice', b'a'),
            ('ali', b'a'),
            ('bob', b'b\0'),
            ('bob', b'b' * 100),
            ('nobody', b'x'),
            ('nobody', b'x\0'),
            ('bo\udcffb', b'b'),
        ):
            self.refused(file, user, password)

    def test_change_counts_at_once(self):
        file = self.written(self.line('alice', 'a'))
        self.written(self.line('bob', 'b'))
        self.refused(file, 'alice', b'a')
        file.check('bob', b'b')

    def test_lost_file_lets_nobody_in(self):
        file = self.written(self.line('alice', 'a'))
        self.file.unlink()
        self.assertEqual(
            'identity_unavailable', self.assertRaises(errors.Unavailable, file.check, 'alice', b'a').code
        )

    def test_file_without_bcrypt_is_a_mistake_of_the_configuration(self):
        for line in ('alice:plain', 'alice:$apr1$x$y'):
            self.assertIn(str(self.file), str(self.assertRaises(errors.BadConfig, self.written, line)))

    def test_unknown_user_costs_what_users_of_the_file_cost(self):
        costs, real = [], bcrypt.checkpw
        self.useFixture(
            fixtures.MonkeyPatch(
                'bcrypt.checkpw', lambda password, hashed: costs.append(hashed[4:6]) or real(password, hashed)
            )
        )
        self.refused(self.written(self.line('alice', 'a', 4), self.line('bob', 'b', 4)), 'nobody', b'x')
        self.refused(self.written(self.line('alice', 'a', 5)), 'nobody', b'x')
        self.assertEqual([b'04', b'05'], costs)
