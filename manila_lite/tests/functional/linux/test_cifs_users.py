# SPDX-License-Identifier: Apache-2.0
"""Users of CIFS servers: the operator's list, its command, and the servers' use of it."""

import stat
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.protocols import samba_users, user_list
from manila_lite.tests import smb_client, waiting
from manila_lite.tests.functional.linux import cifs_base


@cifs_base.needs_samba
class UserList(testtools.TestCase):
    """The operator's command that edits the list."""

    def setUp(self):
        super().setUp()
        self.file = Path(self.useFixture(fixtures.TempDir()).path, 'users')

    def run_it(self, *words, said=''):
        """Run the command; return its exit status and its error output."""
        done = subprocess.run(
            [sys.executable, '-m', user_list.__name__, *words],
            input=said,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        return done.returncode, done.stderr

    def test_users_are_added_changed_and_deleted(self):
        for name, password in (('alice', 'one'), ('bobby', 'two'), ('Alice', 'three')):
            self.assertEqual((0, ''), self.run_it(str(self.file), name, said=f'{password}\n'))
        self.assertEqual(['bobby', 'Alice'], [user.name for user in samba_users.read(self.file.read_text())])
        self.assertEqual(0o600, stat.S_IMODE(self.file.stat().st_mode))
        self.file.write_text(self.file.read_text().rstrip())  # an editor may remove the last line end
        self.assertEqual((0, ''), self.run_it(str(self.file), 'carol', said='four\n'))
        self.assertEqual((0, ''), self.run_it('--delete', str(self.file), 'alice'))
        self.assertIn('not in', self.run_it('--delete', str(self.file), 'alice')[1])
        for name in ('a b:c', 'S-1-1-0', 'None', 'root'):
            self.assertIn('not a valid user name', self.run_it(str(self.file), name, said='x\n')[1])
        self.assertEqual(['bobby', 'carol'], [user.name for user in samba_users.read(self.file.read_text())])

    def test_passwords_of_1_to_254_bytes_are_kept_whole_and_others_refused(self):
        for password in ('', '\n', 'x' * 255 + '\n', 'x' * 5000 + '\n', 'a\0b\n', 'a\tb\n'):
            status, said = self.run_it(str(self.file), 'alice', said=password)
            self.assertEqual((1, True), (status, '1 to 254 bytes' in said), said)
        self.assertFalse(self.file.exists())
        hashes = set()
        for password in (' ', 'x' * 253, 'x' * 254, 'pässwörd€', '%s:"\\', 'one'):
            self.assertEqual((0, ''), self.run_it(str(self.file), 'alice', said=f'{password}\n'))
            hashes.add(next(samba_users.read(self.file.read_text())).rest.split(':')[1])
        self.assertEqual(6, len(hashes))
        self.assertEqual((0, ''), self.run_it(str(self.file), 'alice', said='one\r\n'))
        self.assertIn(next(samba_users.read(self.file.read_text())).rest.split(':')[1], hashes)


@cifs_base.needs_samba
class Users(cifs_base.Plain):
    """The users that a server knows."""

    def test_server_follows_changes_of_the_user_list(self):
        share, rule = self.cifs(), ('daisy', 'rw')
        before = self.driver.fingerprint()
        self.allow(share, rule)
        self.denied(share, 'daisy', why='NT_STATUS_LOGON_FAILURE', password='first')
        self.know('daisy', 'first')
        self.assertNotEqual(before, self.driver.fingerprint())
        self.assertIsNone(self.ensured(share, rule).rules['r0'].error)
        self.writes(share, 'daisy', password='first')
        self.know('daisy', 'second')
        self.ensured(share, rule)
        self.denied(share, 'daisy', why='NT_STATUS_LOGON_FAILURE', password='first')
        self.reads(share, 'daisy', password='second')
        client = self.session(share, 'daisy', 'second')
        user_list.put(self.users, 'daisy', '')
        self.assertIsNone(self.ensured(share, rule).rules['r0'].error)
        self.denied(share, 'daisy', why='NT_STATUS_LOGON_FAILURE', password='second')
        worked, said = client.call('get f there')
        self.assertFalse(worked, said)

    def test_open_session_keeps_its_user_when_the_list_changes(self):
        mine, theirs = self.cifs(), self.cifs()
        for name in ('alice', 'bobby', 'carol'):
            self.know(name, name)
        self.allow(mine, ('bobby', 'rw'))
        self.allow(theirs, ('carol', 'rw'))
        self.writes(theirs, 'carol')
        client = self.session(mine, 'bobby')
        self.know('alice', 'alice')  # alice moves from the first place of the list to the last
        self.driver.report()
        worked, said = client.call(f'tcon {theirs.id}')
        self.assertIn('NT_STATUS_ACCESS_DENIED', said)
        worked, said = client.call(f'tcon {mine.id}')
        self.assertTrue(worked, said)
        worked, said = client.call('put local f', 'x')
        self.assertTrue(worked, said)

    def test_known_users_keep_access_when_the_list_is_lost(self):
        share, rule = self.cifs(), ('alice', 'rw')
        self.allow(share, rule)
        self.users.rename(self.users.with_name('elsewhere'))
        self.addCleanup(self.know, 'bobby', 'bobby')
        self.addCleanup(self.users.with_name('elsewhere').replace, self.users)
        self.driver.report()
        self.assertIsNone(self.ensured(share, rule).rules['r0'].error)
        self.writes(share, 'alice')
        self.allow(share, ('bobby', 'rw'))
        self.denied(share, 'alice')

    def test_users_cannot_list_other_users_or_shares(self):
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        path = share.export_locations[0].path
        for command in ('enumdomusers', 'lookupnames bobby', 'netshareenumall'):
            worked, said = smb_client.ask(self.client, path, 'alice', 'alice', command)
            self.assertFalse(worked, said)
            self.assertNotIn('S-1-', said)
        self.writes(share, 'alice')
