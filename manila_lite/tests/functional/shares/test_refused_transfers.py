# SPDX-License-Identifier: Apache-2.0
"""Transfers of shares to another project that are refused, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.tests import hush
from manila_lite.tests.functional import refused


class Offered(refused.Refusing):
    """Transfers that are not accepted. No scheduler deletes those that have expired."""

    def setUp(self):
        super().setUp()
        self.taker = self.caller('taker')

    def offer(self, share, caller=None):
        offer = (caller or self.user).ok('POST', '/share-transfers', {'transfer': {'share_id': share}})[
            'transfer'
        ]
        hush.keep(offer['auth_key'])
        return offer

    def taken_not(self, offer, status, code, words, key=None):
        """Check that the taker does not get the share, and that it stays in its project."""
        self.no(
            status,
            code,
            words,
            f'/share-transfers/{offer["id"]}/accept',
            {'accept': {'auth_key': key or offer['auth_key']}},
            self.taker,
        )
        self.assertEqual('p', self.admin.ok('GET', f'/shares/{offer["resource_id"]}')['share']['project_id'])

    def test_expired_transfer_is_not_accepted_before_its_cleanup(self):
        offer = self.offer(self.share())
        self.put(models.share_transfers, offer['id'], expires_at=self.long_ago())
        self.taken_not(offer, 404, 'transfer_not_found', f'Transfer {offer["id"]} could not be found.')
        self.user.ok('GET', f'/share-transfers/{offer["id"]}')

    def test_own_project_accepts_its_transfer_without_free_quota(self):
        share = self.share()
        offer = self.offer(share)
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'shares': 0, 'gigabytes': 0, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        status, said, _ = self.user.call(
            'POST', f'/share-transfers/{offer["id"]}/accept', {'accept': {'auth_key': offer['auth_key']}}
        )
        self.assertEqual(202, status, said)

    def test_wrong_auth_key_is_refused(self):
        offer = self.offer(self.share())
        self.taken_not(
            offer, 400, 'wrong_auth_key', f'auth_key: is not the key of transfer {offer["id"]}.', 'x' * 16
        )

    def test_project_without_access_to_the_share_type_is_refused(self):
        share = self.share()
        kind = self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'ours',
                    'share_type_access:is_public': False,
                    'extra_specs': {'driver_handles_share_servers': 'False'},
                }
            },
        )
        self.share_is(share, share_type_id=kind['share_type']['id'])
        self.admin.call(
            'POST', f'/types/{kind["share_type"]["id"]}/action', {'addProjectAccess': {'project': 'p'}}
        )
        self.taken_not(
            self.offer(share),
            400,
            'share_type_not_accessible',
            f'The project may not use the share type of share {share}; ask an administrator',
        )

    def test_share_locked_after_the_offer_is_not_transferred(self):
        share = self.share()
        offer = self.offer(share)
        lock = self.admin.ok(
            'POST', '/resource-locks', {'resource_lock': {'resource_id': share, 'resource_type': 'share'}}
        )
        self.taken_not(
            offer,
            403,
            'share_locked',
            f'Share {share} was locked after the transfer was created: {lock["resource_lock"]["id"]} (by admin).',
        )

    def test_transfer_over_a_quota_of_the_receiving_project_is_refused(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'twice',
                    'extra_specs': {
                        'driver_handles_share_servers': 'False',
                        'snapshot_support': 'True',
                        'replication_type': 'dr',
                    },
                }
            },
        )
        share = self.share(size=3, share_type='twice')
        self.snapshot(share)
        self.snapshot(share)
        offer = self.offer(share)
        for name, limit, asked in (
            ('shares', 0, 1),
            ('gigabytes', 2, 3),
            ('per_share_gigabytes', 2, 3),
            ('snapshots', 1, 2),
            ('snapshot_gigabytes', 5, 6),
            ('share_replicas', 0, 1),
            ('replica_gigabytes', 2, 3),
        ):
            self.admin.ok('PUT', '/quota-sets/taker', {'quota_set': {name: limit}})
            self.taken_not(
                offer,
                413,
                f'over_quota_{name}',
                f'Quota exceeded for {name}: asked for {asked}, 0 of {limit} in use',
            )
            self.admin.ok('DELETE', '/quota-sets/taker')
        self.admin.ok('PUT', '/quota-sets/taker', {'quota_set': {'snapshot_gigabytes': 6, 'gigabytes': 3}})
        self.taker.call(
            'POST', f'/share-transfers/{offer["id"]}/accept', {'accept': {'auth_key': offer['auth_key']}}
        )
        self.assertEqual('taker', self.admin.ok('GET', f'/shares/{share}')['share']['project_id'])


class Offering(refused.Refusing):
    """Shares for which no transfer is made."""

    def no_offer(self, share, words):
        self.no(
            400,
            'share_not_transferable',
            f'share_id: share {share} cannot be transferred: {words}',
            '/share-transfers',
            {'transfer': {'share_id': share}},
        )

    def test_transfer_of_a_share_in_a_share_network_is_refused(self):
        self.type('networked', driver_handles_share_servers='True')
        network = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        share = self.share(share_type='networked', share_network_id=self.in_network(network))
        self.no_offer(share, f"it is in share network {network}, which is its project's.")

    def test_transfer_is_refused_if_the_mount_point_name_has_the_project_id(self):
        self.type('named', mount_point_name_support='True')
        share = self.share(share_type='named', mount_point_name='here')
        self.no_offer(share, 'its mount point name begins with the id of its project.')

    def test_second_transfer_of_a_share_is_refused(self):
        share = self.share()
        offer = self.user.ok('POST', '/share-transfers', {'transfer': {'share_id': share}})['transfer']
        hush.keep(offer['auth_key'])
        self.no(
            400,
            'wrong_state',
            'The share is awaiting_transfer; to transfer it, it must be available.',
            '/share-transfers',
            {'transfer': {'share_id': share}},
        )

    def test_transfer_refused_for_busy_snapshots_names_the_first_and_its_status(self):
        share = self.share()
        first, last = sorted(self.snapshot(share) for _ in range(2))
        self.put(models.snapshots, first, status='error')
        self.put(models.snapshots, last, status='restoring')
        self.no(
            400,
            'wrong_state',
            f'Snapshot {first} of share {share} is error, not available.',
            '/share-transfers',
            {'transfer': {'share_id': share}},
        )
