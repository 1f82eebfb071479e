# SPDX-License-Identifier: Apache-2.0
"""Nothing is lost or left over by a migration: shares deleted meanwhile, and backends that are away for a moment."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.db.queries import operations
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import test_share_migration, test_share_server_migration


def outlast_no_lease(case):
    """Let the lease be longer than the failures of the test, on the slowest machine."""
    case.service.conf.set_override('lease', waiting.LIMIT, 'operations')
    case.addCleanup(case.service.conf.clear_override, 'lease', 'operations')


class OfServers(test_share_server_migration.MigrationTest):
    """A share server moves from ``alpha`` to ``beta``."""

    BACKENDS = {name: test_share_server_migration.BACKEND.format('here') for name in ('alpha', 'beta')}

    def held(self, backend):
        store = self.store(backend)
        with store.locked():
            return {record.id for record in (*store.shares.all(), *store.snapshots.all())}

    def refused(self, share):
        """Check that no way to delete the share or its snapshot works."""
        for action in ('force_delete', 'soft_delete', 'unmanage'):
            status, document, _ = self.admin.action(share['id'], action)
            self.assertIn(status, (400, 403, 409), document)
        self.assertIn(self.admin.call('DELETE', f'/shares/{share["id"]}')[0], (400, 403, 409))

    def test_share_cannot_be_deleted_while_its_server_moves_and_the_move_goes_on(self):
        server, shares = self.make_shares()
        self.reaches_its_target(server)
        self.refused(shares[0])
        self.assertIn('with its share server', str(self.admin.action(shares[0]['id'], 'force_delete')[1]))
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        for share in shares:
            self.assertIn('@beta', self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')['host'])

    def test_nothing_leaks_by_deletions_after_a_failed_cut_over(self):
        self.at_rest()
        before = self.held('alpha'), self.held('beta')
        server, shares = self.make_shares()
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[1]['id']}})[
            'snapshot'
        ]['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.reaches_its_target(server)
        self.service.knob('beta', 'share_server_migration_complete:fail_final_after')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        for share in shares:
            self.refused(share)
        self.assertEqual(403, self.admin.call('DELETE', f'/snapshots/{snapshot}')[0])
        self.service.knob('beta', '')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        for share in shares:
            self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.at_rest()
        self.assertEqual(before, (self.held('alpha'), self.held('beta')))

    def test_share_can_be_deleted_after_a_cancelled_move(self):
        server, shares = self.make_shares()
        self.reaches_its_target(server)
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.at_rest()
        self.admin.ok('DELETE', f'/shares/{shares[0]["id"]}')

    def test_backend_that_is_away_for_a_moment_does_not_fail_the_cut_over(self):
        server, shares = self.make_shares()
        self.reaches_its_target(server)
        outlast_no_lease(self)
        # More tries than any other step gets.
        self.service.knob('beta', 'share_server_migration_complete:fail@times=12')
        self.act(server, 'migration_complete')
        for share in shares:
            self.assertIn('@beta', self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')['host'])

    def test_cut_over_that_fails_for_longer_than_the_lease_says_that_it_can_be_repeated(self):
        server, [share] = self.make_shares(1)
        self.reaches_its_target(server)
        self.service.conf.set_override('lease', 2.0, 'operations')
        self.addCleanup(self.service.conf.clear_override, 'lease', 'operations')
        self.service.knob('beta', 'share_server_migration_complete:fail')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        for resource in (server, share):
            [message] = self.admin.ok('GET', f'/messages?resource_id={resource["id"]}')['messages']
            self.assertIn('can repeat migration_complete', message['user_message'])
        outlast_no_lease(self)  # More failures than an operation has tries follow.
        self.service.knob('beta', 'share_server_migration_complete:fail@times=5')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')


class OfShares(test_share_migration.MigrationTest):
    """A share moves by itself from ``alpha`` to ``beta``."""

    BACKENDS = {name: test_share_migration.BACKEND.format('here') for name in ('alpha', 'beta')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_type('plain')

    def copied(self):
        share = self.make()
        self.assertEqual(202, self.start(share)[0])
        self.task_is(share, 'migration_driver_phase1_done')
        return share

    def test_share_is_not_deleted_during_a_move_and_both_copies_are_deleted_after_a_failed_cut_over(self):
        self.at_rest()
        before = self.held('alpha'), self.held('beta')
        share = self.copied()
        self.assertIn(self.act(share, 'force_delete')[0], (400, 403, 409))
        self.service.knob('beta', 'share_migration_complete:fail_final_after')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_error')
        self.service.knob('beta', '')
        self.assertEqual(202, self.act(share, 'force_delete')[0])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')
        self.at_rest()
        self.assertEqual(before, (self.held('alpha'), self.held('beta')))

    def test_copy_that_may_have_the_only_data_is_not_deleted_after_a_failed_cut_over(self):
        share = self.copied()
        self.service.knob('beta', 'share_migration_complete:fail_final_after')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_error')
        target = self.second(share)
        status, document, _ = self.admin.call(
            'POST', f'/share_instances/{target}/action', {'force_delete': None}
        )
        [fault] = document.values()
        self.assertEqual((403, 'cut_over_failed'), (status, fault['reason']), fault)
        self.assertIn('Repeat migration_complete', fault['next'])
        self.assertIn(target, self.held('beta'))
        self.service.knob('beta', '')
        self.assertEqual(202, self.act(share, 'migration_complete')[0])
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))

    def test_share_whose_migration_is_parked_is_not_deleted(self):
        self.at_rest()
        before = self.held('alpha'), self.held('beta')
        share, table = self.copied(), models.operations
        with self.service.services.db.writer() as conn:
            parked = table.update().where(
                table.c.resource_id == share['id'], table.c.kind == 'share.migrate', table.c.state == 'open'
            )
            self.assertEqual(1, conn.execute(parked.values(state='parked', unique_key=None)).rowcount)
        status, document = self.act(share, 'force_delete')
        self.assertEqual(403, status, document)
        self.assertIn('is being moved to another backend', str(document))
        self.assertEqual(202, self.act(share, 'reset_task_state', {'task_state': 'migration_cancelled'})[0])
        self.at_rest()
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(before, (self.held('alpha'), self.held('beta')))

    def test_source_is_deleted_with_its_snapshots_long_after_the_deletion_failed(self):
        self.at_rest()
        before = self.held('alpha'), self.held('beta')
        share = self.make()
        snapshot, source = self.take(share), self.instance(share)
        self.service.knob('alpha', 'delete_share:fail_final', 'delete_snapshot:fail_final')
        self.move(share)
        self.service.knob('alpha', '')
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        with self.service.services.db.writer() as conn:
            operations.delete_ended(conn, timeutils.utcnow() + datetime.timedelta(days=1))
        self.admin.call('POST', f'/share_instances/{source}/action', {'force_delete': None})
        self.at_rest()
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(before, (self.held('alpha'), self.held('beta')))

    def second(self, share):
        """Return the id of the share's instance on ``beta``."""
        found = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return next(row['id'] for row in found if '@beta' in row['host'])

    def test_backend_that_is_away_for_a_moment_does_not_fail_the_cut_over(self):
        share = self.copied()
        outlast_no_lease(self)
        self.service.knob('beta', 'share_migration_complete:fail@times=12')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        base.eventually(
            lambda: list(self.instances(share)) == ['test@beta#pool1'], 'the source is not deleted'
        )
