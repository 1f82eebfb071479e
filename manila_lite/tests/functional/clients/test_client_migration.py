# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server with the unchanged ``openstack`` command, watched by ``manila-manage migration watch``."""

import subprocess
import sys

from oslo_utils import uuidutils

from manila_lite.tests import waiting
from manila_lite.tests.functional import commandline, served

_MAY = ['--writable', 'True', '--nondisruptive', 'False', '--preserve-snapshots', 'True']
_BACKEND = 'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'


class Moves(commandline.OverHttp, served.ServedTest):
    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND}

    def setUp(self):
        super().setUp()
        self.user = self.caller(uuidutils.generate_uuid(), roles='admin,member,reader')  # may choose a host

    def watch(self, resource_id):
        """Start watching. Return the process."""
        config = self.service.state / 'manila_lite.conf'
        watcher = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'manila_lite.cmd.manage',
                f'--config-file={config}',
                'migration',
                'watch',
                resource_id,
                '--every=0.1',
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(watcher.communicate)
        self.addCleanup(watcher.kill)
        return watcher

    def make(self):
        """Return a share server on alpha, its share, and the arguments that start its migration."""
        network = self.network()
        share = self.share(network, scheduler_hints={'only_host': 'test@alpha'})
        [server] = self.servers(network)
        return (
            server.id,
            share['id'],
            ('share', 'server', 'migration', 'start', server.id, 'test@beta', *_MAY),
        )

    def test_migration_commands_move_a_share_server(self):
        server, share, start = self.make()
        self.assertTrue(self.cli(*start, '--check-only')['compatible'])
        self.run_cli(*start)
        watcher = self.watch(server)
        self.admin.wait(
            f'/share-servers/{server}', 'share_server', 'migration_driver_phase1_done', field='task_state'
        )
        seen = ''
        while 'ready' not in seen:
            seen += watcher.stdout.readline() or self.fail(seen)
        self.assertIn(f'openstack share server migration complete {server}', seen)
        shown = self.cli('share', 'server', 'migration', 'show', server)
        self.assertEqual(
            (100, 'migration_driver_phase1_done'), (shown['total_progress'], shown['task_state'])
        )
        self.run_cli('share', 'server', 'migration', 'complete', server)
        moved = self.admin.wait(f'/shares/{share}', 'share', 'available')
        self.assertEqual(shown['destination_share_server_id'], moved['share_server_id'])
        rest, complaints = watcher.communicate(timeout=waiting.LIMIT)
        self.assertEqual((0, 'moved'), (watcher.returncode, rest.splitlines()[-1].split()[0]), complaints)

    def test_cancelled_migration_ends_the_watch_with_status_1(self):
        server, share, _ = self.make()
        self.admin.ok(
            'POST',
            f'/share-servers/{server}/action',
            {
                'migration_start': {
                    'host': 'test@beta',
                    'writable': True,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                }
            },
        )
        watcher = self.watch(share)  # watches the migration of the share's server
        self.admin.wait(
            f'/share-servers/{server}', 'share_server', 'migration_driver_phase1_done', field='task_state'
        )
        self.run_cli('share', 'server', 'migration', 'cancel', server)
        told, complaints = watcher.communicate(timeout=waiting.LIMIT)
        self.assertEqual((1, True), (watcher.returncode, 'called off' in told), told + complaints)
        self.admin.wait(f'/shares/{share}', 'share', 'available')
