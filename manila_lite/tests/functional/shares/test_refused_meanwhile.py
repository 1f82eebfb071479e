# SPDX-License-Identifier: Apache-2.0
"""Rows that change after a request has read them, and before it writes them: it is refused and changes nothing.

The other change is made in the same transaction, just before the statement that would not see it otherwise.
"""

from manila_lite.db import models
from manila_lite.tests import hush
from manila_lite.tests.functional import refused, refused_moves

_CHANGE = r'^UPDATE share_instances SET .*status='
_ANSWERED = r'^SELECT .*FROM operations'
_ASKED = r'^INSERT INTO operations'
_SNAPSHOTS = r'^UPDATE (share_)?snapshots'
_HELD = r'^UPDATE share_instances SET'
_SUPPORT = {'compatible': True, 'preserve_snapshots': True}
_ANSWER = models.operations.update().values(state='done', data={'support': _SUPPORT})


class Shares(refused.Refusing):
    """Shares that go to the recycle bin, lose a replica, offer or rule, or lose the race for a mount point name."""

    def setUp(self):
        super().setUp()
        name = self.getUniqueString()
        self.type(name, replication_type='dr', revert_to_snapshot_support='True')
        self.share_id = self.share(share_type=name, size=2)
        self.path = f'/shares/{self.share_id}/action'

    def binned(self, path, body, when=_HELD):
        """Check that the request is refused if the share goes to the recycle bin just before the statement ``when``."""
        table = models.shares
        with self.meanwhile(
            when, table.update().where(table.c.id == self.share_id).values(is_soft_deleted=True)
        ):
            self.no(
                403,
                'share_soft_deleted',
                f'Share {self.share_id} is in the recycle bin (soft deleted)',
                path,
                body,
            )
        self.assertEqual('available', self.user.ok('GET', f'/shares/{self.share_id}')['share']['status'])

    def test_changes_of_a_share_in_the_recycle_bin_are_refused(self):
        snapshot = self.snapshot(self.share_id)
        self.binned(self.path, {'extend': {'new_size': 3}}, _CHANGE)
        self.binned(self.path, {'shrink': {'new_size': 1}}, _CHANGE)
        self.binned(self.path, {'revert': {'snapshot_id': snapshot}}, _CHANGE)

    def test_copies_and_transfers_of_a_share_in_the_recycle_bin_are_refused(self):
        self.binned('/snapshots', {'snapshot': {'share_id': self.share_id}})
        self.binned('/share-replicas', {'share_replica': {'share_id': self.share_id}})
        self.binned('/share-backups', {'share_backup': {'share_id': self.share_id}})
        self.binned('/share-transfers', {'transfer': {'share_id': self.share_id}})

    def test_changes_and_copies_of_a_share_that_was_resized_are_refused(self):
        snapshot = self.snapshot(self.share_id)
        table = models.shares
        resized = table.update().where(table.c.id == self.share_id).values(size=4)
        for status, path, body, when in (
            (400, self.path, {'extend': {'new_size': 3}}, _CHANGE),
            (400, self.path, {'shrink': {'new_size': 1}}, _CHANGE),
            (409, self.path, {'revert': {'snapshot_id': snapshot}}, _CHANGE),
            (400, '/snapshots', {'snapshot': {'share_id': self.share_id}}, _HELD),
            (400, '/share-backups', {'share_backup': {'share_id': self.share_id}}, _HELD),
        ):
            with self.meanwhile(when, resized):
                said = f'Share {self.share_id} has got another size meanwhile: 4 GiB.'
                self.no(status, 'share_resized', said, path, body)
            share = self.user.ok('GET', f'/shares/{self.share_id}')['share']
            self.assertEqual(('available', 2), (share['status'], share['size']))

    def test_former_owner_of_a_share_that_was_accepted_meanwhile_finds_none(self):
        snapshot = self.snapshot(self.share_id)
        given = models.shares.update().where(models.shares.c.id == self.share_id).values(project_id='q')
        share = {'share_id': self.share_id}
        for path, body, when in (
            (self.path, {'extend': {'new_size': 3}}, _CHANGE),
            (self.path, {'shrink': {'new_size': 1}}, _CHANGE),
            (self.path, {'revert': {'snapshot_id': snapshot}}, _CHANGE),
            (self.path, {'soft_delete': None}, _HELD),
            ('/snapshots', {'snapshot': share}, _HELD),
            ('/share-backups', {'share_backup': share}, _HELD),
            ('/share-transfers', {'transfer': share}, _HELD),
            ('/share-replicas', {'share_replica': share}, _HELD),
            (f'/shares/{self.share_id}', None, _CHANGE),
        ):
            with self.meanwhile(when, given):
                answer = self.user.call('POST' if body else 'DELETE', path, body)
            self.assertIn(answer[0], (400, 404), (path, body, answer[1]))
            self.assertIn(f'{self.share_id} could not be found', str(answer[1]))
            row = self.user.ok('GET', f'/shares/{self.share_id}')['share']
            self.assertEqual(
                ('available', 'p', False), (row['status'], row['project_id'], row['is_soft_deleted'])
            )

    def test_snapshot_of_which_a_share_is_made_meanwhile_is_not_deleted(self):
        snapshot, share = self.snapshot(self.share_id), self.share(status='creating')
        made = models.shares.update().where(models.shares.c.id == share).values(snapshot_id=snapshot)
        with self.meanwhile(_SNAPSHOTS, made):
            status, said, _ = self.user.call('DELETE', f'/snapshots/{snapshot}')
        self.assertEqual(403, status, said)
        self.assertIn(f'Share {share} is being created from snapshot {snapshot}', str(said))
        self.assertEqual('available', self.user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])

    def test_no_share_is_made_of_a_snapshot_that_is_deleted_meanwhile(self):
        name = self.getUniqueString()
        self.type(name, create_share_from_snapshot_support='True')
        snapshot = self.snapshot(self.share(share_type=name))
        gone = models.snapshots.update().where(models.snapshots.c.id == snapshot).values(status='deleting')
        with self.meanwhile(_SNAPSHOTS, gone):
            wanted = {'share_proto': 'NFS', 'snapshot_id': snapshot, 'share_type': name}
            status, said, _ = self.user.call('POST', '/shares', {'share': wanted})
        self.assertEqual(400, status, said)
        self.assertIn(f'snapshot_id: snapshot {snapshot} is', str(said))

    def test_a_share_with_a_newer_snapshot_meanwhile_is_not_reverted(self):
        older, newer = self.snapshot(self.share_id), self.snapshot(self.share())
        taken = models.snapshots.update().where(models.snapshots.c.id == newer).values(share_id=self.share_id)
        with self.meanwhile(_CHANGE, taken):
            status, said, _ = self.user.call('POST', self.path, {'revert': {'snapshot_id': older}})
        self.assertEqual(409, status, said)
        self.assertIn('only the latest snapshot', str(said))
        self.assertEqual('available', self.user.ok('GET', f'/shares/{self.share_id}')['share']['status'])

    def test_promotion_of_a_replica_being_deleted_is_refused(self):
        replica = self.aside(self.share_id, replica_state='in_sync')
        table = models.share_instances
        with self.meanwhile(_CHANGE, table.update().where(table.c.id == replica).values(status='deleting')):
            self.no(
                400,
                'wrong_state',
                'The share is deleting; to promote it, it must be available.',
                f'/share-replicas/{replica}/action',
                {'promote': None},
            )
        self.assertEqual('available', self.user.ok('GET', f'/shares/{self.share_id}')['share']['status'])

    def test_accepted_transfer_is_not_accepted_again(self):
        share = self.share()
        offer = self.user.ok('POST', '/share-transfers', {'transfer': {'share_id': share}})['transfer']
        hush.keep(offer['auth_key'])
        table = models.share_transfers
        with self.meanwhile(r'^DELETE FROM share_transfers', table.delete()):
            self.no(
                404,
                'transfer_not_found',
                f'Transfer {offer["id"]} could not be found.',
                f'/share-transfers/{offer["id"]}/accept',
                {'accept': {'auth_key': offer['auth_key']}},
                self.caller('q'),
            )
        self.assertEqual('p', self.admin.ok('GET', f'/shares/{share}')['share']['project_id'])

    def test_lock_of_a_deleted_resource_is_refused(self):
        def lock_no(lock_id, kind, change):
            with self.meanwhile(r'^SELECT share_instances.id \nFROM share_instances', change):
                self.no(
                    400,
                    'resource_not_found',
                    f'resource_id: there is no {kind.replace("_", " ")} {lock_id}.',
                    '/resource-locks',
                    {'resource_lock': {'resource_id': lock_id, 'resource_type': kind}},
                )

        share = self.share()
        rule = self.rule(share)
        lock_no(rule, 'access_rule', models.access_rules.delete().where(models.access_rules.c.id == rule))
        lock_no(share, 'share', models.shares.delete().where(models.shares.c.id == share))
        self.assertEqual([], self.user.ok('GET', '/resource-locks')['resource_locks'])

    def test_a_rule_that_is_being_denied_is_not_denied_again(self):
        rule = self.rule(self.share_id)
        with self.meanwhile(r'^UPDATE \w*access_rules', models.access_rules.update().values(state='denying')):
            self.no(
                400,
                'wrong_state',
                'The access rule is denying; to revoke it, it must be',
                self.path,
                {'deny_access': {'access_id': rule}},
            )

    def test_a_rule_of_a_snapshot_that_is_being_denied_is_not_denied_again(self):
        path = f'/snapshots/{self.snapshot(self.share())}/action'
        rule = self.user.ok('POST', path, {'allow_access': {'access_type': 'ip', 'access_to': '10.0.0.1'}})[
            'snapshot_access'
        ]
        with self.meanwhile(
            r'^UPDATE snapshot_access', models.snapshot_access_rules.update().values(state='denying')
        ):
            self.no(
                400,
                'wrong_state',
                'The snapshot access rule is denying; to revoke it, it must be',
                path,
                {'deny_access': {'access_id': rule['id']}},
            )

    def test_snapshot_delete_is_refused_when_a_group_snapshot_begins(self):
        kind = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.getUniqueString(), 'share_types': ['default']}},
        )['share_group_type']['id']
        group = self.user.ok('POST', '/share-groups', {'share_group': {'share_group_type_id': kind}})[
            'share_group'
        ]['id']
        self.put(models.share_groups, group, status='available', host=refused.HOST)
        snapshot = self.snapshot(self.share(share_group_id=group))
        with self.meanwhile(
            r'^UPDATE share_groups',
            models.share_group_snapshots.insert().values(
                id=refused.NOWHERE, share_group_id=group, project_id='p', status='creating'
            ),
        ):
            self.no(
                403,
                'wrong_state',
                f'Share group snapshot {refused.NOWHERE} of the group of share',
                f'/snapshots/{snapshot}',
            )
        self.assertEqual('available', self.user.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])

    def test_mount_point_name_that_was_just_taken_is_refused(self):
        self.type('at a place', mount_point_name_support='True')
        with self.meanwhile(
            r'^INSERT INTO shares',
            models.shares.update()
            .where(models.shares.c.id == self.share_id)
            .values(mount_point_name='p_here'),
        ):
            self.no(
                409,
                'mount_point_name_exists',
                'mount_point_name: another share has the name p_here; choose',
                '/shares',
                {
                    'share': {
                        'size': 1,
                        'share_proto': 'NFS',
                        'share_type': 'at a place',
                        'mount_point_name': 'here',
                    }
                },
            )


class Networks(refused_moves.Moving):
    """Share networks and share servers that changed after their backends were asked."""

    def setUp(self):
        super().setUp()
        self.empty = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        self.addCleanup(self.user.ok, 'DELETE', f'/share-networks/{self.empty}')
        self.security = self.user.ok(
            'POST', '/security-services', {'security_service': {'type': 'kerberos'}}
        )['security_service']['id']

    def change_no(self, network, words, status=409, code='wrong_state'):
        """Check that the network gets no security service."""
        self.no(
            status,
            code,
            words,
            f'/share-networks/{network}/action',
            {'add_security_service': {'security_service_id': self.security}},
        )

    def test_network_that_became_inactive_is_not_changed(self):
        table = models.share_networks
        change = table.update().where(table.c.id == self.empty).values(status='error')
        with self.meanwhile(r'^UPDATE share_networks', change):
            self.change_no(self.empty, f'Share network {self.empty} is not active.')
        with self.meanwhile(r'^UPDATE share_networks', change):
            self.no(
                409,
                'wrong_state',
                f'Share network {self.empty} is not active.',
                f'/share-networks/{self.empty}/subnets',
                {'share-network-subnet': {}},
            )

    def test_security_service_that_was_just_deleted_is_not_found(self):
        gone = models.security_services.delete().where(models.security_services.c.id == self.security)
        said = 404, 'security_service_not_found', f'Security service {self.security} could not be found.'
        with self.meanwhile(r'^UPDATE security_services', gone):
            self.change_no(self.empty, said[2], *said[:2])
        with self.meanwhile(r'^UPDATE security_services', gone):
            self.no(*said, f'/security-services/{self.security}')

    def test_network_change_is_refused_if_its_servers_changed(self):
        network, server = self.network()
        self.put(models.share_servers, server, security_service_update_support=True)
        table, asked = models.share_servers, models.operations.update().values(state='done')
        mine = table.update().where(table.c.id == server)
        for when, change in (
            (r'^UPDATE share_networks', mine.values(identifier='another')),
            (r'^UPDATE share_servers', mine.values(status='error')),
        ):
            with self.meanwhile(_ANSWERED, asked, every=True), self.meanwhile(when, change):
                self.change_no(network, 'The share servers changed in the meantime; try again.')
        table = models.share_networks
        with (
            self.meanwhile(_ANSWERED, asked, every=True),
            self.meanwhile(
                r'^UPDATE share_networks SET .*status=',
                table.update().where(table.c.id == network).values(status='error'),
            ),
        ):
            self.change_no(network, 'The share network is error; to change it, it must be active.')


class Moves(refused_moves.Moving):
    """Shares and share servers that changed after their backend was asked whether they can move."""

    def row(self, table, resource_id, **values):
        """Return a statement that changes a row."""
        return table.update().where(table.c.id == resource_id).values(**values)

    def of(self, share, **values):
        """Return a statement that changes the instance of a share."""
        return (
            models.share_instances.update().where(models.share_instances.c.share_id == share).values(**values)
        )

    def moved_not(self, path, body, when, change, words, status, answer=_ANSWER):
        """Check that a migration does not start, because of a change just before the statement ``when``."""
        with self.meanwhile(_ANSWERED, answer, every=True), self.meanwhile(when, change):
            self.no(status, 'wrong_state', words, path, {'migration_start': body}, self.admin)

    def share_no(self, share, when, change, words):
        self.moved_not(
            f'/shares/{share}/action',
            {**refused_moves.WANTED, 'preserve_metadata': True},
            when,
            change,
            words,
            400,
        )
        self.assertEqual('available', self.user.ok('GET', f'/shares/{share}')['share']['status'])

    def test_share_that_changed_is_not_migrated(self):
        share = self.share()
        snapshot = self.snapshot(share)
        self.share_no(
            share,
            _ASKED,
            self.row(models.shares, share, size=2),
            f'Share {share} changed in the meantime; try again.',
        )
        self.share_no(
            share,
            _CHANGE,
            self.of(share, status='deleting'),
            'The share is deleting; to migrate it, it must be available.',
        )
        self.share_no(
            share,
            _SNAPSHOTS,
            self.row(models.snapshots, snapshot, status='deleting'),
            'A snapshot of the share changed in the meantime; try again.',
        )

    def test_server_that_changed_is_not_migrated(self):
        share, network, server = self.served()
        other = self.share(share_type=self.kind, share_network_id=network)
        self.share_is(other, share_server_id=server)
        snapshot = self.snapshot(share)
        path = f'/share-servers/{server}/action'
        for when, change, words in (
            (
                _ASKED,
                self.of(other, share_server_id=None),
                'The shares of the share server changed in the meantime',
            ),
            (
                r'^UPDATE share_servers',
                self.row(models.share_servers, server, status='error'),
                'The share server is error; to migrate it, it must be active.',
            ),
            (
                _CHANGE,
                self.of(share, status='deleting'),
                'A share of the share server changed in the meantime; try again.',
            ),
            (
                _SNAPSHOTS,
                self.row(models.snapshots, snapshot, status='deleting'),
                'A snapshot of the share server changed in the meantime; try again.',
            ),
        ):
            self.moved_not(path, {**refused_moves.WANTED, 'host': 'test@beta'}, when, change, words, 409)

    def test_migration_is_refused_if_the_destination_server_is_no_longer_idle(self):
        _, network, server = self.served()
        with self.service.services.db.reader() as conn:
            subnets = [
                row.id
                for row in conn.execute(
                    models.share_network_subnets.select().where(
                        models.share_network_subnets.c.share_network_id == network
                    )
                )
            ]
        idle = self.insert(models.share_servers, share_network_id=network, host='test@beta', status='active')
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_server_share_network_subnet_mappings.insert(),
                [{'share_server_id': idle, 'share_network_subnet_id': subnet} for subnet in subnets],
            )
        answer = models.operations.update().values(
            state='done', data={'support': {**_SUPPORT, 'server': idle}}
        )
        for when, change, words in (
            (
                r'^UPDATE share_servers SET .*source_share_server_id',
                self.row(models.share_servers, idle, status='error'),
                'The share server is error; to take in it, it must be active.',
            ),
            (
                r'^UPDATE share_networks',
                self.row(models.share_servers, idle, is_auto_deletable=False),
                f'The destination share server {idle} is no longer idle; try again.',
            ),
        ):
            self.moved_not(
                f'/share-servers/{server}/action',
                {**refused_moves.WANTED, 'host': 'test@beta'},
                when,
                change,
                words,
                409,
                answer,
            )

    def test_cut_over_in_progress_is_not_started_again(self):
        _, network, server = self.served(status='error')
        target = self.insert(
            models.share_servers,
            share_network_id=network,
            host='test@beta',
            status='error',
            source_share_server_id=server,
        )
        self.broken_off(server, 'share_server.migrate', target)
        self.put(models.share_servers, server, task_state='migration_error', status='error')
        alone = self.share(status='error')
        self.broken_off(alone, 'share.migrate', self.aside(alone, status='error'))
        self.put(models.shares, alone, task_state='migration_error')
        for path, status, what in (
            (f'/share-servers/{server}', 409, f'share server {server}'),
            (f'/shares/{alone}', 400, f'share {alone}'),
        ):
            with self.meanwhile(r'^UPDATE operations', models.operations.update().values(state='open')):
                self.no(
                    status,
                    'already_migrating',
                    f'The migration of {what} is already in progress.',
                    f'{path}/action',
                    {'migration_complete': None},
                    self.admin,
                )
