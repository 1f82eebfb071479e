# SPDX-License-Identifier: Apache-2.0
"""A client that sees the success of a move reads nothing at the former path any more: real storage, real NFS."""

from manila_lite.tests import nfs_client, process
from manila_lite.tests.functional.linux import test_host_assisted, test_share_migration

#: A backend finds out by polling that it is to delete a share which left. For so long the former exports were open.
_SELDOM = '[operations]\npoll_interval = 3\n'
_READY = ('data_copying_completed', 'migration_driver_phase1_done')


class Former:
    """A share goes to and fro; a client tries its former path as soon as the move is a success."""

    #: Moves.
    TIMES = 3

    def test_nobody_reads_at_the_former_path_after_the_success(self):
        share = self.make('alpha', share_type='any')
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.works(share, 'write', 'f', 'hello')
        for number in range(self.TIMES):
            address, _, path = self.path(share).partition(':')
            self.begin(share, 'test@alpha' if number % 2 else 'test@beta')
            self.lite.wait(f'/shares/{share}', 'share', _READY, field='task_state')
            self.assertEqual('hello', self.works(share, 'read', 'f'))
            self.assertEqual(202, self.act(share, 'migration_complete')[0])
            process.until(
                lambda: self.shown(share)['task_state'] == 'migration_success',
                'the share has moved',
                self.lite.tail,
            )
            worked, said = nfs_client.call(address, path, 'read', 'f', netns=self.fabric.name('one'))
            self.assertEqual((number, False), (number, worked), said)
            self.assertIn('NOENT', said)
            self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
            self.assertEqual('hello', self.works(share, 'read', 'f'))
            process.until(
                lambda: len(self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']) == 1,
                'the source is gone',
                self.lite.tail,
            )

    def shown(self, share):
        return self.lite.ok('GET', f'/shares/{share}')['share']

    def path(self, share):
        return self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']


class ByHost(Former, test_host_assisted.HostAssisted):
    """The host of the destination copies the share."""

    BACKEND = test_host_assisted.HostAssisted.BACKEND + _SELDOM

    def begin(self, share, host):
        self.start(share, host=host, force_host_assisted_migration=True)


class ByDriver(Former, test_share_migration.Moves):
    """The driver of the destination brings the share from its peer."""

    BACKEND = test_share_migration.Moves.BACKEND + _SELDOM
    BACKENDS = (('alpha', 'beta', 'alpha.img'), ('beta', 'alpha', 'beta.img'))
    # These tests are about other things.
    test_a_share_moves_with_its_data_and_rules = (
        test_cancelled_migration_leaves_nothing_at_the_destination
    ) = None

    def begin(self, share, host):
        status, document = self.act(
            share,
            'migration_start',
            {
                'writable': False,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'preserve_metadata': True,
                'host': host,
            },
        )
        self.assertEqual(202, status, document)
