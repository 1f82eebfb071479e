# SPDX-License-Identifier: Apache-2.0
"""Shares that are not moved to another backend, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.tests.functional import refused, refused_moves
from manila_lite.tests.functional.refused_moves import TO, WANTED


class Shares(refused_moves.Moving):
    """Single shares."""

    def start_no(self, share, status, code, words, **more):
        """Check that the migration of the share is refused."""
        self.no(
            status,
            code,
            words,
            f'/shares/{share}/action',
            {'migration_start': {**WANTED, 'preserve_metadata': True, **more}},
            self.admin,
        )

    def test_unknown_disabled_or_down_backends_are_refused(self):
        share = self.share()
        self.start_no(
            share, 404, 'backend_not_found', "host: 'beta' is not a backend; give host@backend", host='beta'
        )
        self.start_no(
            share, 404, 'backend_not_found', 'host: there is no backend test@gamma.', host='test@gamma'
        )
        self.backend_is(disabled=True)
        self.start_no(share, 400, 'backend_down', f'host: the backend {TO} is disabled.')
        self.backend_is(disabled=False, heartbeat_at=self.long_ago())
        self.start_no(share, 400, 'backend_down', f'host: the backend {TO} is down.')

    def test_migration_to_a_backend_that_does_not_answer_is_refused(self):
        self.start_no(
            self.share(), 409, 'backend_silent', 'The backend test@beta did not answer in time whether it can'
        )

    def test_migration_of_a_share_in_a_wrong_state_is_refused(self):
        share = self.share(status='error')
        words = 'it must be available, and its rules active.'
        self.start_no(
            share, 400, 'wrong_state', f'Share {share} is error and its access rules are active; {words}'
        )
        self.share_is(share, status='available', access_rules_status='syncing')
        self.start_no(
            share, 400, 'wrong_state', f'Share {share} is available and its access rules are syncing; {words}'
        )
        self.share_is(share, access_rules_status='active')
        self.put(models.shares, share, is_soft_deleted=True)
        self.start_no(share, 403, 'share_soft_deleted', f'Share {share} is in the recycle bin')

    def test_migration_of_a_share_with_a_replicated_type_is_refused(self):
        self.type('mirrored', replication_type='dr')
        share = self.share(share_type='mirrored')
        self.start_no(
            share, 409, 'conflict', f'Share {share} has a share type with replicas (dr) and cannot be'
        )

    def test_migration_of_a_share_with_a_leftover_instance_is_refused(self):
        share = self.share()
        left = self.aside(share, host='test@gamma#pool1')
        self.start_no(
            share,
            409,
            'share_has_second_instance',
            f'left share instance {left} on test@gamma#pool1; delete that instance first.',
        )

    def test_migration_of_a_share_whose_target_was_just_made_is_refused(self):
        """Stand between the two questions of a request on PostgreSQL: a faster one begins to migrate the share there."""
        share = self.share()
        self.aside(share, host=None, status='migrating_to')
        self.start_no(share, 400, 'already_migrating', f'Share {share} is being migrated already.')

    def test_migration_to_a_type_without_its_qos_type_is_refused(self):
        self.start_no(
            self.share(),
            400,
            'share_type_without_qos_type',
            'promising refers to a QoS type that does not exist.',
            new_share_type_id=self.type('promising', default_qos_type='nonesuch'),
        )

    def test_migration_to_the_current_host_is_over_at_once(self):
        share = self.share()
        for how in (
            {},
            {'new_share_type_id': self.user.ok('GET', f'/shares/{share}')['share']['share_type']},
        ):
            self.put(models.shares, share, task_state='migration_cancelled')
            status, _, _ = self.admin.action(
                share, 'migration_start', {**WANTED, 'preserve_metadata': True, 'host': refused.HOST, **how}
            )
            self.assertEqual(200, status)
            shown = self.admin.ok('GET', f'/shares/{share}')['share']
            self.assertEqual(('migration_success', 'available'), (shown['task_state'], shown['status']))
            _, told, _ = self.admin.action(share, 'migration_get_progress', None)
            self.assertEqual((100, 'migration_success'), (told['total_progress'], told['task_state']))

    def test_migration_to_the_current_host_leaves_another_migration_alone(self):
        share = self.share()
        self.put(models.shares, share, task_state='migration_completing')
        self.start_no(
            share, 400, 'already_migrating', f'Share {share} is being migrated already.', host=refused.HOST
        )
        self.assertEqual(
            'migration_completing', self.admin.ok('GET', f'/shares/{share}')['share']['task_state']
        )

    def test_migration_that_cannot_keep_snapshots_is_refused(self):
        share = self.share()
        snapshot = self.snapshot(share, status='error')
        self.start_no(share, 400, 'wrong_state', f'Snapshot {snapshot} is error, not available.')
        self.put(models.snapshots, snapshot, status='available')
        self.start_no(
            share,
            409,
            'conflict',
            f'preserve_snapshots: share {share} has 1 snapshot that must move with it.',
            preserve_snapshots=False,
        )
        bare = self.type('bare', snapshot_support='False')
        self.start_no(
            share, 409, 'conflict', 'share type bare has no snapshot_support.', new_share_type_id=bare
        )
        growing = self.share(snapshot_id=snapshot, status='creating_from_snapshot')
        self.start_no(
            share, 400, 'wrong_state', f'Share {growing} is being created from a snapshot of share {share}.'
        )

    def test_migration_to_an_unsuitable_share_type_is_refused(self):
        share = self.share()
        small = self.type('small', **{'provisioning:min_share_size': '2'})
        self.start_no(
            share,
            400,
            'invalid_input',
            f'there is no share type {refused.NOWHERE}.',
            new_share_type_id=refused.NOWHERE,
        )
        self.start_no(
            share,
            400,
            'invalid_input',
            'size: 1 GiB is less than 2 GiB, the minimum of share type small.',
            new_share_type_id=small,
        )
        self.start_no(
            share,
            400,
            'invalid_input',
            'Share type far is for zones there; test@beta is in here.',
            new_share_type_id=self.type('far', availability_zones='there'),
        )

    def test_migration_to_an_unsuitable_share_network_is_refused(self):
        share = self.share()
        network, _ = self.network()
        self.start_no(
            share,
            400,
            'invalid_input',
            'share type default does not use share networks.',
            new_share_network_id=network,
        )
        served = self.type('with servers', driver_handles_share_servers='True')
        wants = {'new_share_type_id': served}
        self.start_no(
            share, 400, 'invalid_input', 'missing; share type with servers needs a share network.', **wants
        )
        self.start_no(
            share,
            400,
            'invalid_input',
            f'there is no share network {refused.NOWHERE}.',
            **wants,
            new_share_network_id=refused.NOWHERE,
        )
        strange, _ = self.network('q')
        self.start_no(
            share,
            400,
            'invalid_input',
            f'share network {strange} is of another project.',
            **wants,
            new_share_network_id=strange,
        )
        self.put(models.share_networks, network, status='error')
        self.start_no(
            share,
            400,
            'wrong_state',
            f'Share network {network} is error, not active.',
            **wants,
            new_share_network_id=network,
        )
        self.put(models.share_networks, network, status='active')
        self.backend_is(availability_zone_id=self.zones['there'])
        self.start_no(
            share,
            409,
            'conflict',
            f'Share network {network} has no subnet in zone there, where test@beta is.',
            **wants,
            new_share_network_id=network,
        )

    def test_host_assisted_migration_with_more_demands_is_refused(self):
        share, force = self.share(), {'force_host_assisted_migration': True}
        words = 'force_host_assisted_migration: cannot be combined with'
        self.start_no(
            share,
            400,
            'no_host_assisted_migration',
            f'{words} preserve_metadata, preserve_snapshots.',
            **force,
        )
        nothing = dict.fromkeys(
            ('writable', 'preserve_metadata', 'nondisruptive', 'preserve_snapshots'), False
        )
        for wants in nothing:
            self.start_no(
                share,
                400,
                'no_host_assisted_migration',
                f'{words} {wants}.',
                **force,
                **{**nothing, wants: True},
            )

    def test_migration_actions_without_a_migration_are_refused(self):
        share = self.share()
        for action in ('migration_complete', 'migration_get_progress'):
            self.no(
                400,
                'not_migrating',
                f'Share {share} is not being migrated.',
                f'/shares/{share}/action',
                {action: None},
                self.admin,
            )
        self.no(
            400,
            'not_migrating',
            f'The migration of share {share} cannot be cancelled: its task state is none.',
            f'/shares/{share}/action',
            {'migration_cancel': None},
            self.admin,
        )

    def test_retry_of_a_cut_over_is_refused_unless_both_ends_are_in_error(self):
        share = self.share()
        target = self.aside(share, status='available')
        self.broken_off(share, 'share.migrate', target)
        self.put(models.shares, share, task_state='migration_error')
        for words in ('to cut over it, it must be error.', 'to cut over to it, it must be error.'):
            self.no(
                400,
                'wrong_state',
                f'The share is available; {words}',
                f'/shares/{share}/action',
                {'migration_complete': None},
                self.admin,
            )
            self.share_is(share, status='error')
            self.put(models.share_instances, target, status='available')

    def test_retry_of_a_cut_over_that_did_not_fail_is_refused(self):
        for state, task, cut in (
            ('done', 'migration_success', True),
            ('open', 'migration_completing', True),
            ('failed', 'migration_cancelled', True),
            ('open', 'migration_error', True),
            ('failed', 'migration_error', False),
        ):
            share = self.share()
            self.broken_off(share, 'share.migrate', self.aside(share, status='error'), state, cut=cut)
            self.put(models.shares, share, task_state=task)
            self.share_is(share, status='error')
            self.no(
                400,
                'not_migrating',
                f'The migration of share {share} cannot be completed: its task state is {task}, not '
                'migration_driver_phase1_done.',
                f'/shares/{share}/action',
                {'migration_complete': None},
                self.admin,
            )
