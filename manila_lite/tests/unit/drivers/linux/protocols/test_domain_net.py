# SPDX-License-Identifier: Apache-2.0
"""One program at a time looks at a domain or changes it, and gets the password through memory."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.protocols import domain_net
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting

#: Prints its words and what it is given to read, as Samba's programs read it.
_SAYS = 'import os, sys; print(sys.argv[1:], open(os.environ["PASSWD_FILE"]).read() if "PASSWD_FILE" in os.environ else "")'


class Program(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.lock = Path(self.useFixture(fixtures.TempDir()).path, 'domain.lock')

    def net(self, program):
        return domain_net.Net([sys.executable, '-c', program], self.lock)

    def patch(self, name, value):
        self.useFixture(fixtures.MonkeyPatch(f'manila_lite.drivers.linux.protocols.domain_net.{name}', value))

    def test_password_is_read_from_memory_and_is_no_word(self):
        self.assertEqual(
            (True, "['ads', 'join'] let me in"), self.net(_SAYS).run(['ads', 'join'], 'let me in')
        )
        self.assertEqual((True, "['ads', 'lookup']"), self.net(_SAYS).run(['ads', 'lookup']))

    def test_failure_has_the_words_of_both_outputs(self):
        said = self.net('import sys; print("one", flush=True); sys.exit("two")').run([])
        self.assertEqual((False, 'one\ntwo'), said)

    def test_program_that_does_not_end_is_ended(self):
        self.patch('_FIND_SECONDS', 0.1)
        self.assertEqual((False, domain_net.LATE), self.net('import signal; signal.pause()').run([]))
        self.assertTrue(self.net('').run([], 'a change has more time')[0])

    def test_program_that_is_missing_is_named(self):
        missing = domain_net.Net(['/nowhere/net'], self.lock)
        self.assertIn('/nowhere/net', str(self.assertRaises(CommandFailed, missing.run, [])))

    def test_program_that_outlives_its_share_manager_keeps_others_out_until_it_ends(self):
        with self.lock.open('a') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            left = subprocess.Popen(['cat'], stdin=subprocess.PIPE, pass_fds=(lock.fileno(),))
        self.addCleanup(left.wait, waiting.LIMIT)
        self.addCleanup(left.stdin.close)
        self.patch('_CHANGE_SECONDS', 0)
        refused = self.assertRaises(CommandFailed, self.net('').run, [])
        self.assertIn(f'fuser {self.lock}', str(refused))
        left.stdin.close()
        left.wait(waiting.LIMIT)
        self.assertTrue(self.net('').run([])[0])

    def test_program_inherits_the_lock(self):
        self.assertIn(
            os.fspath(self.lock), self.net('import os; os.system("ls -l /proc/$PPID/fd")').run([])[1]
        )
