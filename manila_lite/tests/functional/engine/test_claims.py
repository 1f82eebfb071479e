# SPDX-License-Identifier: Apache-2.0
"""Lost claims: the former owner writes nothing. Repeated requests do not block each other."""

from manila_lite import context, errors, values
from manila_lite.db import models
from manila_lite.db.queries import operation_claims, project_turns, share_types, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine.plans import Work
from manila_lite.operation_data.shares import CreateShare
from manila_lite.scheduler import service as scheduling
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base


class Claims(base.ServiceTest):
    """Steps that write resources while another worker has taken over the claim."""

    PARTS = ('share',)
    BACKENDS = {'alpha': '', 'beta': ''}

    def test_scheduler_without_its_claim_does_not_move_the_share(self):
        db = self.service.services.db
        admin = self.caller(roles='admin,member,reader')
        share = admin.share(wait=None)
        with db.writer() as conn:
            seen = conn.execute(
                models.operations.select().where(models.operations.c.resource_id == share['id'])
            ).first()
            slow = operation_claims.claim(conn, seen, 'slow', -1)  # its lease is over already
            operation_claims.claim(conn, rows.get(conn, seen.id), 'other', 30)
            instance = shares.get(conn, context.admin(self.service.services), share['id']).instance_id
            shares.update_instance(conn, instance, host='test@beta#pool1')  # placed there by the other worker
        work = Work(
            slow,
            CreateShare(hints={'only_host': 'test@alpha#pool1'}),
            context.admin(self.service.services),
            self.service.scheduler,
        )
        self.assertRaises(errors.LostClaim, scheduling.place, work)
        with db.reader() as conn:
            self.assertEqual('test@beta#pool1', shares.find_by_instance(conn, instance).host)

    def test_operation_made_due_while_it_is_postponed_stays_claimable(self):
        db = self.service.services.db
        for hurry in (False, True):
            with db.writer() as conn:
                operation_id = rows.insert(
                    conn,
                    kind='test.sleeper',
                    resource_type='none',
                    resource_id='none',
                    topic='nobody',
                    host='',
                    data={},
                    lane='work',
                )
                op = operation_claims.claim(conn, rows.get(conn, operation_id), 'me', 30)
            if hurry:
                with db.writer() as conn:
                    rows.make_due(conn, operation_id)
            with db.writer() as conn:
                operation_claims.postpone(conn, operation_id, 'me', 3600, op.next_run_at)
                claimable = project_turns.list_claimable(conn, 'nobody', '', 10, ['work'])
                self.assertEqual(hurry, operation_id in [row.id for row in claimable])

    def test_extension_is_not_blocked_by_the_capacity_it_claims(self):
        admin = self.caller(roles='admin,member,reader')
        manager = self.service.managers['alpha']
        db = self.service.services.db
        with db.writer() as conn:
            found = share_types.find(conn, context.admin(self.service.services), 'default')
            ((share_id, instance_id),) = factory.make(conn, 1, type_id=found.id)
        manager.driver.create_share(
            values.Share(id=instance_id, share_id=share_id, project_id='p', size=1, proto='NFS', pool='pool1')
        )
        manager._report()
        status, document, _ = admin.action(share_id, 'extend', {'new_size': 70})
        self.assertEqual(202, status, document)
        manager._report()  # the backend reports while the scheduler is busy
        self.service.scheduler.start()
        self.addCleanup(self.service.scheduler.stop)
        share = admin.wait(f'/shares/{share_id}', 'share', {'available', 'extending_error'})
        self.assertEqual(70, share['size'])
