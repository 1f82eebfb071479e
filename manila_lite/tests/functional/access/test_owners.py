# SPDX-License-Identifier: Apache-2.0
"""Operations on the access rules of many shares belong to the projects of the shares, not to the caller's."""

from manila_lite import context
from manila_lite.db.queries import operations
from manila_lite.tests.functional import base
from manila_lite.workflow import access, snapshot_access

_TYPE = {
    'share_type': {
        'name': 'mounts',
        'extra_specs': {
            'driver_handles_share_servers': 'False',
            'snapshot_support': 'True',
            'mount_snapshot_support': 'True',
        },
    }
}


class Owners(base.ServiceTest):
    def snapshot(self, caller, share):
        body = {'snapshot': {'share_id': share, 'name': 'mounted'}}
        return caller.ok('POST', '/snapshots', body)['snapshot']['id']

    def test_operations_are_of_the_projects_of_the_shares(self):
        self.admin.ok('POST', '/types', _TYPE)
        shares = [self.caller(name).share(share_type='mounts')['id'] for name in ('one', 'two')]
        snapshots = [
            self.snapshot(self.caller(name), share)
            for name, share in zip(('one', 'two'), shares, strict=True)
        ]
        for resource_id in (*shares, *snapshots):
            self.service.settled(resource_id)
        admin = context.admin(self.service.services, 'admins', 'someone')
        with self.service.services.db.writer() as conn:
            access.apply_rules_of(conn, admin, shares, 'test@alpha')
            snapshot_access.begin_all(conn, admin, shares, 'test@alpha')
        for name, share, snapshot in zip(('one', 'two'), shares, snapshots, strict=True):
            with self.service.services.db.reader() as conn:
                found = [
                    *operations.list_of_resource(conn, share, 'access.sync')[-1:],
                    *operations.list_of_resource(conn, snapshot, 'snapshot.serve')[-1:],
                ]
            self.assertEqual([name, name], [op.project_id for op in found])
