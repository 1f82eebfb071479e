# SPDX-License-Identifier: Apache-2.0
"""Migrations whose destination dies before the cut-over: they are cancelled by force, and the copy is deleted later."""

import contextlib
import subprocess
import sys

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.db.queries import operations, share_migration, share_server_migration
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import test_share_migration, test_share_server_migration

_COPIED = 'migration_driver_phase1_done'


class Force:
    """Helpers for test cases that have ``service`` and ``admin``."""

    @contextlib.contextmanager
    def down(self, backend):
        """Stop the backend's share manager inside the block, and start a new one after it."""
        self.service.managers[backend].stop()
        try:
            yield
        finally:
            self.service.managers[backend] = ShareManager(self.service.services, backend)
            self.service.managers[backend].start()
            self.service.wait_for_pool(backend)

    def manage(self, *words, status=0):
        """Run ``manila-manage`` as an operator would. Return what it printed."""
        config = self.service.state / 'manila_lite.conf'
        done = subprocess.run(
            [sys.executable, '-m', 'manila_lite.cmd.manage', f'--config-file={config}', *words],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def findings(self, kind):
        """Return what the doctor finds wrong about operations of this kind."""
        return [
            found
            for found in doctor.list_findings(self.service.services)
            if found.wrong and found.about.startswith(kind)
        ]


class OfServers(Force, test_share_server_migration.MigrationTest):
    """A share server moves from ``alpha``; ``still`` cannot copy while clients write, ``gamma`` is another destination."""

    BACKENDS = {
        'alpha': test_share_server_migration.BACKEND.format('here'),
        'beta': test_share_server_migration.BACKEND.format('here'),
        'gamma': test_share_server_migration.BACKEND.format('here'),
        'still': test_share_server_migration.BACKEND.format('here') + 'dummy_writable_migration = false\n',
    }

    def held(self, backend):
        """Return the ids of all shares, snapshots and servers that the backend has."""
        store = self.store(backend)
        with store.locked():
            return {
                record.id for record in (*store.shares.all(), *store.snapshots.all(), *store.servers.all())
            }

    def copied(self, host='test@beta', **more):
        """Make a server with two shares and a snapshot, and copy it. Return (server, shares, id of the target)."""
        server, shares = self.make_shares()
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})[
            'snapshot'
        ]
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.at_rest()
        self.assertEqual(202, self.start(server, host, **more)[0])
        self.task_is(server, _COPIED)
        return server, shares, self.act(server, 'migration_get_progress')[1]['destination_share_server_id']

    def is_free(self, server, shares):
        """Check that the source serves as before the migration, at once."""
        self.assertEqual(('active', 'migration_cancelled'), self.shows(server['id']))
        self.assertEqual(
            {'available'},
            {self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'] for share in shares},
        )
        self.assertEqual(
            {'available'},
            {
                row['status']
                for row in self.admin.ok('GET', f'/snapshots/detail?share_id={shares[0]["id"]}')['snapshots']
            },
        )

    def shows(self, server_id):
        found = self.admin.ok('GET', f'/share-servers/{server_id}')['share_server']
        return found['status'], found['task_state']

    def test_forced_cancel_frees_the_source_at_once_and_the_copy_is_deleted_when_the_destination_returns(
        self,
    ):
        before = self.held('beta')
        network = self.make_network('other')
        server, shares, target = self.copied(new_share_network_id=network)
        with self.down('beta'):
            self.assertLess(before, self.held('beta'))
            self.assertEqual(202, self.act(server, 'migration_cancel')[0])
            self.task_is(server, 'migration_cancel_in_progress')
            self.assertEqual(
                202, self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})[0]
            )
            self.is_free(server, shares)
            self.assertEqual('deleting', self.shows(target)[0])
            more = self.admin.share(
                share_type='served',
                share_network_id=self.network,
                scheduler_hints={'only_host': 'test@alpha#' + self.pool('alpha')},
            )
            self.assertEqual(
                server['id'], self.admin.ok('GET', f'/shares/{more["id"]}')['share']['share_server_id']
            )
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual(before, self.held('beta'))
        self.admin.ok('DELETE', f'/share-networks/{network}')  # no address is left in it
        self.assertEqual(
            [],
            [
                found
                for found in doctor.list_findings(self.service.services)
                if found.id in (server['id'], target)
            ],
        )
        self.assertEqual(202, self.start(server)[0])
        self.task_is(server, _COPIED)
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')

    def test_command_of_our_own_cancels_by_force(self):
        server, shares, target = self.copied()
        with self.down('beta'):
            self.assertIn('--force', self.manage('migration', 'cancel', server['id'], status=2))
            self.assertIn(
                f'{server["id"]} is cancelled', self.manage('migration', 'cancel', '--force', server['id'])
            )
            self.is_free(server, shares)
            self.assertIn(
                'in progress', self.manage('migration', 'cancel', '--force', server['id'], status=1)
            )
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')

    def test_doctor_says_how_and_mends_what_was_cancelled(self):
        server, shares, target = self.copied()
        with self.down('beta'):
            [found] = self.findings(share_server_migration.KIND)
            self.assertIn(f'manila-manage migration cancel --force {server["id"]}', found.why)
            self.assertIsNone(found.mend, 'nobody wants it to end yet')
            self.act(server, 'migration_cancel')
            self.task_is(server, 'migration_cancel_in_progress')
            [found] = self.findings(share_server_migration.KIND)
            self.assertIn('deletes the copy', doctor.mend(self.service.services, found))
            self.is_free(server, shares)
            self.assertEqual([], self.findings(share_server_migration.KIND))
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')

    def test_resets_by_hand_never_lead_to_500(self):
        server, shares, target = self.copied()
        with self.down('beta'):
            self.assertEqual(202, self.act(server, 'reset_task_state', {'task_state': None})[0])
            self.assertEqual(202, self.act(server, 'reset_status', {'status': 'active'})[0])
            for share in shares:
                self.admin.action(share['id'], 'reset_status', {'status': 'available'})
            self.admin.ok(
                'POST',
                f'/snapshots/{self.snapshot_of(shares[0])}/action',
                {'reset_status': {'status': 'available'}},
            )
            status, document = self.start(server, 'test@gamma')
            self.assertEqual((409, True), (status, 'has not ended' in str(document)), document)
            [found] = self.findings(share_server_migration.KIND)
            self.assertIsNotNone(doctor.mend(self.service.services, found))
            self.assertEqual(202, self.start(server, 'test@gamma')[0])
            self.task_is(server, _COPIED)
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.assertIn('@gamma', self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')['host'])

    def snapshot_of(self, share):
        return self.admin.ok('GET', f'/snapshots?share_id={share["id"]}')['snapshots'][0]['id']

    def test_no_migration_to_a_backend_that_still_has_the_copy(self):
        server, shares, target = self.copied()
        self.service.knob('beta', 'share_server_migration_cancel:hang')
        self.assertEqual(202, self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})[0])
        self.is_free(server, shares)
        status, document = self.start(server)
        self.assertEqual((409, True), (status, 'still has to delete' in str(document)), document)
        self.assertEqual(202, self.start(server, 'test@gamma')[0])
        self.task_is(server, _COPIED)
        self.service.knob('beta', '')
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')

    def test_failed_note_is_repeated_by_deleting_the_target(self):
        before = self.held('beta')
        server, _, target = self.copied()
        self.service.knob('beta', 'share_server_migration_cancel:fail_final')
        self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'error')
        self.service.knob('beta', '')
        self.admin.ok('DELETE', f'/share-servers/{target}')
        self.assertEqual(before, self.held('beta'))

    def test_rules_are_writable_again_at_once(self):
        server, [share] = self.make_shares(1)
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.1.0.0/20'})
        self.at_rest()
        self.assertEqual(202, self.start(server, 'test@still', writable=False)[0])
        self.task_is(server, _COPIED)
        with self.down('still'):
            self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})
            base.eventually(
                lambda: (
                    [level for _, _, level in self.store('alpha').share(self.instance(share)).rules.values()]
                    == ['rw']
                ),
                'the rules stay read-only',
            )

    def test_forced_cancel_is_refused_after_the_beginning_of_the_cut_over(self):
        server, shares, _ = self.copied()
        self.service.knob('beta', 'share_server_migration_complete:hang')
        self.act(server, 'migration_complete')

        def cuts():
            with self.service.services.db.reader() as conn:
                return share_server_migration.last(conn, server['id']).data.get('cut')

        base.eventually(cuts, 'the cut-over does not begin')
        self.assertIn(
            'cut-over has begun', self.manage('migration', 'cancel', '--force', server['id'], status=1)
        )
        self.service.knob('beta', '')
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')


class OfShares(Force, test_share_migration.MigrationTest):
    """A share moves by itself from ``alpha``."""

    BACKENDS = {name: test_share_migration.BACKEND.format('here') for name in ('alpha', 'beta', 'gamma')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_type('plain')

    def copied(self):
        share = self.make()
        self.take(share)
        self.assertEqual(202, self.start(share)[0])
        self.task_is(share, _COPIED)
        return share

    def copied_elsewhere(self, share):
        """Cancel the migration by force, and have the share copied to ``gamma``."""
        self.manage('migration', 'cancel', '--force', share['id'])
        self.is_free(share)
        self.assertEqual(202, self.start(share, 'test@gamma')[0])
        self.task_is(share, _COPIED)

    def is_free(self, share):
        shown = self.shown(share)
        self.assertEqual(('available', 'migration_cancelled'), (shown['status'], shown['task_state']))

    def test_forced_cancel_frees_the_share_at_once_and_the_copy_is_deleted_when_the_destination_returns(self):
        held = self.held_at_rest('beta')
        share = self.copied()
        with self.down('beta'):
            self.assertEqual(202, self.act(share, 'migration_cancel')[0])
            self.task_is(share, 'migration_cancel_in_progress')
            self.assertEqual(
                202, self.act(share, 'reset_task_state', {'task_state': 'migration_cancelled'})[0]
            )
            self.is_free(share)
            self.admin.action(share['id'], 'extend', {'new_size': 3})
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.is_as_before(share, held)

    def test_copy_is_not_forgotten_if_the_process_dies_too_often_in_the_cancellation(self):
        held = self.held_at_rest('beta')
        share = self.copied()
        with self.down('beta'):
            self.act(share, 'migration_cancel')
            with self.service.services.db.writer() as conn:
                op = share_migration.last(conn, share['id'])
                conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id == op.id)
                    .values(
                        undoing=True,
                        step=operations.step_names(op).index('start'),
                        attempts=self.service.conf.operations.max_attempts,
                        error_code='migration_cancelled',
                    )
                )
        self.task_is(share, 'migration_cancelled')
        self.assertEqual({share['host']: 'available', 'test@beta#pool1': 'error'}, self.instances(share))
        told = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertIn('could not be deleted', ' '.join(row['user_message'] for row in told))
        [left] = [
            row['id']
            for row in self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
            if row['status'] == 'error'
        ]
        self.admin.ok('POST', f'/share_instances/{left}/action', {'force_delete': None})
        self.is_as_before(share, held)

    def test_share_moves_elsewhere_while_the_destination_is_down(self):
        held = self.held_at_rest('beta')
        share = self.copied()
        with self.down('beta'):
            self.copied_elsewhere(share)
            self.act(share, 'migration_complete')
            self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual(['test@gamma#pool1'], list(self.instances(share)))
        self.assertEqual(held, self.held('beta'))

    def test_later_move_is_a_success_while_the_destination_of_the_first_is_down(self):
        share = self.copied()
        with self.down('beta'):
            self.copied_elsewhere(share)
            with self.down('alpha'):
                self.act(share, 'migration_complete')
                self.task_is(share, 'migration_completing')
            self.task_is(share, 'migration_success')
        self.at_rest()

    def test_share_is_deleted_while_the_destination_is_down(self):
        held = self.held_at_rest('beta')
        share = self.make()
        self.start(share)
        self.task_is(share, _COPIED)
        with self.down('beta'):
            self.act(share, 'reset_task_state', {'task_state': 'migration_cancelled'})
            self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.at_rest()
        self.assertEqual(held, self.held('beta'))

    def test_doctor_mends_what_was_cancelled(self):
        share = self.copied()
        with self.down('beta'):
            self.act(share, 'migration_cancel')
            self.task_is(share, 'migration_cancel_in_progress')
            [found] = self.findings(share_migration.KIND)
            self.assertIsNotNone(doctor.mend(self.service.services, found))
            self.is_free(share)
            wrong = [
                found for found in doctor.list_findings(self.service.services) if found.wrong and found.mend
            ]
            self.assertEqual([], wrong)
        self.at_rest()

    def test_resets_by_hand_never_lead_to_500(self):
        share = self.copied()
        with self.down('beta'):
            self.act(share, 'reset_task_state', {'task_state': None})
            self.act(share, 'reset_status', {'status': 'available'})
            for action, body in (
                ('extend', {'new_size': 5}),
                ('migration_start', {**test_share_migration.WANTED, 'host': 'test@gamma'}),
            ):
                status = self.act(share, action, body)[0]
                self.assertIn(status, (202, 400, 409), action)
        self.at_rest()
        with self.service.services.db.reader() as conn:
            [op] = operations.list_of_resource(conn, share['id'], share_migration.KIND)
        self.assertEqual('failed', op.state)
