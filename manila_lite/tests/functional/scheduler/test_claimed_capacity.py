# SPDX-License-Identifier: Apache-2.0
"""Claimed capacity of a pool is free again once it is not needed, even before the next report."""

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base

_PLAIN = 'backend_availability_zone = {}\nmigration_driver_continue_update_interval = 0.1\ndummy_replication_domain = far\n'
_SERVED = (
    'driver_handles_share_servers = true\nbackend_availability_zone = zone-e\n'
    'server_migration_driver_continue_update_interval = 0.1\n'
)
_MOVE = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}


class Room(base.ServiceTest):
    """No backend reports while a test counts: the promised capacity is exactly the capacity claimed and given back."""

    BACKENDS = {
        'alpha': _PLAIN.format('zone-a'),
        'beta': _PLAIN.format('zone-b'),
        'east': _SERVED,
        'west': _SERVED,
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)
        for name, servers, more in (
            ('served', 'True', {}),
            ('replicable', 'False', {'replication_type': 'dr'}),
        ):
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {
                            'driver_handles_share_servers': servers,
                            'snapshot_support': 'True',
                            **more,
                        },
                    }
                },
            )

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    def silent(self, **faults):
        """Stop the reports of all backends, and give some backends further faults."""
        for name, manager in self.service.managers.items():
            self.service.knob(name, f'report:fail\n{faults.get(name, "")}')
            with manager._reporting:
                pass  # waits until a report under way is written

    def promised(self, backend):
        with self.service.services.db.reader() as conn:
            return conn.execute(
                sa.select(models.pools.c.allocated_gb).where(models.pools.c.host == f'test@{backend}#pool1')
            ).scalar_one()

    def make(self, backend, kind='default', **more):
        return self.admin.share(
            size=3, share_type=kind, **{'scheduler_hints': {'only_host': f'test@{backend}#pool1'}, **more}
        )

    def at_rest(self):
        def ended():
            with self.service.services.db.reader() as conn:
                return not conn.execute(
                    sa.select(models.operations.c.id).where(models.operations.c.state == 'open')
                ).first()

        base.eventually(ended, 'operations are open')

    def test_capacity_is_free_after_share_creation_fails(self):
        self.silent(alpha='create_share:fail_final')
        before = self.promised('alpha')
        self.make('alpha', wait='error')
        self.at_rest()
        self.assertEqual(before, self.promised('alpha'))

    def test_capacity_is_free_after_a_share_is_deleted(self):
        self.silent()
        before = self.promised('alpha')
        share = self.make('alpha')
        self.assertEqual(before + 3, self.promised('alpha'))
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(before, self.promised('alpha'))

    def test_capacity_is_free_after_share_migration_is_cancelled(self):
        share = self.make('alpha')
        self.silent()
        before = self.promised('beta')
        self.admin.action(
            share['id'], 'migration_start', {**_MOVE, 'preserve_metadata': True, 'host': 'test@beta'}
        )
        path = f'/shares/{share["id"]}'
        self.admin.wait(path, 'share', 'migration_driver_phase1_done', field='task_state')
        self.assertEqual(before + 3, self.promised('beta'))
        self.admin.action(share['id'], 'migration_cancel')
        self.admin.wait(path, 'share', 'migration_cancelled', field='task_state')
        self.assertEqual(before, self.promised('beta'))

    def copied_server(self):
        """Make a share on a server and copy the server, without reports. Return (its path, what was promised before)."""
        network = self.admin.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
        )['share_network']['id']
        server = self.make('east', 'served', share_network_id=network)['share_server_id']
        self.silent()
        before, path = self.promised('west'), f'/share-servers/{server}'
        self.admin.ok('POST', f'{path}/action', {'migration_start': {**_MOVE, 'host': 'test@west'}})
        self.admin.wait(path, 'share_server', 'migration_driver_phase1_done', field='task_state')
        self.assertEqual(before + 3, self.promised('west'))
        return path, before

    def test_capacity_is_free_after_server_migration_is_cancelled(self):
        path, before = self.copied_server()
        self.admin.ok('POST', f'{path}/action', {'migration_cancel': None})
        self.admin.wait(path, 'share_server', 'migration_cancelled', field='task_state')
        self.assertEqual(before, self.promised('west'))

    def test_forced_cancel_frees_capacity_and_writes_the_pool_after_the_note(self):
        """Reports and other requests wait for the pool from then on, and an API that dies may hold it for long."""
        path, before = self.copied_server()
        engine, seen = self.service.services.db.engine, []
        sa.event.listen(
            engine, 'before_cursor_execute', listener := lambda *args: seen.append((args[0], args[2]))
        )
        self.addCleanup(sa.event.remove, engine, 'before_cursor_execute', listener)
        self.admin.ok('POST', f'{path}/action', {'reset_task_state': {'task_state': 'migration_cancelled'}})
        self.assertEqual(before, self.promised('west'))
        noting = next(conn for conn, statement in seen if statement.startswith('INSERT INTO operations'))
        mine = [statement.split(' SET ')[0] for conn, statement in seen if conn is noting]
        self.assertIn('UPDATE pools', mine)
        [note] = [
            number for number, statement in enumerate(mine) if statement.startswith('INSERT INTO operations')
        ]
        self.assertGreater(mine.index('UPDATE pools'), note)

    def replicate(self, until):
        share = self.make('alpha', 'replicable')
        made = self.admin.ok(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': share['id'], 'availability_zone': 'zone-b'}},
        )['share_replica']
        return self.admin.wait(f'/share-replicas/{made["id"]}', 'share_replica', until)

    def test_capacity_is_free_after_replica_creation_fails(self):
        self.silent(beta='create_replica:fail_final')
        before = self.promised('beta')
        self.replicate('error')
        self.assertEqual(before, self.promised('beta'))

    def test_capacity_is_free_after_a_replica_is_deleted(self):
        self.silent()
        before = self.promised('beta')
        replica = self.replicate('available')
        self.assertEqual(before + 3, self.promised('beta'))
        self.admin.ok('DELETE', f'/share-replicas/{replica["id"]}')
        self.assertEqual(before, self.promised('beta'))
