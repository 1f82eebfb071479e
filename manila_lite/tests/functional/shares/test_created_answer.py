# SPDX-License-Identifier: Apache-2.0
"""New shares: the answer equals that of a GET, though it is not read back; and a refused one leaves nothing."""

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.tests.functional import base


class CreatedAnswer(base.ServiceTest):
    """Without a scheduler, so that a new share stays as it was created."""

    PARTS = ('share',)

    def test_new_share_is_answered_as_it_is_shown(self):
        zone = self.admin.ok('GET', '/availability-zones')['availability_zones'][0]['name']
        specs = {
            'driver_handles_share_servers': 'False',
            'snapshot_support': 'True',
            'replication_type': 'readable',
            'mount_snapshot_support': 'True',
            'create_share_from_snapshot_support': 'True',
        }
        self.admin.ok('POST', '/types', {'share_type': {'name': 'all', 'extra_specs': specs}})
        bodies = [
            {},
            {'name': 'n', 'description': 'd', 'metadata': {'a': 'b', 'c': 'd'}, 'is_public': True},
            {'share_type': 'all', 'availability_zone': zone},
        ]
        for version in ('2.0', '2.7', '2.30', '2.60', '2.99'):
            caller = self.caller(roles='admin,member,reader', version=version)
            for body in bodies:
                made = caller.ok('POST', '/shares', {'share': {'size': 2, 'share_proto': 'NFS', **body}})[
                    'share'
                ]
                self.assertEqual(caller.ok('GET', f'/shares/{made["id"]}')['share'], made)
                self.assertEqual('creating', made['status'])

    def test_share_or_snapshot_over_quota_leaves_nothing(self):
        """Refuse both after their rows were written, as a tenant without other rights: all is rolled back."""
        caller = self.caller('small', roles='member,reader')
        self.admin.ok('PUT', '/quota-sets/small', {'quota_set': {'shares': 1, 'snapshots': 0}})
        share = caller.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        with self.service.services.db.writer() as conn:  # nobody makes it here
            conn.execute(
                models.share_instances.update()
                .where(models.share_instances.c.share_id == share)
                .values(status='available', host='test@alpha#pool1')
            )
        before = self.rows()
        for path, body in (
            ('/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'metadata': {'a': 'b'}}}),
            ('/snapshots', {'snapshot': {'share_id': share, 'metadata': {'a': 'b'}}}),
        ):
            status, document, _ = caller.call('POST', path, body)
            self.assertEqual(413, status, document)
            self.assertEqual(before, self.rows())

    def rows(self):
        """Return the numbers of rows that a creation writes. Not of runs that the backend begins when it has started."""
        tables = (
            models.shares,
            models.share_instances,
            models.share_metadata,
            models.snapshots,
            models.snapshot_metadata,
            models.operations,
        )
        others = models.operations.c.resource_type == 'service'
        with self.service.services.db.reader() as conn:
            return [
                conn.execute(
                    sa.select(sa.func.count())
                    .select_from(table)
                    .where(~others if table is models.operations else sa.true())
                ).scalar_one()
                for table in tables
            ]
