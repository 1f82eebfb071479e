# SPDX-License-Identifier: Apache-2.0
"""Files of an smbd: when it reads them, and which settings are known to be in force."""

from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.protocols import samba_shares
from manila_lite.host.commands import CommandFailed

PLACE = Path('/mnt/one')


def deaf(_):
    raise CommandFailed('it does not hear')


class Shares(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.reloads = []
        self.shares = self.make(self.reloads.append)

    def make(self, tell):
        return samba_shares.SmbShares(self.state, lambda: '[global]\n', tell)

    def defects(self, *clients, name='one', path=PLACE):
        return self.shares.defects(name, path, clients, self.shares.inspect([name])[name])

    def test_put_share_is_in_force_and_smbd_is_told_once(self):
        for _ in range(2):
            self.shares.put('one', PLACE, ['rw alice'])
        self.assertEqual([{('one', False)}], self.reloads)
        self.assertEqual([], self.defects('rw alice'))
        self.assertIn('Other access rules', ' '.join(self.defects('ro alice')))
        self.assertIn('not exported', ' '.join(self.defects('rw alice', path=Path('/mnt/two'))))
        self.assertEqual(['one'], self.shares.served())

    def test_share_is_not_in_force_when_smbd_was_not_told(self):
        self.shares.put('one', PLACE, ['rw alice'])
        self.assertRaises(CommandFailed, self.make(deaf).put, 'one', PLACE, [])
        self.assertIn('not exported', ' '.join(self.defects()))
        self.shares.put('one', PLACE, [])
        self.assertEqual([], self.defects())
        self.assertEqual(2, len(self.reloads))

    def test_sessions_that_a_failed_call_left_are_closed_by_the_next_of_any_share(self):
        for name in ('one', 'two', 'three'):
            self.shares.put(name, PLACE, ['rw alice'])
        broken = self.make(deaf)
        self.assertRaises(CommandFailed, broken.put, 'one', PLACE, [])
        self.assertRaises(CommandFailed, broken.withdraw, 'two')
        self.reloads.clear()
        self.shares.put('three', PLACE, [])
        self.assertEqual([{('one', False), ('two', True), ('three', False)}], self.reloads)
        self.shares.put('one', PLACE, [])
        self.assertEqual(1, len(self.reloads))

    def test_sessions_are_closed_also_if_a_call_was_killed_before_smbd_was_to_read(self):
        for name in ('one', 'two', 'three'):
            self.shares.put(name, PLACE, ['rw alice'])
        file = self.state / 'exports.d' / 'one.conf'
        file.write_text(file.read_text().replace('alice', 'bob'))
        self.shares.suspend('two')
        self.reloads.clear()
        self.shares.put('three', PLACE, [])
        self.assertEqual([{('one', False), ('two', True), ('three', False)}], self.reloads)

    def test_changed_or_missing_files_are_reported_as_defects(self):
        self.shares.put('one', PLACE, ['ro alice'])
        conf, file = self.state / 'smb.conf', self.state / 'exports.d' / 'one.conf'
        conf.write_text(conf.read_text().replace('read list = alice', 'read list ='))
        self.assertIn('not exported', ' '.join(self.defects('ro alice')))
        self.shares.put('one', PLACE, ['ro alice'])
        file.write_text(file.read_text().replace('alice', 'eve'))
        self.assertIn('was another', ' '.join(self.defects('ro alice')))
        file.unlink()
        self.assertIn('was missing', ' '.join(self.defects('ro alice')))

    def test_withdrawn_share_keeps_its_clients_until_it_is_forgotten(self):
        self.shares.put('one', PLACE, ['rw alice', 'ro bob'], 'Team')
        self.shares.withdraw('one')
        self.assertEqual({('Team', True)}, self.reloads[-1])
        self.assertEqual([], self.shares.served())
        self.assertEqual(['rw alice', 'ro bob'], self.shares.clients_of('one'))
        self.shares.put('one', PLACE, self.shares.clients_of('one'))
        self.assertIn('[Team]', (self.state / 'smb.conf').read_text())
        for _ in range(2):
            self.shares.forget('one')
            self.assertEqual([], list(self.state.rglob('one*')))
        self.assertEqual('[global]\n', (self.state / 'smb.conf').read_text())

    def test_names_that_differ_only_in_case_are_refused(self):
        self.shares.put('one', PLACE, [], 'Team')
        self.shares.put('one', PLACE, [])
        self.assertRaises(errors.Final, self.shares.put, 'two', PLACE, [], 'team')
        self.assertRaises(errors.Final, self.shares.put, 'two', PLACE, [], 'global')
        self.assertEqual(['one'], self.shares.served())

    def test_incomplete_files_are_deleted_on_load(self):
        self.shares.put('one', PLACE, ['rw alice'])
        for name in ('two.conf', 'one.conf.new'):
            (self.state / 'exports.d' / name).write_text('# share o')
        self.shares.load()
        self.assertEqual(['one.conf'], [file.name for file in (self.state / 'exports.d').iterdir()])
