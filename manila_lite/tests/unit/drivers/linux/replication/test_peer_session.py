# SPDX-License-Identifier: Apache-2.0
import signal
import sys
import types
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.replication import peer_session
from manila_lite.host.commands import CommandFailed

#: Program in place of a peer: it answers, refuses, fails, or ends.
_PEER = """import sys
for line in sys.stdin:
    if 'end' in line:
        sys.exit('no more')
    print(line.partition('"answer": "')[2].partition('"}')[0].replace("'", '"'), flush=True)
"""


#: Peers that hang: after the request, in the middle of an answer, and before the request is read.
_HUNG = tuple(
    f'import sys, threading; {before}; threading.Event().wait()'
    for before in ('sys.stdin.readline()', "print('{', end='', flush=True)", 'pass')
)


class CommandTest(testtools.TestCase):
    def command(self, place):
        return peer_session.command(
            'there@alpha',
            types.SimpleNamespace(
                linux_peers={'there@alpha': place} if place else {},
                linux_peer_identity='/k',
                linux_peer_known_hosts='/h',
            ),
        )

    def test_local_peer_is_run_as_a_program(self):
        folder = self.useFixture(fixtures.TempDir()).path
        self.assertEqual(
            [sys.executable, '-m', 'manila_lite.drivers.linux.peer', '--config-dir', folder, 'alpha'],
            self.command(folder),
        )
        file = Path(folder, 'conf')
        self.assertEqual(['--config-file', str(file), 'alpha'], self.command(str(file))[-3:])

    def test_remote_peer_is_run_over_strict_ssh(self):
        command = self.command('ssh://bob@192.0.2.1:2200')
        self.assertEqual(['-p', '2200', '-l', 'bob', '--', '192.0.2.1', 'alpha'], command[-7:])
        for option in (
            'StrictHostKeyChecking=yes',
            'BatchMode=yes',
            'UserKnownHostsFile="/h"',
            'IdentityFile="/k"',
        ):
            self.assertIn(option, command)
        self.assertEqual(
            ['22', '-l', 'root', '--', '2001:db8::1', 'alpha'], self.command('ssh://[2001:db8::1]')[-6:]
        )

    def test_peer_without_a_valid_place_is_unknown(self):
        for place in ('', 'http://x', 'ssh://', 'relative'):
            self.assertRaises(peer_session.Unknown, self.command, place)


class SessionTest(testtools.TestCase):
    def session(self):
        return peer_session.PeerSession([sys.executable, '-c', _PEER])

    def test_answers_are_read_and_errors_raised(self):
        with self.session() as session:
            self.assertEqual({'a': 1}, session.ask('x', answer="{'a': 1}"))
            self.assertRaisesRegex(errors.Final, 'never', session.ask, 'x', answer="{'refused': 'never'}")
            self.assertRaisesRegex(CommandFailed, 'now', session.ask, 'x', answer="{'failed': 'now'}")
            session.check_ended()

    def test_ended_peer_raises_command_failed(self):
        with self.session() as session:
            self.assertRaisesRegex(CommandFailed, 'ended with 1: no more', session.ask, 'end')
        with self.session() as session:
            session.send(end='')
            self.assertRaisesRegex(CommandFailed, 'ended with 1', session.check_ended)
        with self.session() as session:
            session.kill()
            self.assertRaises(CommandFailed, session.ask, 'x')

    def test_peer_that_hangs_is_given_up_and_killed(self):
        self.useFixture(fixtures.MonkeyPatch(f'{peer_session.__name__}._PATIENCE', {'freeze': 1.0}))
        for program in _HUNG:
            with peer_session.PeerSession([sys.executable, '-c', program]) as session:
                self.assertRaisesRegex(
                    CommandFailed, 'not answer', session.ask, 'freeze', share='x' * (1 << 20)
                )
                self.assertEqual(-signal.SIGKILL, session._process.wait())

    def test_long_requests_and_answers_arrive_whole(self):
        with self.session() as session:
            self.assertEqual({'a': 'x' * 300_000}, session.ask('x', answer=f"{{'a': '{'x' * 300_000}'}}"))
