# SPDX-License-Identifier: Apache-2.0
"""The answer to a creation is what a GET shows, although it is not read back from the database."""

from manila_lite.tests.functional import base


class CreatedAnswer(base.ServiceTest):
    """Without a scheduler, so that a new share stays as it was created."""

    PARTS = ('share',)

    def test_new_share_is_answered_as_it_is_shown(self):
        zone = self.admin.ok('GET', '/availability-zones')['availability_zones'][0]['name']
        specs = {'driver_handles_share_servers': 'False', 'snapshot_support': 'True', 'replication_type': 'readable',
                 'mount_snapshot_support': 'True', 'create_share_from_snapshot_support': 'True'}
        self.admin.ok('POST', '/types', {'share_type': {'name': 'all', 'extra_specs': specs}})
        bodies = [{}, {'name': 'n', 'description': 'd', 'metadata': {'a': 'b', 'c': 'd'}, 'is_public': True},
                  {'share_type': 'all', 'availability_zone': zone}]
        for version in ('2.0', '2.7', '2.30', '2.60', '2.99'):
            caller = self.caller(roles='admin,member,reader', version=version)
            for body in bodies:
                made = caller.ok('POST', '/shares', {'share': {'size': 2, 'share_proto': 'NFS', **body}})['share']
                self.assertEqual(caller.ok('GET', f'/shares/{made["id"]}')['share'], made)
                self.assertEqual('creating', made['status'])
