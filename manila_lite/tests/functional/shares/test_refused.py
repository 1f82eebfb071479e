# SPDX-License-Identifier: Apache-2.0
"""Requests to make, change, resize and revert shares that are refused, each with its code and reason."""

from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.functional import refused

_BASE = {'size': 2, 'share_proto': 'NFS'}


class Making(refused.Refusing):
    """Shares that are not made."""

    def share_no(self, words, status=400, code='invalid_input', caller=None, **wanted):
        """Check that a request for such a share is refused."""
        self.no(status, code, words, '/shares', {'share': {**_BASE, **wanted}}, caller)

    def zone(self, name):
        with self.service.services.db.writer() as conn:
            service_rows.zone_id(conn, name, create=True)

    def network(self):
        return self.in_network(
            self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        )

    def test_members_make_no_public_shares(self):
        self.share_no(
            'is_public: only administrators may create public shares.', 403, 'forbidden', is_public=True
        )
        share = self.share()
        self.no(
            403,
            'forbidden',
            'is_public: only administrators may make shares public.',
            f'/shares/{share}',
            {'share': {'is_public': True}},
            method='PUT',
        )

    def test_request_without_a_type_is_refused_if_no_default_type_exists(self):
        self.option('default_share_type', 'nonesuch')
        self.share_no("share_type: the default share type 'nonesuch' does not exist.")
        self.option('default_share_type', '')
        self.share_no('share_type: missing, and no default share type is configured.')

    def test_sizes_outside_the_limits_of_the_type_are_refused(self):
        sizes = {
            'provisioning:min_share_size': '2',
            'provisioning:max_share_size': '3',
            'provisioning:max_share_extend_size': '4',
        }
        self.type('sized', **sizes)
        self.share_no(
            'size: 1 GiB is less than 2 GiB, the minimum of share type sized.', share_type='sized', size=1
        )
        self.share_no(
            'size: 4 GiB is more than 3 GiB, the maximum of share type sized.', share_type='sized', size=4
        )
        share = self.share(share_type='sized', size=3)
        self.no(
            400,
            'invalid_input',
            'size: 5 GiB is more than 4 GiB, the maximum of share type sized.',
            f'/shares/{share}/action',
            {'extend': {'new_size': 5}},
        )
        self.no(
            400,
            'invalid_input',
            'size: 1 GiB is less than 2 GiB, the minimum of share type sized.',
            f'/shares/{share}/action',
            {'shrink': {'new_size': 1}},
        )

    def test_zone_that_the_type_excludes_is_refused(self):
        self.zone('here')
        self.type('elsewhere', availability_zones='there')
        self.share_no(
            'availability_zone: share type elsewhere is not offered in here.',
            share_type='elsewhere',
            availability_zone='here',
        )

    def test_metadata_of_the_service_set_by_members_is_refused(self):
        key = '__affinity_same_host'
        words = f'metadata: only administrators may set or delete {key}.'
        self.share_no(words, 403, 'forbidden', metadata={key: 'x'})
        share = self.share()
        self.no(403, 'forbidden', words, f'/shares/{share}/metadata', {'metadata': {key: 'x'}})
        self.no(403, 'forbidden', words, f'/shares/{share}/metadata/{key}')

    def test_metadata_above_the_limit_is_refused(self):
        self.option('metadata_items', 1, 'limits')
        self.share_no(
            'Limit metadata_items exceeded: the share may have 1 metadata key,',
            413,
            'over_limit_metadata_items',
            metadata={'a': 'x', 'b': 'x'},
        )

    def test_share_network_for_a_type_without_servers_is_refused(self):
        self.share_no(
            'share_network_id: the share type does not use share networks', share_network_id=refused.NOWHERE
        )

    def test_missing_or_unusable_share_network_is_refused(self):
        self.zone('far')
        self.type('served', driver_handles_share_servers='True')
        self.share_no('share_network_id: missing; the share type needs a share network.', share_type='served')
        network = self.network()
        self.put(models.share_networks, network, status='error')
        self.share_no(
            f'share_network_id: share network {network} is not active.',
            400,
            'share_network_not_active',
            share_type='served',
            share_network_id=network,
        )
        self.put(models.share_networks, network, status='active')
        [subnet] = self.user.ok('GET', f'/share-networks/{network}/subnets')['share_network_subnets']
        self.user.ok('DELETE', f'/share-networks/{network}/subnets/{subnet["id"]}')
        self.share_no(
            f'share_network_id: share network {network} has no subnet',
            share_type='served',
            share_network_id=network,
        )

    def test_share_unlike_its_snapshot_is_refused(self):
        share = self.share(size=3)
        snapshot = self.snapshot(share)
        self.share_no('size: 2 GiB is less than the 3 GiB of the snapshot.', snapshot_id=snapshot)
        self.share_no(
            'share_proto: must be NFS, the protocol of the snapshot.',
            snapshot_id=snapshot,
            share_proto='CIFS',
            size=3,
        )
        self.put(models.shares, share, create_share_from_snapshot_support=False)
        self.share_no(
            f'snapshot_id: the share type of share {share} does not support shares from snapshots.',
            snapshot_id=snapshot,
        )

    def test_share_from_a_snapshot_in_another_share_network_is_refused(self):
        self.type('beside', driver_handles_share_servers='True', create_share_from_snapshot_support='True')
        share = self.share(share_type='beside', share_network_id=self.network())
        self.share_no(
            'the share network of the share of the snapshot',
            snapshot_id=self.snapshot(share),
            share_type='beside',
            share_network_id=self.network(),
        )

    def test_hints_with_too_many_shares_or_a_members_host_are_refused(self):
        self.share_no(
            'scheduler_hints.only_host: only administrators may choose a host.',
            403,
            'forbidden',
            scheduler_hints={'only_host': refused.HOST},
        )
        many = ','.join(f'{number:08d}-0000-4000-8000-000000000000' for number in range(40))
        self.share_no(
            'scheduler_hints.same_host: names too many shares.', scheduler_hints={'same_host': many}
        )

    def test_keys_for_unsuitable_types_or_snapshots_are_refused(self):
        self.type('safe', encryption_support='share', create_share_from_snapshot_support='True')
        self.type('safer', encryption_support='share_server')
        key, words = {'encryption_key_ref': refused.NOWHERE}, 'encryption_key_ref: share type '
        self.share_no(
            f'{words}default does not support encryption (encryption_support).',
            400,
            'encryption_not_supported',
            **key,
        )
        self.share_no(
            f'{words}safer encrypts share servers, but does not use them.',
            400,
            'encryption_not_supported',
            share_type='safer',
            **key,
        )
        snapshot = self.snapshot(self.share(share_type='safe'))
        self.share_no(
            'encryption_key_ref: must be the key of the share of the snapshot',
            400,
            'encryption_key_differs',
            share_type='safe',
            snapshot_id=snapshot,
            **key,
        )

    def test_unsupported_long_or_taken_mount_point_names_are_refused(self):
        self.type('at a place', mount_point_name_support='True')
        self.share_no(
            'mount_point_name: share type default does not allow it',
            400,
            'mount_point_name_not_supported',
            mount_point_name='here',
        )
        self.share_no('has more than 255 characters.', share_type='at a place', mount_point_name='x' * 255)
        self.share(share_type='at a place', mount_point_name='here')
        self.share_no(
            'mount_point_name: another share has the name p_here; choose another one.',
            409,
            'mount_point_name_exists',
            share_type='at a place',
            mount_point_name='here',
        )

    def test_missing_size_or_disabled_protocol_is_refused(self):
        self.no(
            400,
            'invalid_input',
            'size: missing; give the size in GiB.',
            '/shares',
            {'share': {'share_proto': 'NFS'}},
        )
        self.share_no('share_proto: GLUSTERFS is not enabled; enabled: NFS, CIFS.', share_proto='GLUSTERFS')


class Resizing(refused.Refusing):
    """Shares that are not resized or reverted."""

    def act(self, share, status, code, words, **action):
        """Check that the action of the share is refused."""
        self.no(status, code, words, f'/shares/{share}/action', action)

    def revert_no(self, share, snapshot, status, code, words):
        """Check that the share is not reverted."""
        self.act(share, status, code, words, revert={'snapshot_id': snapshot})

    def test_extend_or_shrink_to_the_same_size_is_refused(self):
        share = self.share(size=2)
        self.act(
            share, 400, 'invalid_input', 'new_size: must be larger than the 2 GiB', extend={'new_size': 2}
        )
        self.act(
            share, 400, 'invalid_input', 'new_size: must be smaller than the 2 GiB', shrink={'new_size': 2}
        )

    def test_extend_over_quota_is_refused(self):
        self.type('growing', replication_type='dr')
        share = self.share(share_type='growing')
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'replica_gigabytes': 1, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        self.act(
            share,
            413,
            'over_quota_replica_gigabytes',
            'Quota exceeded for replica_gigabytes',
            extend={'new_size': 2},
        )
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'gigabytes': 1, 'force': True}})
        self.act(share, 403, 'over_quota_gigabytes', 'Quota exceeded for gigabytes', extend={'new_size': 2})

    def test_requests_for_a_share_without_a_host_are_refused(self):
        share = self.share(size=2)
        snapshot = self.snapshot(share)
        self.share_is(share, host=None)
        words = f'Share {share} has no host: it was never created at a backend.'
        self.act(share, 400, 'wrong_state', words, extend={'new_size': 3})
        self.act(share, 400, 'wrong_state', words, shrink={'new_size': 1})
        self.revert_no(share, snapshot, 409, 'wrong_state', words)
        self.no(400, 'wrong_state', words, '/share-backups', {'share_backup': {'share_id': share}})
        self.no(
            400,
            'wrong_state',
            f'share_id: share {share} has no host',
            '/snapshots',
            {'snapshot': {'share_id': share}},
        )
        self.no(403, 'wrong_state', words, f'/shares/{share}/action', {'unmanage': None}, self.admin)
        self.no(
            409,
            'wrong_state',
            words,
            '/snapshots/manage',
            {'snapshot': {'share_id': share, 'provider_location': 'x'}},
            self.admin,
        )
        self.no(403, 'wrong_state', words, f'/snapshots/{snapshot}/action', {'unmanage': None}, self.admin)

    def test_a_share_is_reverted_to_its_latest_snapshot_only(self):
        share, other = self.share(), self.share()
        first, latest = self.snapshot(share), self.snapshot(share)
        self.revert_no(share, self.snapshot(other), 400, 'invalid_input', f'is not of share {share}.')
        self.put(models.snapshots, first, created_at=self.long_ago())
        self.revert_no(
            share,
            refused.NOWHERE,
            400,
            'invalid_input',
            f'snapshot_id: there is no snapshot {refused.NOWHERE}.',
        )
        self.revert_no(
            share, first, 409, 'conflict', f'only the latest snapshot of share {share} can be reverted to.'
        )
        self.put(models.snapshots, latest, status='error')
        self.revert_no(
            share, latest, 409, 'conflict', f'only the latest snapshot of share {share} can be reverted to.'
        )
        self.put(models.snapshots, latest, status='available')
        self.put(models.shares, share, revert_to_snapshot_support=False)
        self.revert_no(
            share,
            latest,
            400,
            'invalid_input',
            f'Share {share} cannot be reverted: its share type has no revert_to_snapshot_support.',
        )

    def test_revert_and_restore_of_a_locked_share_are_refused(self):
        share = self.share()
        snapshot, backup = self.snapshot(share), self.backup(share)
        lock = self.user.ok(
            'POST', '/resource-locks', {'resource_lock': {'resource_id': share, 'resource_type': 'share'}}
        )['resource_lock']['id']
        words = f'Share {share} cannot be overwritten while it is locked: {lock} (by user)'
        self.revert_no(share, snapshot, 409, 'share_locked', words)
        self.no(409, 'share_locked', words, f'/share-backups/{backup}/action', {'restore': None}, self.admin)

    def test_revert_to_a_size_over_quota_is_refused(self):
        share = self.share(size=3)
        snapshot = self.snapshot(share)
        self.put(models.shares, share, size=1)
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'per_share_gigabytes': 2, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        self.revert_no(
            share, snapshot, 403, 'over_quota_per_share_gigabytes', 'Quota exceeded for per_share_gigabytes'
        )
