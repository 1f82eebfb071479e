# SPDX-License-Identifier: Apache-2.0
"""The list of users is read with care, and rules name users of the list."""

import stat
from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.drivers.linux.protocols import samba_users

REST = f'{"X" * 32}:{"0A" * 16}:[U          ]:LCT-6B02628D:'


def rules(*rows):
    return [values.AccessRule(str(number), *row) for number, row in enumerate(rows)]


class Lists(testtools.TestCase):
    def test_malformed_and_reserved_users_are_ignored(self):
        text = '\n'.join(
            (
                f'alice:70000:{REST}',
                '# a comment',
                '',
                f'Alice:1:{REST}',
                f'root:0:{REST}',
                f'nobody:1:{REST}',
                f'None:1:{REST}',
                f'"x y":1:{REST}',
                f'@wheel:1:{REST}',
                f'b%u:1:{REST}',
                f'S-1-1-0:1:{REST}',
                f's-1-5-11:1:{REST}',
                'short:1:2',
                'none:1:zz:',
                f'bob:x:{REST}',
            )
        )
        self.assertEqual(
            [samba_users.User('alice', REST), samba_users.User('bob', REST)], list(samba_users.read(text))
        )

    def test_private_copy_follows_the_list_of_users(self):
        root = Path(self.useFixture(fixtures.TempDir()).path)
        users = samba_users.Users(str(root / 'users'), root / 'private')
        users.copy()
        copy, passwd = root / 'private' / 'smbpasswd', root / 'private' / 'passwd'
        self.assertEqual('', copy.read_text())
        (root / 'users').write_text(f'alice:0:{REST}\nbob:0:{REST}\n')
        users.copy()
        numbers = samba_users.uids(['alice', 'bob'])
        self.assertEqual(
            [f'{name}:{number}:{REST}' for name, number in numbers.items()], copy.read_text().splitlines()
        )
        self.assertIn(f'bob:x:{numbers["bob"]}:', passwd.read_text())
        for place, mode in ((copy, 0o600), (passwd, 0o600), (copy.parent, 0o700)):
            self.assertEqual(mode, stat.S_IMODE(place.stat().st_mode))
        before = copy.stat()
        users.copy()
        self.assertEqual(before, copy.stat())
        (root / 'users').write_text('')
        users.copy()
        self.assertEqual('', copy.read_text())

    def test_lost_list_keeps_the_known_users(self):
        root = Path(self.useFixture(fixtures.TempDir()).path)
        (root / 'users').write_text(f'alice:0:{REST}\n')
        samba_users.Users(str(root / 'users'), root / 'private').copy()
        before = (root / 'private' / 'smbpasswd').read_text()
        (root / 'users').unlink()
        users = samba_users.Users(str(root / 'users'), root / 'private')
        users.copy()
        self.assertEqual(before, (root / 'private' / 'smbpasswd').read_text())
        expressed, _ = users.blocks(rules(('user', 'alice', 'rw'), ('user', 'bob', 'rw')))
        self.assertEqual(['rw alice', 'rw root'], [block.text for block in expressed])

    def test_uid_of_a_user_does_not_depend_on_other_users(self):
        names = [f'user{number}' for number in range(500)]
        numbers = samba_users.uids(names)
        self.assertEqual(500, len(set(numbers.values())))
        self.assertEqual({name: numbers[name] for name in names[7:]}, samba_users.uids(names[7:]))
        self.assertEqual({'USER7': numbers['user7']}, samba_users.uids(['USER7']))
        self.assertGreater((1 << 31) - 1000, max(numbers.values()))

    def test_rules_open_nothing_without_a_list(self):
        users = samba_users.Users(None, Path('/nowhere'))
        expressed, results = users.blocks(rules(('user', 'alice', 'rw')))
        self.assertEqual((['rw root'], None), ([block.text for block in expressed], results['0'].error))


class Rules(testtools.TestCase):
    KNOWN = {'alice': 'Alice', 'bob': 'bob'}

    def blocks(self, *rows):
        expressed, results = samba_users.blocks(rules(*rows), self.KNOWN)
        return [(block.rule_id, block.text) for block in expressed], {
            rule_id: result.error for rule_id, result in results.items()
        }

    def test_users_are_matched_regardless_of_case(self):
        self.assertEqual(
            ([('0', 'rw Alice'), ('1', 'ro bob')], {'0': None, '1': None}),
            self.blocks(('user', 'ALICE', 'rw'), ('user', 'bob', 'ro')),
        )

    def test_read_only_rule_overrides_a_read_write_rule_of_the_same_user(self):
        self.assertEqual(
            ([('1', 'ro Alice')], {'0': None, '1': None}),
            self.blocks(('user', 'Alice', 'rw'), ('user', 'alice', 'ro')),
        )

    def test_rules_of_other_types_and_levels_are_refused_with_a_reason(self):
        expressed, errors = self.blocks(('ip', '10.0.0.1', 'rw'), ('user', 'alice', 'admin'))
        self.assertEqual([], expressed)
        for rule_id, word in (('0', 'type user only, not ip'), ('1', 'not admin')):
            self.assertIn(word, errors[rule_id])

    def test_names_that_no_user_can_have_are_refused_whoever_is_known(self):
        for name in ('S-1-1-0', 'root', 'Nobody', 'none', 'a b', 'größe', 'x' * 64, '@group', '+unix'):
            for known in ({}, {name.casefold(): name}):
                expressed, results = samba_users.blocks(rules(('user', name, 'rw')), known)
                self.assertEqual([], expressed, name)
                self.assertIn('no user can have the name', results['0'].error)

    def test_rule_for_an_unknown_user_is_for_nobody_and_no_error(self):
        self.assertEqual(
            ([('0', 'rw Alice'), ('1', 'rw root')], {'0': None, '1': None}),
            self.blocks(('user', 'alice', 'rw'), ('user', 'eve', 'rw')),
        )
