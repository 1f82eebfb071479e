# SPDX-License-Identifier: Apache-2.0
"""Quotas of replicas, for shares that get a type with replicas, or that grow by a revert."""

from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating


class ReplicaQuotas(Replicating):
    def limit(self, project, **values):
        self.admin.ok('PUT', f'/quota-sets/{project}', {'quota_set': values})

    def test_migration_to_a_replicated_type_is_refused_over_quota(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'single',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'},
                }
            },
        )
        kind = next(one['id'] for one in self.admin.ok('GET', '/types')['share_types'] if one['name'] == 'dr')
        owner = self.caller('retyped', roles='admin,member,reader')
        share = self.make('single', caller=owner)
        self.limit('retyped', share_replicas=0)
        body = {
            'host': self.shown(share)['host'],
            'writable': True,
            'nondisruptive': False,
            'preserve_metadata': True,
            'preserve_snapshots': True,
            'new_share_type_id': kind,
        }
        status, document, _ = self.admin.action(share['id'], 'migration_start', body)
        self.assertEqual((413, 'over_quota_share_replicas'), (status, document['overLimit']['reason']))
        self.assertEqual('available', self.shown(share)['status'])

    def test_revert_to_a_larger_size_is_refused_over_quota(self):
        owner = self.caller('reverted')
        share = self.make(caller=owner)
        self.replicate(share, caller=owner)
        snapshot = self.take(share, owner)
        self.assertEqual(202, owner.action(share['id'], 'shrink', {'new_size': 1})[0])
        owner.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.limit('reverted', replica_gigabytes=3)
        status, document, _ = owner.action(share['id'], 'revert', {'snapshot_id': snapshot})
        self.assertEqual(403, status, document)
        self.assertEqual('over_quota_replica_gigabytes', document['forbidden']['reason'])
        self.limit('reverted', replica_gigabytes=4)
        self.assertEqual(202, owner.action(share['id'], 'revert', {'snapshot_id': snapshot})[0])
        self.assertEqual(2, owner.wait(f'/shares/{share["id"]}', 'share', 'available')['size'])
        owner.ok('DELETE', f'/snapshots/{snapshot}')
        self.drop(share)
