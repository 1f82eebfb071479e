# SPDX-License-Identifier: Apache-2.0
"""Migration of a share with the unchanged ``openstack`` command."""

from manila_lite.tests.functional import base, commandline

_MAY = [
    '--writable',
    'True',
    '--nondisruptive',
    'False',
    '--preserve-snapshots',
    'True',
    '--preserve-metadata',
    'True',
]
_BACKEND = 'migration_driver_continue_update_interval = 0.1\n'


class Moves(commandline.OverHttp, base.ServiceTest):
    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND}

    def start(self, share, host, state):
        self.run_cli('share', 'migration', 'start', share['id'], host, *_MAY)
        base.eventually(
            lambda: self.admin.ok('GET', f'/shares/{share["id"]}')['share']['task_state'] == state,
            f'not {state}',
        )

    def test_migration_commands_cancel_and_complete_a_share_migration(self):
        share = self.admin.share(name='mine', scheduler_hints={'only_host': 'test@alpha#pool1'})
        self.start(share, 'test@beta#pool1', 'migration_driver_phase1_done')
        self.run_cli('share', 'migration', 'cancel', 'mine')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'migration_cancelled', field='task_state')
        self.start(share, 'test@alpha#pool1', 'migration_success')  # it is there
        self.start(share, 'test@beta', 'migration_driver_phase1_done')
        told = self.cli('share', 'migration', 'show', 'mine')
        self.assertEqual((100, 'migration_driver_phase1_done'), (told['total_progress'], told['task_state']))
        self.run_cli('share', 'migration', 'complete', 'mine')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'migration_success', field='task_state')
        self.assertEqual('test@beta#pool1', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'])
