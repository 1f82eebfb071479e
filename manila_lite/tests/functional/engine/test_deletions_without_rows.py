# SPDX-License-Identifier: Apache-2.0
"""Deletions of resources without a row: the operation has nothing to do, and succeeds."""

from oslo_utils import uuidutils

from manila_lite import engine
from manila_lite.db.queries import operations as rows
from manila_lite.tests.functional import base


class GoneAlready(base.ServiceTest):
    """A backend that also supports replicas."""

    BACKENDS = {'alpha': 'dummy_replication_domain = far\n'}

    def ends_well(self, resource_type, *kinds):
        """Check that each operation on an unknown id is done at the first try, without a user message."""
        for kind in kinds:
            resource_id, ctx = uuidutils.generate_uuid(), self.service.context()
            with self.service.services.db.writer() as conn:
                wake = engine.begin(
                    conn,
                    ctx,
                    kind,
                    resource_type,
                    resource_id,
                    topic='share',
                    host='test@alpha',
                    data={'share_id': uuidutils.generate_uuid()},
                )
            wake.send(ctx)
            base.eventually(lambda wake=wake: self.row(wake).state != rows.OPEN, f'{kind} does not end')
            row = self.row(wake)
            self.assertEqual((rows.DONE, 1), (row.state, row.attempts), (kind, row.error))
            self.assertEqual([], self.admin.ok('GET', f'/messages?resource_id={resource_id}')['messages'])

    def row(self, wake):
        with self.service.services.db.reader() as conn:
            return rows.get(conn, wake.operation_id)

    def test_deletion_of_a_missing_share_succeeds(self):
        self.ends_well('share', 'share.delete', 'share.deferred_delete')

    def test_deletion_of_a_missing_snapshot_succeeds(self):
        self.ends_well('snapshot', 'snapshot.delete', 'snapshot.deferred_delete')

    def test_deletion_of_a_missing_replica_succeeds(self):
        self.ends_well('share_replica', 'replica.delete')
