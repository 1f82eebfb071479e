# SPDX-License-Identifier: Apache-2.0
"""A single share moves from one linux backend to another, through the API: its files, its snapshot and its rules."""

import shutil
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests import nfs_client, process
from manila_lite.tests.functional.linux import base, cifs_base, test_share_server_migration

_CONFIG = """[DEFAULT]
enabled_share_backends = {names}
state_path = {state}/lib
"""
_BACKEND = """[NAME]
driver = linux
linux_pool_path = {state}/POOL
linux_pool_size_gb = 4
linux_graceless = true
linux_netns = SPACE
linux_export_ips = ADDRESS
MORElinux_peers = test@OTHER:{state}/lite.conf
migration_driver_continue_update_interval = 0.2
"""
_USERS = 'linux_cifs_users = {state}/users\n'
_WANTED = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': True, 'preserve_metadata': True}


class Moves(testtools.TestCase):
    """Backends of one machine, each in a namespace of its own: ``alpha``, ``beta``, and the directory ``plain`` (CIFS)."""

    BACKEND = _BACKEND
    #: For each backend: its name, its peer, and its pool.
    BACKENDS = (('alpha', 'beta', 'alpha.img'), ('beta', 'alpha', 'beta.img'), ('plain', 'alpha', 'folder'))
    #: Seconds.

    def setUp(self):
        super().setUp()
        if lacks := base.missing() or (
            any(name == 'plain' for name, _, _ in self.BACKENDS) and cifs_base.LACKS
        ):
            raise unittest.SkipTest(f'real storage needs {lacks}')
        self.state = Path(tempfile.mkdtemp(prefix='ml-linux-'))
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)
        self.fabric = base.Fabric(alpha=1, beta=2, plain=3, one=11)
        self.addCleanup(self.fabric.down)
        self.fabric.up()
        (self.state / 'folder').mkdir()
        user_list.put(self.state / 'users', 'alice', user_list.entry('alice', 'alice'))
        config = _CONFIG + ''.join(
            self.BACKEND.replace('NAME', name)
            .replace('OTHER', other)
            .replace('POOL', pool)
            .replace('SPACE', self.fabric.name(name))
            .replace('ADDRESS', self.fabric.v4(name))
            .replace('MORE', _USERS if name == 'plain' else '')
            for name, other, pool in self.BACKENDS
        )
        names = ', '.join(name for name, _, _ in self.BACKENDS)
        self.addCleanup(self.power_off)
        self.lite = self.useFixture(process.Lite(config.format(state=self.state, names=names)))
        (self.state / 'lite.conf').symlink_to(self.lite.config)
        self.lite.start()
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)
        self.lite.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'any', 'extra_specs': {'driver_handles_share_servers': 'False'}}},
        )
        process.until(
            lambda: len(self.lite.ok('GET', '/scheduler-stats/pools')['pools']) == len(self.BACKENDS),
            'the pools are known',
            self.lite.tail,
        )

    def power_off(self):
        """Remove all that a reboot removes."""
        self.lite.kill()
        base.power_off(self.state, ('alpha.img', 'beta.img'))

    def make(self, backend, **more):
        share = self.lite.ok(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 1,
                    'share_proto': 'CIFS' if backend == 'plain' else 'NFS',
                    'scheduler_hints': {'only_host': f'test@{backend}'},
                    **more,
                }
            },
        )['share']
        return self.lite.wait(f'/shares/{share["id"]}', 'share', 'available')['id']

    def act(self, share, action, body=None):
        return self.lite.call('POST', f'/shares/{share}/action', {action: body})

    def refused(self, share, host, **more):
        """Ask for a migration that ends at once in an error; return the messages about the share."""
        status, document = self.act(share, 'migration_start', {**_WANTED, 'host': host, **more})
        self.assertEqual(202, status, document)
        self.task_is(share, 'migration_error')
        return ' '.join(
            row['user_message'] for row in self.lite.ok('GET', f'/messages?resource_id={share}')['messages']
        )

    def task_is(self, share, state):
        self.lite.wait(f'/shares/{share}', 'share', state, field='task_state')

    def nfs(self, share, *words):
        """Run an NFS command on the share as a client; return (success, output)."""
        found = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']
        address, _, path = found.partition(':')
        return nfs_client.call(address, path, *words, netns=self.fabric.name('one'))

    def works(self, share, *words):
        worked, said = self.nfs(share, *words)
        self.assertTrue(worked, said)
        return said

    def held(self, backend):
        """Return the names in the pool of a backend: shares, snapshots, and intermediate data of a migration."""
        pool = self.state / 'lib' / backend / 'pool'
        return {
            place.name
            for folder in ('shares', 'snapshots', 'moving')
            if (pool / folder).exists()
            for place in (pool / folder).iterdir()
        }

    def test_a_share_moves_with_its_data_and_rules(self):
        share = self.make('alpha')
        self.act(share, 'allow_access', {'access_type': 'ip', 'access_to': self.fabric.v4('one')})
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.works(share, 'write', 'f', 'before')
        snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.works(share, 'write', 'f', 'hello')
        self.assertIn('writable', self.refused(share, 'test@beta', writable=True))
        self.refused(share, 'test@plain')  # by the scheduler: a directory has no snapshots
        self.assertEqual(202, self.act(share, 'migration_start', {**_WANTED, 'host': 'test@beta'})[0])
        self.task_is(share, 'migration_driver_phase1_done')
        self.assertEqual('hello', self.works(share, 'read', 'f'))
        self.assertFalse(self.nfs(share, 'write', 'f', 'too late')[0])
        told = self.act(share, 'migration_get_progress')[1]
        self.assertEqual(100, told['total_progress'])
        self.assertEqual(202, self.act(share, 'migration_complete')[0])
        self.task_is(share, 'migration_success')
        self.lite.wait(f'/shares/{share}', 'share', 'active', field='access_rules_status')
        self.assertEqual('hello', self.works(share, 'read', 'f'))
        self.works(share, 'write', 'f', 'at home again')
        pool = self.state / 'lib' / 'beta' / 'pool'
        self.assertEqual('before', (pool / 'snapshots' / snapshot / 'f').read_text())
        process.until(lambda: not self.held('alpha'), 'nothing is left at the source', self.lite.tail)
        [instance] = self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']
        self.assertEqual({instance['id'], snapshot}, self.held('beta'))
        self.assertEqual(
            (1, 'test@beta#pool'),
            (self.lite.ok('GET', f'/shares/{share}')['share']['size'], instance['host']),
        )

    def test_cancelled_migration_leaves_nothing_at_the_destination(self):
        share = self.make('alpha', share_type='any')
        self.assertIn('ProtocolFilter', self.refused(share, 'test@plain'))
        before = self.held('alpha')
        self.act(share, 'migration_start', {**_WANTED, 'host': 'test@beta'})
        self.task_is(share, 'migration_driver_phase1_done')
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.assertEqual((before, set()), (self.held('alpha'), self.held('beta')))
        self.assertEqual('available', self.lite.ok('GET', f'/shares/{share}')['share']['status'])


class OnServers(test_share_server_migration.MigrationTest):
    """Migration between backends with share servers: the destination gets a new share server."""

    CONFIG = test_share_server_migration.MigrationTest.CONFIG.replace(
        'server_migration_driver', 'migration_driver'
    )
    # These tests are about whole share servers.
    test_files_rules_and_writes_survive_a_server_migration = None
    test_cancelled_migration_leaves_nothing_at_the_destination = None

    def test_a_share_moves_and_its_neighbour_stays(self):
        share, stays = self.shares
        self.lite.ok('POST', f'/shares/{share}/action', {'migration_start': {**_WANTED, 'host': 'test@beta'}})
        self.lite.wait(f'/shares/{share}', 'share', 'migration_driver_phase1_done', field='task_state')
        self.lite.ok('POST', f'/shares/{share}/action', {'migration_complete': None})
        self.lite.wait(f'/shares/{share}', 'share', 'migration_success', field='task_state')
        self.assertEqual(('beta', 'alpha'), (self.host(share), self.host(stays)))
        self.until(
            lambda: len(self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']) == 1,
            'the source is gone',
        )
        self.assertTrue(self.place('beta', share).is_dir())
        found = self.lite.ok('GET', f'/shares/{share}')['share']
        self.machine.spaces.append(f'manila-{found["share_server_id"]}')
        self.assertNotEqual(self.server, found['share_server_id'])
