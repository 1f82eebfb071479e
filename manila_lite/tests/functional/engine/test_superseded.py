# SPDX-License-Identifier: Apache-2.0
"""Resets by an administrator, which end every kind of operation on the resource, and no other operation."""

import contextlib

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.tests.factories import networks
from manila_lite.tests.functional.engine import test_deletion_rows

_STRANGER = 'test.stranger'


class Reset(test_deletion_rows.Going):
    """Resources with operations of every kind, open or parked."""

    def ends(self, path, resource_id, kinds, status='available', table=None):
        """Check that a reset ends operations of these kinds and no other; in ``table`` also one begun until the row is locked.

        Replicas are behind a lock of their share before; the work on a backup ends by itself if its status is another.
        """
        about = {
            'resource_type': 'x',
            'resource_id': resource_id,
            'topic': 'nobody',
            'lane': 'work',
            'data': {},
            'next_run_at': timeutils.utcnow(),
        }
        for kind in (*kinds.split(), _STRANGER):
            for state in ('open', 'parked'):
                self.insert(models.operations, kind=kind, state=state, **about)
        late = models.operations.insert().values(
            id=uuidutils.generate_uuid(), kind=kinds.split()[-1], state='open', **about
        )
        with self.meanwhile(self.locking(table), late) if table else contextlib.nullcontext():
            code, said, _ = self.admin.call(
                'POST', f'{path}/{resource_id}/action', {'reset_status': {'status': status}}
            )
        self.assertEqual(202, code, said)
        self.assertEqual(
            [_STRANGER] * 2,
            [row.kind for state in ('open', 'parked') for row in self.work(resource_id, state=state)],
        )

    def test_reset_of_a_share_ends_its_operations(self):
        self.ends(
            '/shares',
            self.share(),
            'share.create share.extend share.shrink share.revert share.delete '
            'share.deferred_delete share.manage share.unmanage',
            table='share_instances',
        )

    def test_reset_of_a_snapshot_ends_its_operations(self):
        self.ends(
            '/snapshots',
            self.snapshot(self.share()),
            'snapshot.create snapshot.delete snapshot.deferred_delete snapshot.manage snapshot.unmanage',
            table='snapshots',
        )

    def test_reset_of_a_group_ends_its_operations(self):
        self.ends(
            '/share-groups', self.group(), 'share_group.create share_group.delete', table='share_groups'
        )

    def test_reset_of_a_group_snapshot_ends_its_operations(self):
        self.ends(
            '/share-group-snapshots',
            self.taken(self.group()),
            'share_group_snapshot.create share_group_snapshot.delete',
            table='share_group_snapshots',
        )

    def test_reset_of_a_replica_ends_its_operations(self):
        name = self.getUniqueString()
        self.type(name, replication_type='dr')
        replica = self.aside(self.share(share_type=name), replica_state='out_of_sync')
        self.ends('/share-replicas', replica, 'replica.create replica.delete replica.update replica.promote')

    def test_reset_of_a_backup_ends_its_operations(self):
        self.ends(
            '/share-backups',
            self.backup(self.share()),
            'share_backup.create share_backup.restore share_backup.delete',
        )

    def test_reset_of_a_share_server_ends_its_operations(self):
        with self.service.services.db.writer() as conn:
            [(*_, server)] = networks.make(conn, 1)
        self.ends(
            '/share-servers',
            server,
            'share_server.create share_server.delete share_server.manage share_server.unmanage '
            'share_server.add_subnet share_server.update_security_service',
            'active',
            table='share_servers',
        )
