# SPDX-License-Identifier: Apache-2.0
"""A share server moves between linux backends that know nothing of each other: the host of the destination copies it."""

import os
from pathlib import Path

from manila_lite.tests.functional.linux import (
    base,
    filled,
    moving_writer,
    server_base,
    test_share_server_migration,
)

READY, COPYING = 'data_copying_completed', 'data_copying_in_progress'
_OLD, _NEW = (server_base.address('four', host) for host in (5, 6))
#: The kernel here may have no NFS client, so the host copies in the directories that it serves.
_LOCAL = f"""[DEFAULT]
data_node_access_ips = 10.66.1.99
data_node_local_exports = {_OLD}:/shares={{state}}/lib/alpha/pool/shares, {_NEW}:/shares={{state}}/lib/beta/pool/shares, \
{_OLD}:/shares={{state}}/lib/alpha/pool/snapshots
"""


class HostAssistedServers(filled.Filled, test_share_server_migration.MigrationTest):
    """Helpers to move a share server with two shares from ``alpha`` to ``beta``."""

    CONFIG = (
        '\n'.join(
            line
            for line in test_share_server_migration.MigrationTest.CONFIG.splitlines()
            if not line.startswith('linux_peers')
        )
        + '\n'
        + _LOCAL
    )
    # These tests are about drivers that migrate.
    test_files_rules_and_writes_survive_a_server_migration = (
        test_cancelled_migration_leaves_nothing_at_the_destination
    ) = None

    @property
    def state(self):
        return self.machine.state

    def config(self, *lines):
        """Add lines to the configuration, and start the service again."""
        self.lite.kill()
        with self.lite.config.open('a') as config:
            config.write('\n'.join(('', *lines, '')))
        self.lite.start()

    def again(self):
        """Kill the service and start it again."""
        self.lite.kill()
        self.lite.start()

    def granted(self):
        """Let a client write to each share. Return the directories of their exports."""
        self.clients('four')
        for share in self.shares:
            self.grant(share, server_base.address('four', 101))
        return [self.locations(share)[0][0].partition(':')[2] for share in self.shares]

    def begin(self, **more):
        """Start the migration; return the id of the target."""
        self.start(**{'writable': False, 'force_host_assisted_migration': True, **more})
        target = self.progress()['destination_share_server_id']
        self.machine.spaces.append(f'manila-{target}')
        return target

    def progress(self):
        return self.act('migration_get_progress')

    def fails(self):
        """Wait until the migration has failed."""
        self.until(
            lambda: (
                self.lite.ok('GET', f'/share-servers/{self.server}')['share_server']['task_state']
                == 'migration_error'
            ),
            'the migration fails',
        )

    def messages(self):
        found = self.lite.ok('GET', f'/messages?resource_id={self.server}')['messages']
        return ' '.join(row['user_message'] for row in found)

    def has_moved(self, target):
        """Check that everything is at ``beta``, at the same addresses, and nothing of the migration anywhere."""
        self.cut_over_ends()
        for share in self.shares:
            found = self.lite.ok('GET', f'/shares/{share}')['share']
            self.assertEqual(('beta', target), (self.host(share), found['share_server_id']))
            self.assertTrue(self.locations(share)[0][0].startswith(f'{_OLD}:'), self.locations(share))
            self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.assertEqual([], self.left('alpha'))
        self.nothing_is_mounted()

    def cut_over_ends(self):
        for share in self.shares:
            self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.lite.wait(f'/share-servers/{self.server}', 'share_server', 'gone')

    def has_stayed(self, directories):
        """Check that everything is as it was, and that clients can write."""
        for share in self.shares:
            self.lite.wait(f'/shares/{share}', 'share', 'available')
            self.assertEqual('alpha', self.host(share))
            self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.until(lambda: not self.left('beta'), 'nothing is left at the destination')
        self.until(
            lambda: [_OLD, server_base.address('six', 5)] == self.addresses(), 'the addresses are given back'
        )
        for directory in directories:
            self.until(
                lambda where=directory: self.nfs(
                    'friend-four', _OLD, where, 'write', 'after', 'the migration'
                )[0],
                'a client can write',
            )
        self.nothing_is_mounted()

    def nothing_is_mounted(self):
        self.until(
            lambda: f'{self.state}/lib/beta/moves' not in Path('/proc/mounts').read_text(),
            'nothing is mounted',
        )
        self.assertEqual([], list((self.state / 'lib/beta/moves').glob('*')))


class Moved(HostAssistedServers):
    def test_a_share_server_moves_with_all_kinds_of_files_and_its_rules(self):
        directories = self.granted()
        copies = {share: self.fill(self.place('alpha', share)) for share in self.shares}
        target = self.begin()
        self.task_is(READY)
        told = self.progress()
        self.assertEqual((100, 1, 1), (told['total_progress'], told['phase'], told['passes']))
        self.assertEqual(told['files_total'], told['files_done'])
        self.assertEqual(told['bytes_total'], told['bytes_done'])
        self.assertGreater(told['bytes_total'], 6_000_000)
        self.assertEqual('before', self.works('friend-four', _OLD, directories[0], 'read', 'same'))
        self.refused('ROFS', 'friend-four', _OLD, directories[0], 'write', 'f', 'too late')
        self.act('migration_complete')
        self.has_moved(target)
        for share, directory in zip(self.shares, directories, strict=True):
            self.assert_as(copies[share], self.place('beta', share))
            self.assertEqual('before', self.works('friend-four', _OLD, directory, 'read', 'same'))
            self.works('friend-four', _OLD, directory, 'write', 'f', 'at home again')
            self.refused('NOENT', 'stranger-four', _OLD, directory, 'list')
        self.assertFalse(
            self.nfs('friend-four', _NEW, directories[0], 'list')[0], 'the other addresses are free'
        )

    def test_acknowledged_writes_of_a_client_survive(self):
        self.config('[beta]', 'migration_keep_writable = true')
        directories = self.granted()
        (self.place('alpha', self.shares[1]) / 'big').write_bytes(os.urandom(20 << 20))
        writer = moving_writer.Writer(_OLD, directories[0], self.machine.space('friend-four'), pause=0.01)
        self.addCleanup(writer.end)
        writer.goes_on()
        target = self.begin(writable=True)
        writer.goes_on()
        self.task_is(READY)
        writer.goes_on(50)
        self.act('migration_complete')
        self.cut_over_ends()
        writer.end()
        there = {path.name: path.read_text() for path in self.place('beta', self.shares[0]).iterdir()}
        self.assertGreater(len(writer.acknowledged), 60)
        self.assertEqual(
            {}, {name: there.get(name) for name in writer.acknowledged if there.get(name) != name}
        )
        self.has_moved(target)

    def test_snapshots_go_along_with_their_content(self):
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'mountable',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                    },
                }
            },
        )
        share, server = self.share(
            self.shared, share_type='mountable', scheduler_hints={'only_host': 'test@alpha#pool'}
        )
        self.assertEqual(self.server, server)
        self.shares.append(share)
        self.granted()
        taken = {}
        for text in ('first', 'second one'):
            (self.place('alpha', share) / 'f').write_text(text)
            snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
            self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
            taken[snapshot] = text
        (self.place('alpha', share) / 'f').write_text('at the end of all')
        target = self.begin()
        self.task_is(READY)
        self.act('migration_complete')
        self.has_moved(target)
        self.assertEqual('at the end of all', (self.place('beta', share) / 'f').read_text())
        for snapshot, text in taken.items():
            self.assertEqual(text, (self.pool('beta') / 'snapshots' / snapshot / 'f').read_text())
            self.assertEqual('available', self.lite.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])


class Slow(HostAssistedServers):
    """A copy that takes seconds, with something done to it meanwhile."""

    CONFIG = HostAssistedServers.CONFIG + 'data_copy_bandwidth_limit = 2\n'

    def copying(self, **more):
        """Begin to move shares with big files; return the target, and the directories of the exports."""
        directories = self.granted()
        for share in self.shares:
            (self.place('alpha', share) / 'small').write_text('small')
            (self.place('alpha', share) / 'big').write_bytes(os.urandom(12 << 20))
        target = self.begin(**more)
        self.task_is(COPYING)
        self.until(lambda: self.progress()['total_progress'] > 0, 'it copies')
        return target, directories

    def test_cancelled_migration_leaves_the_source_writable(self):
        _, directories = self.copying()
        told = self.progress()
        self.assertGreater(told['bytes_total'], told['bytes_done'])
        self.assertIsNotNone(told['seconds_left'])
        self.act('migration_cancel')
        self.has_stayed(directories)

    def test_killed_service_goes_on_with_the_copy(self):
        target, _ = self.copying()
        self.again()
        self.task_is(READY)
        self.again()
        for share in self.shares:
            (self.place('alpha', share) / 'more').write_bytes(os.urandom(8 << 20))
        self.act('migration_complete')
        self.until(
            lambda: list((self.pool('beta') / 'shares').glob('*/.more.*')), 'the last changes are copied'
        )
        self.again()
        self.has_moved(target)
        for share in self.shares:
            self.assertEqual(
                {'big': 12 << 20, 'small': 5, 'more': 8 << 20},
                {path.name: path.stat().st_size for path in self.place('beta', share).iterdir()},
            )

    def test_service_killed_during_the_cancellation_ends_it(self):
        _, directories = self.copying()
        self.act('migration_cancel')
        self.again()
        self.has_stayed(directories)

    def test_full_destination_is_told_and_the_source_stays(self):
        _, directories = self.copying()
        filler = self.pool('beta') / 'filler'
        filled.fill_up(filler)
        self.addCleanup(filler.unlink)
        self.fails()
        self.assertRegex(
            self.messages(),
            r'Share [0-9a-f-]{36}: There is not .* the destination is full. Not copied: big \(',
        )
        filler.write_text('')
        self.has_stayed(directories)

    def test_files_that_cannot_be_copied_are_told_and_the_source_stays(self):
        _, directories = self.copying()
        self.task_is(READY)
        last = self.place('beta', self.shares[1]) / 'small'
        base.command('chattr', '+i', str(last))
        self.addCleanup(self.thaw, last)
        (self.place('alpha', self.shares[1]) / 'small').write_text('changed at the source')
        self.act('migration_complete')
        self.fails()
        self.assertIn(f'Share {self.shares[1]}: ', self.messages())
        self.assertIn('Not copied: small (Operation not permitted)', self.messages())
        self.thaw(last)
        # The backend tries once more to delete what it could not.
        self.has_stayed(directories)

    def thaw(self, path):
        if path.exists():
            base.command('chattr', '-i', str(path))
