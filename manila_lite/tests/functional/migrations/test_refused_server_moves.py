# SPDX-License-Identifier: Apache-2.0
"""Share servers that are not moved to another backend, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.tests.functional import refused, refused_moves
from manila_lite.tests.functional.refused_moves import WANTED

_GONE_BY = ('migration_success', 'migration_error', 'migration_cancelled')


class Servers(refused_moves.Moving):
    """Share servers with their shares, groups and snapshots."""

    def start_no(self, server, status, code, words, **more):
        """Check that both the migration of the server and the check of one are refused."""
        for action in ('migration_start', 'migration_check'):
            self.no(
                status,
                code,
                words,
                f'/share-servers/{server}/action',
                {action: {**WANTED, 'host': 'test@beta', **more}},
                self.admin,
            )

    def test_migration_of_a_server_in_error_is_refused(self):
        _, _, server = self.served()
        self.put(models.share_servers, server, status='error')
        self.start_no(server, 409, 'wrong_state', f'Share server {server} is error, not active.')

    def test_migration_of_an_encrypted_server_is_refused(self):
        _, _, server = self.served()
        self.put(models.share_servers, server, encryption_key_ref=refused.NOWHERE)
        self.start_no(
            server,
            400,
            'share_server_encrypted',
            f'Share server {server} is encrypted and cannot be migrated.',
        )

    def test_migration_of_a_server_with_replicas_is_refused(self):
        share, _, server = self.served(replica_state='active')
        self.aside(share, replica_state='in_sync')
        self.start_no(
            server,
            409,
            'share_has_replicas',
            f'Share {share} on share server {server} has replicas; delete them first.',
        )

    def test_migration_of_an_empty_server_or_to_its_own_backend_is_refused(self):
        _, empty = self.network()
        self.start_no(
            empty, 409, 'conflict', f'Share server {empty} has no shares, so there is nothing to move.'
        )
        _, _, server = self.served()
        self.start_no(
            server,
            409,
            'conflict',
            f'Share server {server} is on test@alpha already, in the same share network.',
            host='test@alpha',
        )

    def group(self, **values):
        kinds = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.getUniqueString(), 'share_types': [self.kind]}},
        )['share_group_type']
        return self.insert(
            models.share_groups,
            share_group_type_id=kinds['id'],
            project_id='p',
            user_id='u',
            status='available',
            **values,
        )

    def test_migration_that_splits_a_group_is_refused(self):
        share, network, server = self.served()
        group = self.group(share_network_id=network, share_server_id=server)
        self.start_no(
            server,
            409,
            'conflict',
            f'Share group {group} is on share server {server}; the migration would split the group.',
        )
        self.put(models.share_groups, group, share_server_id=None)
        self.put(models.shares, share, share_group_id=group)
        self.start_no(
            server,
            409,
            'conflict',
            f'Share {share} is in share group {group}; the migration would split the group.',
        )

    def test_migration_is_refused_while_a_share_is_migrated_to_the_server(self):
        _, _, server = self.served()
        coming = self.share()
        self.aside(coming, share_server_id=server, status='migrating_to')
        self.start_no(
            server,
            409,
            'conflict',
            f'Share {coming} is being migrated to share server {server}, or a migration',
        )

    def test_migration_with_unhealthy_shares_or_snapshots_is_refused(self):
        share, _, server = self.served(status='error')
        self.start_no(
            server, 409, 'wrong_state', f'Share {share} is error and its access rules are active; every share'
        )
        self.share_is(share, status='available', access_rules_status='error')
        self.start_no(
            server,
            409,
            'wrong_state',
            f'Share {share} is available and its access rules are error; every share',
        )
        self.share_is(share, access_rules_status='active')
        self.put(models.shares, share, is_soft_deleted=True)
        self.start_no(
            server, 409, 'wrong_state', f'Share {share} is in the recycle bin and its access rules are active'
        )
        self.put(models.shares, share, is_soft_deleted=False, task_state='migration_in_progress')
        self.start_no(
            server, 409, 'conflict', f'Share {share} is busy: its task state is migration_in_progress.'
        )
        self.put(models.shares, share, task_state=None)
        snapshot = self.snapshot(share, status='error')
        self.start_no(server, 409, 'wrong_state', f'Snapshot {snapshot} is error, not available.')

    def test_migration_that_loses_snapshots_is_refused(self):
        """Check that snapshots cannot be left behind (issue 19, 14)."""
        share, _, server = self.served()
        self.snapshot(share)
        self.start_no(
            server,
            409,
            'conflict',
            f'preserve_snapshots: share server {server} has 1 snapshot that must move with it.',
            preserve_snapshots=False,
        )

    def test_share_with_an_ended_migration_does_not_block_a_check(self):
        share, _, server = self.served()
        for state in _GONE_BY:
            self.put(models.shares, share, task_state=state)
            self.no(
                409,
                'backend_silent',
                'The backend test@beta did not answer in time whether it can',
                f'/share-servers/{server}/action',
                {'migration_check': {**WANTED, 'host': 'test@beta'}},
                self.admin,
            )

    def test_migration_to_a_zone_without_a_subnet_is_refused(self):
        _, network, server = self.served()
        self.backend_is(availability_zone_id=self.zones['there'])
        self.start_no(
            server,
            409,
            'conflict',
            f'Share network {network} has no subnet in zone there, where test@beta is.',
        )

    def test_earlier_migration_of_a_share_does_not_block_its_server(self):
        share, _, server = self.served()
        for task in ('migration_success', 'migration_error', 'migration_cancelled'):
            self.put(models.shares, share, task_state=task)
            self.start_no(
                server, 409, 'backend_silent', 'The backend test@beta did not answer in time whether it can'
            )

    def test_nondisruptive_migration_to_another_network_is_refused(self):
        _, _, server = self.served()
        other, _ = self.network()
        self.no(
            400,
            'invalid_input',
            'nondisruptive: clients would notice a move into another share network.',
            f'/share-servers/{server}/action',
            {
                'migration_start': {
                    **WANTED,
                    'host': 'test@beta',
                    'nondisruptive': True,
                    'new_share_network_id': other,
                }
            },
            self.admin,
        )

    def test_copy_by_a_host_that_clients_do_not_notice_is_refused(self):
        _, _, server = self.served()
        self.no(
            400,
            'no_host_assisted_migration',
            'force_host_assisted_migration: cannot be combined with nondisruptive.',
            f'/share-servers/{server}/action',
            {
                'migration_start': {
                    **WANTED,
                    'host': 'test@beta',
                    'nondisruptive': True,
                    'force_host_assisted_migration': True,
                }
            },
            self.admin,
        )

    def test_retry_of_a_cut_over_is_refused_unless_both_ends_are_in_error(self):
        _, network, server = self.served()
        target = self.insert(
            models.share_servers,
            share_network_id=network,
            host='test@beta',
            status='active',
            source_share_server_id=server,
        )
        self.broken_off(server, 'share_server.migrate', target)
        self.put(models.share_servers, server, task_state='migration_error')
        for words in ('to cut over it, it must be error.', 'to cut over to it, it must be error.'):
            self.no(
                409,
                'wrong_state',
                f'The share server is active; {words}',
                f'/share-servers/{server}/action',
                {'migration_complete': None},
                self.admin,
            )
            self.put(models.share_servers, server, status='error')

    def test_retry_of_a_cut_over_that_did_not_fail_is_refused(self):
        for state, task, cut in (
            ('done', 'migration_success', True),
            ('open', 'migration_completing', True),
            ('failed', 'migration_cancelled', True),
            ('open', 'migration_error', True),
            ('failed', 'migration_error', False),
        ):
            _, network, server = self.served()
            target = self.insert(
                models.share_servers,
                share_network_id=network,
                host='test@beta',
                status='error',
                source_share_server_id=server,
            )
            self.broken_off(server, 'share_server.migrate', target, state, cut=cut)
            self.put(models.share_servers, server, task_state=task, status='error')
            self.no(
                400,
                'not_migrating',
                f'The migration of share server {server} cannot be completed: its task state is '
                f'{task}, not migration_driver_phase1_done.',
                f'/share-servers/{server}/action',
                {'migration_complete': None},
                self.admin,
            )

    def test_migration_actions_without_a_migration_are_refused(self):
        _, _, server = self.served()
        for action in ('migration_complete', 'migration_get_progress'):
            self.no(
                400,
                'not_migrating',
                f'Share server {server} is not being migrated.',
                f'/share-servers/{server}/action',
                {action: None},
                self.admin,
            )
        for action, status in (
            ('migration_get_progress', 400),
            ('migration_cancel', 404),
            ('migration_complete', 404),
        ):
            self.no(
                status,
                'share_server_not_found',
                f'Share server {refused.NOWHERE} could not be found.',
                f'/share-servers/{refused.NOWHERE}/action',
                {action: None},
                self.admin,
            )

    def test_migration_to_an_unknown_backend_is_not_found_unless_the_network_is_unknown_too(self):
        _, _, server = self.served()
        self.start_no(
            server, 404, 'backend_not_found', 'host: there is no backend fake@nowhere.', host='fake@nowhere'
        )
        self.start_no(
            server,
            400,
            'invalid_input',
            f'new_share_network_id: there is no share network {refused.NOWHERE}.',
            host='fake@nowhere',
            new_share_network_id=refused.NOWHERE,
        )
