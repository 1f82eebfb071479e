# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server whose share has a replica on another backend."""

from manila_lite.db import models
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations.test_share_server_migration import BACKEND, MigrationTest

_REPLICATED = BACKEND.format('here') + 'dummy_replication_domain = far\nreplica_state_update_interval = 1\n'


class ReplicatedMigration(MigrationTest):
    """The replica is on the backend beside source and destination."""

    BACKENDS = {'alpha': _REPLICATED, 'beta': _REPLICATED, 'gamma': _REPLICATED}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'doubled',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'replication_type': 'readable',
                    },
                }
            },
        )

    def setUp(self):
        super().setUp()
        self.share = self.admin.share(
            share_type='doubled',
            share_network_id=self.network,
            scheduler_hints={'only_host': 'test@alpha#' + self.pool('alpha')},
        )
        [self.server] = self.servers()
        self.replica = self.admin.ok(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': self.share['id'], 'scheduler_hints': {'only_host': 'test@gamma'}}},
        )['share_replica']['id']
        self.follows()

    def follows(self):
        self.admin.wait(f'/share-replicas/{self.replica}', 'share_replica', 'in_sync', field='replica_state')

    def write(self, backend, content):
        """Change the data of the active replica on a backend."""
        store = self.store(backend)
        replicas = self.admin.ok('GET', f'/share-replicas?share_id={self.share["id"]}')['share_replicas']
        active = next(row['id'] for row in replicas if row['replica_state'] == 'active')
        with store.locked():
            record = store.share(active)
            record.content = content
            store.shares.put(record)

    def copied(self):
        return self.store('gamma').share(self.replica).content

    def test_active_replica_moves_and_the_other_follows_it(self):
        self.assertEqual(202, self.start(self.server)[0])
        self.task_is(self.server, 'migration_driver_phase1_done')
        self.assertEqual(200, self.act(self.server, 'migration_complete')[0])
        self.admin.wait(f'/share-servers/{self.server["id"]}', 'share_server', 'gone')
        found = self.admin.ok('GET', f'/shares/{self.share["id"]}')['share']
        self.assertEqual(
            ('available', 'test@beta', True),
            (found['status'], found['host'].partition('#')[0], found['has_replicas']),
        )
        self.write('beta', 'written at the new place')
        self.admin.ok('POST', f'/share-replicas/{self.replica}/action', {'resync': None})
        base.eventually(lambda: self.copied() == 'written at the new place', 'the replica does not follow')
        self.follows()
        self.admin.ok('POST', f'/share-replicas/{self.replica}/action', {'promote': None})
        self.admin.wait(f'/share-replicas/{self.replica}', 'share_replica', 'active', field='replica_state')
        self.assertEqual(
            'test@gamma',
            self.admin.ok('GET', f'/shares/{self.share["id"]}')['share']['host'].partition('#')[0],
        )

    def test_server_with_a_replica_that_is_not_active_stays(self):
        other = next(row for row in self.servers() if row['host'] == 'test@gamma')
        self.admin.share(
            share_type='served',
            share_network_id=self.network,
            scheduler_hints={'only_host': 'test@gamma#' + self.pool('gamma')},
        )
        status, document = self.start(other)
        self.assertEqual((409, 'share_has_replicas'), (status, document['conflictingRequest']['reason']))
        self.assertIn(
            f'has replica {self.replica} of share {self.share["id"]}, which is not the active one',
            str(document),
        )

    def test_driver_of_the_server_must_support_it(self):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_servers.update()
                .where(models.share_servers.c.id == self.server['id'])
                .values(share_replicas_migration_support=False)
            )
        status, document = self.start(self.server)
        self.assertEqual((409, 'share_has_replicas'), (status, document['conflictingRequest']['reason']))
