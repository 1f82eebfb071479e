# SPDX-License-Identifier: Apache-2.0
"""Names in access rules become security identifiers, and keep them while the domain does not answer."""

from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.drivers.linux.protocols import domain_users, winbind

SIDS = {'alice': 'S-1-5-21-1-2-3-1103', 'Staff Engineers': 'S-1-5-21-1-2-3-1106'}


def rule(name, level='rw', kind='user'):
    return values.AccessRule(f'{name}-{level}', kind, name, level)


def unreachable(name):
    raise winbind.Unreachable


class Blocks(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.file = Path(self.useFixture(fixtures.TempDir()).path, 'private', 'names.json')
        self.users = domain_users.DomainUsers(self.file)

    def blocks(self, *rules, find=lambda name: SIDS.get(name, '')):
        blocks, results = self.users.blocks(rules, 'AD.EXAMPLE.ORG', find)
        return [block.text for block in blocks], [results[each.id].error for each in rules]

    def test_users_and_groups_are_identifiers_and_ro_wins(self):
        self.assertEqual(
            (['ro S-1-5-21-1-2-3-1103', 'rw S-1-5-21-1-2-3-1106'], [None, None, None]),
            self.blocks(rule('alice'), rule('alice', 'ro'), rule('Staff Engineers')),
        )

    def test_unknown_name_and_unsupported_type_are_errors(self):
        texts, errors = self.blocks(rule('nobody-there'), rule('10.0.0.1', kind='ip'), rule('alice'))
        self.assertEqual(['rw S-1-5-21-1-2-3-1103'], texts)
        self.assertEqual('the domain ad.example.org has no user or group nobody-there', errors[0])
        self.assertIn('type user only', errors[1])

    def test_known_names_stay_open_while_the_domain_does_not_answer(self):
        self.blocks(rule('alice'))
        self.users = domain_users.DomainUsers(self.file)
        texts, errors = self.blocks(rule('Alice'), rule('carol'), find=unreachable)
        self.assertEqual((['rw S-1-5-21-1-2-3-1103'], None), (texts, errors[0]))
        self.assertIn('create the rule again later', errors[1])

    def test_a_domain_that_does_not_answer_is_asked_once_for_many_rules(self):
        asked = []

        def find(name):
            asked.append(name)
            raise winbind.Unreachable

        self.blocks(*(rule(f'user-{number}') for number in range(9)), find=find)
        self.blocks(rule('alice'), find=find)
        self.assertEqual(1, len(asked))

    def test_a_deleted_user_who_was_known_loses_the_identifier(self):
        self.blocks(rule('alice'))
        self.assertEqual([], self.blocks(rule('alice'), find=lambda name: '')[0])
        self.assertEqual([], self.blocks(rule('alice'), find=unreachable)[0])
