# SPDX-License-Identifier: Apache-2.0
"""Changes of the free capacity at a backend, which are reported long before the next report is due."""

import dataclasses

from manila_lite.drivers.dummy.store import ShareRecord
from manila_lite.tests.functional import base
from manila_lite.tests.functional.backups.test_share_backups import Api

_BACKEND = 'dummy_replication_domain = far\nbackend_availability_zone = {}\nmigration_driver_continue_update_interval = 0.1\n'


class RoomReported(base.ServiceTest):
    """Two backends that report once an hour if nothing happens."""

    BACKENDS = {name: _BACKEND.format(name) for name in ('alpha', 'beta')}
    EXTRA = 'capability_interval = 3600\ndefault_share_group_type = plain\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = Api(cls.service.app)
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'dr',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'replication_type': 'dr'},
                }
            },
        )
        cls.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'plain', 'share_types': ['default']}}
        )

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    def reports(self, backend):
        """Return the number of reports of the backend, once no further one is requested."""
        manager = self.service.managers[backend]
        base.eventually(lambda: not manager._report_wanted.is_set(), 'it is asked for ever')
        with manager._reporting:
            return len(manager.driver.store.calls('report'))

    def is_reported(self, backend, act, *more):
        """Call ``act``, and wait until the backend reports its capacity; return the result of the call."""
        before = self.reports(backend)
        given = act(*more)
        base.eventually(lambda: self.reports(backend) > before, f'{backend} is not asked for its room')
        return given

    def share(self, **more):
        return self.admin.share(**{'availability_zone': 'alpha', **more})['id']

    def made(self, path, key, wait='available', field='status', **body):
        """Make a resource by a POST and wait for its status; return its id."""
        resource_id = self.admin.ok('POST', path, {key: body})[key]['id']
        self.admin.wait(f'{path}/{resource_id}', key, wait, field=field)
        return resource_id

    def snapshot(self, share):
        return self.made('/snapshots', 'snapshot', share_id=share)

    def replica(self, share, wait='available'):
        return self.made('/share-replicas', 'share_replica', wait, share_id=share, availability_zone='beta')

    def act(self, path, action, body=None):
        self.admin.ok('POST', f'{path}/action', {action: body})

    def delete(self, path):
        self.admin.ok('DELETE', path)

    def test_capacity_is_reported_after_a_share_deletion(self):
        self.is_reported('alpha', self.delete, f'/shares/{self.share()}')

    def test_capacity_is_reported_after_a_snapshot_deletion(self):
        self.is_reported('alpha', self.delete, f'/snapshots/{self.snapshot(self.share())}')

    def test_capacity_is_reported_after_a_group_snapshot_deletion(self):
        group = self.made('/share-groups', 'share_group')
        backend = (
            self.admin.ok('GET', f'/share-groups/{group}')['share_group']['host']
            .partition('@')[2]
            .partition('#')[0]
        )
        self.share(share_group_id=group, availability_zone=backend)
        snapshot = self.made('/share-group-snapshots', 'share_group_snapshot', share_group_id=group)
        self.is_reported(backend, self.delete, f'/share-group-snapshots/{snapshot}')

    def test_capacity_is_reported_after_a_backup_restore(self):
        share = self.share()
        backup = self.made('/share-backups', 'share_backup', share_id=share)
        self.is_reported('alpha', self.act, f'/share-backups/{backup}', 'restore')

    def test_capacity_is_reported_after_manage_and_unmanage(self):
        with self.service.managers['alpha'].driver.store.locked():
            self.service.managers['alpha'].driver.store.shares.put(
                dataclasses.replace(ShareRecord('nas', 'pool1', 3, 'NFS', 'nas'), ours=False)
            )
        share = self.is_reported(
            'alpha',
            self.admin.ok,
            'POST',
            '/shares/manage',
            {
                'share': {
                    'service_host': 'test@alpha#pool1',
                    'protocol': 'nfs',
                    'export_path': '10.0.0.1:/shares/nas',
                }
            },
        )['share']['id']
        self.admin.wait(f'/shares/{share}', 'share', 'available')
        self.is_reported('alpha', self.act, f'/shares/{share}', 'unmanage')

    def test_capacity_is_reported_after_replica_creation_promotion_and_deletion(self):
        share = self.share(share_type='dr')
        first = self.admin.ok('GET', f'/share-replicas?share_id={share}')['share_replicas'][0]['id']
        second = self.is_reported('beta', self.replica, share)
        self.admin.wait(f'/share-replicas/{second}', 'share_replica', 'in_sync', field='replica_state')
        self.is_reported('beta', self.act, f'/share-replicas/{second}', 'promote')
        self.admin.wait(f'/share-replicas/{second}', 'share_replica', 'active', field='replica_state')
        self.admin.wait(f'/share-replicas/{first}', 'share_replica', 'available')
        self.is_reported('alpha', self.delete, f'/share-replicas/{first}')

    def test_capacity_is_reported_after_a_failed_replica_creation(self):
        share = self.share(share_type='dr')
        self.service.knob('beta', 'create_replica:fail_final')
        self.is_reported('beta', self.replica, share, 'error')

    def test_capacity_is_reported_by_both_backends_of_a_migration(self):
        share = self.share()
        self.act(
            f'/shares/{share}',
            'migration_start',
            {
                'host': 'test@beta',
                'writable': False,
                'nondisruptive': False,
                'preserve_snapshots': True,
                'preserve_metadata': True,
            },
        )
        self.admin.wait(f'/shares/{share}', 'share', 'migration_driver_phase1_done', field='task_state')
        self.service.knob('alpha', 'delete_share:hang')
        self.is_reported('beta', self.act, f'/shares/{share}', 'migration_complete')
        self.is_reported('alpha', self.service.knob, 'alpha', '')
