# SPDX-License-Identifier: Apache-2.0
"""A membership is noted before the domain is told, repeated as the same computer, and kept until it has ended."""

import json
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.protocols import active_directory, domain_net, membership

OWNER = '6f2a0c9e-0000-4000-8000-000000000001'
DOMAIN = active_directory.Domain(
    'AD.EXAMPLE.ORG', ('10.0.0.2', '10.0.0.3'), '', 'servers/files', 'admin', 'secret', 'Change the options'
)
FOUND = (True, 'Pre-Win2k Domain: EXAMPLE')


class Net:
    """Stand in for Samba's program: it answers as told, and remembers what it was asked and what was noted then."""

    def __init__(self, file):
        self._file = file
        self.asked = []
        self.noted = []
        self.answers = {'lookup': FOUND}

    def run(self, words, password=''):
        self.asked.append((words[1:], password))
        self.noted.append(json.loads(self._file.read_text())['joined'] if self._file.exists() else None)
        return self.answers.get(words[1], (True, ''))

    def verbs(self):
        """Return what it was asked since the last time."""
        asked, self.asked = [words[0] for words, _ in self.asked], []
        return asked


class Members(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path, 'state')
        self.log = self.useFixture(fixtures.FakeLogger())
        self.membership = membership.Membership(self.state, None)
        self.net = self.membership._net = Net(self.state / 'domain.json')

    def joined(self):
        """Join, as Samba's program leaves it."""
        self.assertTrue(self.membership.join(OWNER, DOMAIN))
        (self.state / 'private' / 'secrets.tdb').touch()
        self.net.verbs()

    def refused(self, domain=DOMAIN):
        return str(self.assertRaises(errors.Final, self.membership.join, OWNER, domain))

    def test_note_is_there_before_the_domain_is_told_and_a_member_asks_nothing(self):
        self.assertIsNone(self.membership.member)
        self.assertTrue(self.membership.join(OWNER, DOMAIN))
        self.assertEqual([None, False, False], self.net.noted)
        self.assertEqual(['lookup', 'join', 'dns'], self.net.verbs())
        member = self.membership.member
        self.assertEqual(('ML6F2A0C9E00004', 'EXAMPLE'), (member.computer, member.workgroup))
        (self.state / 'private' / 'secrets.tdb').touch()
        self.assertFalse(self.membership.join(OWNER, DOMAIN))
        self.assertEqual([], self.net.verbs())

    def test_password_is_for_changes_only_and_the_unit_is_named(self):
        self.membership.join(OWNER, DOMAIN)
        self.assertEqual(
            [
                (['lookup'], ''),
                (['join', '--no-dns-updates', '--user=admin', 'createcomputer=servers/files'], 'secret'),
                (['dns', 'register', 'ml6f2a0c9e00004.ad.example.org', '--machine-pass'], ''),
            ],
            self.net.asked,
        )
        self.assertFalse(
            [file for file in self.state.rglob('*') if file.is_file() and 'secret' in file.read_text()]
        )

    def test_names_are_asked_of_the_servers_of_the_domain(self):
        self.joined()
        etc = self.state / 'etc'
        self.assertIn('nameserver 10.0.0.2\nnameserver 10.0.0.3\n', (etc / 'resolv.conf').read_text())
        self.assertIn('.ad.example.org', (etc / 'hosts').read_text())
        self.assertEqual(['net', 'x'], self.membership.inside('net', 'x')[-2:])
        apart = membership.Membership(self.state, 'blue').inside('net')
        self.assertEqual(['nsenter', '--net=/run/netns/blue'], apart[:2])

    def test_lost_secrets_and_other_controllers_join_again_as_the_same_computer(self):
        self.joined()
        before = self.membership.member.computer
        (self.state / 'private' / 'secrets.tdb').unlink()
        self.assertTrue(self.membership.join(OWNER, DOMAIN))
        (self.state / 'private' / 'secrets.tdb').touch()
        changed = active_directory.Domain(
            DOMAIN.realm, ('10.0.0.9',), 'dc1.ad.example.org', '', 'admin', 'secret', ''
        )
        self.assertTrue(self.membership.join('another owner', changed))
        self.assertEqual(before, self.membership.member.computer)
        self.assertIn((['lookup', '--server=dc1.ad.example.org'], ''), self.net.asked)

    def test_refusal_leaves_no_note_unless_an_earlier_try_may_have_worked(self):
        self.net.answers['join'] = (False, 'Failed to join domain: Logon failure')
        self.assertIn('refuses the user or the password. Change the options', self.refused())
        self.assertIsNone(self.membership.noted)
        self.net.answers['join'] = (False, domain_net.LATE)
        self.refused()
        self.assertFalse(self.membership.noted.joined)
        self.net.answers['join'] = (False, 'Failed to join domain: Logon failure')
        self.refused()
        self.assertIsNotNone(self.membership.noted)
        self.assertIsNone(self.membership.member)

    def test_name_that_dns_does_not_take_is_told_and_no_reason_to_fail(self):
        self.net.answers['dns'] = (False, domain_net.LATE)
        self.assertTrue(self.membership.join(OWNER, DOMAIN))
        self.assertIsNotNone(self.membership.member)
        self.assertIn('does not take the name ml6f2a0c9e00004.ad.example.org', self.log.output)

    def test_domain_that_is_away_is_told_nothing(self):
        self.net.answers['lookup'] = (False, "Didn't find the cldap server!")
        said = self.refused()
        self.assertIn('No domain controller of ad.example.org answers.', said)
        self.assertIn('10.0.0.2, 10.0.0.3', said)
        self.assertEqual(['lookup'], self.net.verbs())
        self.assertIsNone(self.membership.noted)

    def test_another_domain_gets_a_computer_of_its_own_and_the_log_names_the_former(self):
        self.joined()
        other = active_directory.Domain('B.EXAMPLE', ('10.1.0.2',), '', '', 'admin', 'secret', '')
        self.assertTrue(self.membership.join(OWNER, other))
        self.assertEqual('B.EXAMPLE', self.membership.member.realm)
        self.assertIn('may still be in the domain AD.EXAMPLE.ORG. Delete it there', self.log.output)

    def test_leaving_deletes_the_account_and_then_the_note(self):
        self.joined()
        self.net.noted.clear()
        self.membership.leave(OWNER, DOMAIN)
        self.assertEqual(['dns', 'leave'], self.net.verbs())
        self.assertEqual([True, True], self.net.noted)
        self.assertIsNone(self.membership.noted)
        self.membership.leave(OWNER, DOMAIN)
        self.assertEqual([], self.net.verbs())

    def test_leaving_ends_without_the_domain_and_says_what_is_left(self):
        for domain, answer, why in (
            (None, (True, ''), 'nothing has the password for that any more'),
            (DOMAIN, (False, 'no answer'), 'no answer'),
        ):
            self.joined()
            self.net.answers['leave'] = answer
            self.membership.leave(OWNER, domain)
            self.assertIn(f'Delete it there. Its deletion failed: {why}', self.log.output)
            self.assertIsNone(self.membership.noted)

    def test_note_has_what_is_needed_to_leave_and_no_password(self):
        self.joined()
        noted = self.membership.noted
        self.assertTrue(noted.is_of(noted.domain('admin', 'secret')))
        self.assertIsNone(noted.domain('admin', None))
