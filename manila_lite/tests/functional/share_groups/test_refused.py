# SPDX-License-Identifier: Apache-2.0
"""Share groups, their shares and their snapshots that are refused, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.functional import refused


class Grouping(refused.Refusing):
    """Helpers for share groups, their snapshots and networks."""

    EXTRA = 'default_share_group_type = plain\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        specs = {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'}
        kinds = {
            'served': {'driver_handles_share_servers': 'True'},
            'replicated': {**specs, 'replication_type': 'dr'},
            'bare': {**specs, 'snapshot_support': 'False'},
            'encrypted': {**specs, 'encryption_support': 'share'},
        }
        for name, more in kinds.items():
            cls.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': more}})
        cls.kinds = {kind['name']: kind['id'] for kind in cls.admin.ok('GET', '/types')['share_types']}
        cls.group_types = {
            name: cls.admin.ok(
                'POST', '/share-group-types', {'share_group_type': {'name': name, 'share_types': found}}
            )['share_group_type']['id']
            for name, found in (
                ('plain', ['default']),
                ('served', ['served']),
                ('mixed', ['default', *kinds]),
            )
        }

    def group(self, kind='plain', **wanted):
        """Make a group that has a host; return its id."""
        group_id = self.user.ok(
            'POST',
            '/share-groups',
            {'share_group': {'share_group_type_id': self.group_types[kind], **wanted}},
        )['share_group']['id']
        self.put(models.share_groups, group_id, status='available', host=refused.HOST)
        return group_id

    def taken(self, group):
        """Make an available snapshot of the group; return its id."""
        group_snapshot_id = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group}}
        )['share_group_snapshot']['id']
        self.put(models.share_group_snapshots, group_snapshot_id, status='available')
        return group_snapshot_id

    def network(self):
        """Make a share network; return its id."""
        return self.in_network(
            self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        )

    def group_no(self, words, status=400, code='invalid_input', caller=None, **wanted):
        """Check that a request for such a group is refused."""
        self.no(status, code, words, '/share-groups', {'share_group': wanted}, caller)


class Groups(Grouping):
    """Groups that are not made."""

    def test_request_without_a_type_is_refused_if_no_default_type_exists(self):
        self.option('default_share_group_type', 'nonesuch')
        self.group_no("share_group_type_id: the default share group type 'nonesuch' does not exist.")
        self.option('default_share_group_type', '')
        self.group_no('share_group_type_id: missing, and no default share group type is configured.')

    def test_unknown_foreign_or_mixed_share_types_are_refused(self):
        self.group_no(
            f'share_types: there is no share type {refused.NOWHERE}.', share_types=[refused.NOWHERE]
        )
        self.group_no(
            f'share_types: share group type plain has no share type {self.kinds["served"]}.',
            share_types=[self.kinds['served']],
        )
        self.group_no(
            'share_types: all or none of them must use share networks',
            share_group_type_id=self.group_types['mixed'],
            share_types=[self.kinds['default'], self.kinds['served']],
        )
        self.option('default_share_type', '')
        self.group_no('share_types: missing, and no default share type is configured.')

    def test_unneeded_missing_or_inactive_share_network_is_refused(self):
        network = self.network()
        self.group_no(
            'share_network_id: the share types do not use share networks.', share_network_id=network
        )
        served = {'share_group_type_id': self.group_types['served'], 'share_types': [self.kinds['served']]}
        self.group_no('share_network_id: missing; the share types need a share network.', **served)
        self.put(models.share_networks, network, status='error')
        self.group_no(
            f'share_network_id: share network {network} is not active.',
            400,
            'share_network_not_active',
            share_network_id=network,
            **served,
        )

    def test_groups_and_group_snapshots_over_quota_are_refused(self):
        group = self.group()
        self.admin.ok(
            'PUT',
            '/quota-sets/p',
            {'quota_set': {'share_groups': 0, 'share_group_snapshots': 0, 'force': True}},
        )
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        self.group_no('Quota exceeded for share_groups:', 413, 'over_quota_share_groups')
        self.no(
            413,
            'over_quota_share_group_snapshots',
            'Quota exceeded for share_group_snapshots:',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group}},
        )

    def test_group_unlike_its_source_group_snapshot_is_refused(self):
        group = self.group()
        source = {'source_share_group_snapshot_id': self.taken(group)}
        self.group_no(
            'share_types: not allowed together with source_share_group_snapshot_id.',
            share_types=[self.kinds['default']],
            **source,
        )
        self.group_no(
            'availability_zone: must be null, the zone of the group snapshot.',
            availability_zone='here',
            **source,
        )
        self.group_no(
            f'share_group_type_id: must be {self.group_types["plain"]}, the type of the group snapshot.',
            share_group_type_id=self.group_types['served'],
            **source,
        )
        self.group_no(
            'share_network_id: must be null, the share network of the group snapshot.',
            share_network_id=self.network(),
            **source,
        )

    def test_group_from_a_snapshot_of_shares_without_support_is_refused(self):
        group = self.group()
        share = self.share(share_group_id=group)
        snapshot = self.taken(group)
        self.put(models.shares, share, create_share_from_snapshot_support=False)
        self.group_no(
            f'the share type of share {share} does not support shares from snapshots.',
            source_share_group_snapshot_id=snapshot,
        )


class Members(Grouping):
    """Shares that are not made in a group, and requests that its members refuse."""

    def share_no(self, group, words, status=400, code='invalid_input', caller=None, **wanted):
        """Check that a request for such a share in the group is refused."""
        self.no(
            status,
            code,
            words,
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': group, **wanted}},
            caller,
        )

    def test_share_in_a_group_of_another_project_is_refused(self):
        group = self.group()
        for caller in (self.caller('q'), self.caller('q', roles='admin,member,reader')):
            self.share_no(
                group, f'Share group {group} could not be found.', 404, 'share_group_not_found', caller
            )

    def test_requests_for_a_group_without_a_host_are_refused(self):
        group = self.group()
        self.put(models.share_groups, group, host=None)
        self.share_no(group, f'share_group_id: share group {group} has no host: it was never created.')
        self.no(
            409,
            'wrong_state',
            f'share_group_id: share group {group} has no host: it was never created.',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group}},
        )

    def test_share_that_does_not_match_its_group_is_refused(self):
        group = self.group()
        mixed = self.group('mixed', share_types=[self.kinds['replicated'], self.kinds['encrypted']])
        self.share_no(
            group,
            f'share_type: share group {group} does not accept shares of type served.',
            share_type='served',
        )
        self.share_no(
            mixed,
            'share_type: shares of type replicated have replicas, and cannot be in a group.',
            share_type='replicated',
        )
        self.share_no(
            group, 'availability_zone: must be null, as for all shares', availability_zone='elsewhere'
        )
        self.share_no(
            group, 'share_network_id: must be null, as for all shares', share_network_id=self.network()
        )
        self.share_no(
            group,
            'scheduler_hints.only_host: not supported for shares of a group, which are on the host of the '
            'group.',
            caller=self.admin,
            scheduler_hints={'only_host': refused.HOST},
        )
        self.share_no(
            mixed,
            'encryption_key_ref: not supported for shares of a group.',
            400,
            'encryption_not_supported',
            share_type='encrypted',
            encryption_key_ref=refused.NOWHERE,
        )

    def test_group_snapshot_of_shares_without_snapshot_support_is_refused(self):
        group = self.group('mixed', share_types=[self.kinds['bare']])
        share = self.share(share_group_id=group, share_type='bare')
        self.no(
            409,
            'snapshots_not_supported',
            f'share_group_id: the share type of share {share} does not support snapshots.',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group}},
        )

    def test_replica_of_a_group_member_is_refused(self):
        group = self.group()
        share = self.share(share_group_id=group)
        self.put(models.shares, share, replication_type='dr')
        self.no(
            400,
            'share_in_group',
            f'share_id: share {share} is a member of share group {group}.',
            '/share-replicas',
            {'share_replica': {'share_id': share}},
        )

    def test_migration_of_a_single_group_member_is_refused(self):
        group = self.group()
        share = self.share(share_group_id=group)
        self.insert_service()
        self.no(
            409,
            'conflict',
            f'Share {share} is in share group {group}; the migration would split the group.',
            f'/shares/{share}/action',
            {
                'migration_start': {
                    'host': 'test@beta',
                    'writable': False,
                    'nondisruptive': False,
                    'preserve_snapshots': True,
                    'preserve_metadata': True,
                }
            },
            self.admin,
        )

    def insert_service(self):
        self.option('service_down_time', 86400)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.services.insert(),
                [
                    {
                        'host': 'test@beta',
                        'binary': 'manila-share',
                        'topic': 'share',
                        'heartbeat_at': self.now(),
                        'availability_zone_id': service_rows.zone_id(conn, 'here', create=True),
                    }
                ],
            )


class Types(Grouping):
    """Group types that are deleted, or refused to be."""

    def test_group_type_is_deleted_only_when_no_group_uses_it(self):
        group_type_id = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.getUniqueString(), 'share_types': ['default']}},
        )['share_group_type']['id']
        self.group_types['brief'], path = group_type_id, f'/share-group-types/{group_type_id}'
        group = self.group('brief')
        self.no(
            400,
            'share_group_type_in_use',
            f'Share group type {group_type_id} is in use by share groups',
            path,
            caller=self.admin,
        )
        with self.service.services.db.writer() as conn:
            conn.execute(models.share_groups.delete().where(models.share_groups.c.id == group))
        self.admin.ok('DELETE', path)
        for method in ('GET', 'DELETE'):
            self.no(
                404,
                'share_group_type_not_found',
                f'Share group type {group_type_id} could not be found.',
                path,
                None,
                self.admin,
                method,
            )


class Going(Grouping):
    """Groups, group snapshots and share networks that are not deleted."""

    def test_delete_of_a_group_with_snapshots_is_refused(self):
        group = self.group()
        self.taken(group)
        self.no(
            409,
            'share_group_has_snapshots',
            f'Share group {group} has 1 snapshot; delete it first.',
            f'/share-groups/{group}',
        )

    def test_delete_of_a_group_snapshot_is_refused_while_a_share_is_made_of_it(self):
        group = self.group()
        share = self.share(share_group_id=group)
        snapshot = self.taken(group)
        other = self.group(source_share_group_snapshot_id=snapshot)
        [growing] = [
            row['id'] for row in self.user.ok('GET', f'/shares/detail?share_group_id={other}')['shares']
        ]
        self.assertNotEqual(share, growing)
        self.no(
            409,
            'wrong_state',
            f'Share {growing} is being created from share group snapshot {snapshot}; wait until it '
            'is available.',
            f'/share-group-snapshots/{snapshot}',
        )

    def test_delete_of_a_share_network_with_a_group_is_refused(self):
        network = self.network()
        self.group('served', share_types=[self.kinds['served']], share_network_id=network)
        self.no(
            409,
            'share_network_in_use',
            f'Share network {network} is used by 1 share group.',
            f'/share-networks/{network}',
        )
