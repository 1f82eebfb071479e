# SPDX-License-Identifier: Apache-2.0
"""What winbindd knows of a name: a user, a group, nobody, or that no domain controller answers."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.protocols import membership, winbind
from manila_lite.host import commands

#: Answers as wbinfo does, of files that are named like its first word.
_WBINFO = """#!/bin/sh
printf '%s\\n' "$*" >> {home}/asked
exec /bin/sh {home}/answers/"$1" "$@"
"""
_SID = 'S-1-5-21-1-2-3-1103'


class Names(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.home = Path(self.useFixture(fixtures.TempDir()).path)
        (self.home / 'answers').mkdir()
        program = self.home / 'wbinfo'
        program.write_text(_WBINFO.format(home=self.home))
        program.chmod(0o755)
        self.useFixture(
            fixtures.MonkeyPatch(
                'manila_lite.drivers.linux.protocols.winbind.ENV', {**commands.ENV, 'PATH': str(self.home)}
            )
        )
        self.winbind = winbind.Winbind(self.home, membership.Membership(self.home, None))
        self.answer('--ping-dc', 'exit 0')

    def answer(self, word, script):
        (self.home / 'answers' / word).write_text(script)

    def test_users_and_groups_have_identifiers(self):
        for kind in ('SID_USER (1)', 'SID_DOM_GROUP (2)', 'SID_ALIAS (4)'):
            self.answer('--name-to-sid', f'echo "{_SID} {kind}"')
            self.assertEqual(_SID, self.winbind.sid('EXAMPLE', 'alice'))
        self.assertIn('--name-to-sid EXAMPLE\\alice', (self.home / 'asked').read_text())

    def test_other_accounts_are_nobody(self):
        """Check that computers, built-in groups and other domains' words give nobody access."""
        for said in (
            f'{_SID} SID_COMPUTER (9)',
            'S-1-5-32-544 SID_ALIAS (4)',
            'S-1-1-0 SID_WKN_GROUP (5)',
            f'{_SID} SID_USER (1)\n{_SID} SID_USER (1)',
            f'{_SID}, root SID_USER (1)',
            '',
        ):
            self.answer('--name-to-sid', f'echo "{said}"')
            self.assertEqual('', self.winbind.sid('EXAMPLE', 'alice'), said)

    def test_unknown_name_is_nobody_only_while_the_domain_answers(self):
        self.answer('--name-to-sid', 'exit 1')
        self.assertEqual('', self.winbind.sid('EXAMPLE', 'alice'))
        self.answer('--ping-dc', 'exit 1')
        self.assertRaises(winbind.Unreachable, self.winbind.sid, 'EXAMPLE', 'alice')

    def test_question_without_an_answer_ends(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.protocols.winbind._ASK_SECONDS', 0.1))
        self.answer('--name-to-sid', 'exec /bin/cat /dev/zero >/dev/null')
        self.assertRaises(winbind.Unreachable, self.winbind.sid, 'EXAMPLE', 'alice')
        self.answer('--ping', 'exec /bin/cat /dev/zero >/dev/null')
        self.assertFalse(self.winbind.answers())

    def test_missing_program_is_named(self):
        (self.home / 'wbinfo').unlink()
        refused = self.assertRaises(commands.CommandFailed, self.winbind.sid, 'EXAMPLE', 'alice')
        self.assertIn('wbinfo', str(refused))

    def test_daemon_that_does_not_start_ends_in_its_last_words(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.protocols.winbind._READY_SECONDS', 0))
        self.answer('--ping', 'exit 1')
        (self.home / 'winbindd.out').write_text('a first line\nit has no secrets\n')
        self.assertIn('it has no secrets', self.winbind._last_words())
        self.assertFalse(self.winbind.answers())

    def test_programs_see_the_domain_by_the_socket_of_this_server(self):
        env = self.winbind.env
        self.assertTrue(env['SELFTEST_WINBINDD_SOCKET_DIR'].startswith(str(self.home)), env)
        self.assertEqual('winbind', env['NSS_WRAPPER_MODULE_FN_PREFIX'])
        self.assertIn(f'--configfile={self.home}/smb.conf', self.winbind.words)
