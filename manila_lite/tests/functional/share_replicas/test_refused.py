# SPDX-License-Identifier: Apache-2.0
"""Replicas that are not made, promoted, resynced or deleted, each with the code and the reason."""

from manila_lite.db import models
from manila_lite.db.queries import services as service_rows
from manila_lite.tests.functional import refused


class Replicas(refused.Refusing):
    """A share whose type has replicas."""

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            self.zones = {name: service_rows.zone_id(conn, name, create=True) for name in ('here', 'there')}
        self.name = self.getUniqueString()
        self.kind = self.type(self.name, replication_type='dr', availability_zones='here')
        self.share_id = self.share(share_type=self.name)

    def replica_no(self, words, status=400, code='invalid_input', share=None, caller=None, **wanted):
        """Check that a request for such a replica is refused."""
        self.no(
            status,
            code,
            words,
            '/share-replicas',
            {'share_replica': {'share_id': share or self.share_id, **wanted}},
            caller,
        )

    def act(self, replica, status, code, words, action, caller=None):
        """Check that the action of the replica is refused."""
        self.no(status, code, words, f'/share-replicas/{replica}/action', {action: None}, caller)

    def test_replica_of_a_type_without_replication_is_refused(self):
        share = self.share()
        self.replica_no(
            f'share_id: the share type of share {share} does not support replication.',
            400,
            'replication_not_supported',
            share,
        )

    def test_replica_of_a_share_without_a_host_is_refused(self):
        self.share_is(self.share_id, host=None)
        self.replica_no(
            f'share_id: share {self.share_id} is available; to make a replica, it must be available.',
            400,
            'share_not_available',
        )

    def test_unknown_or_excluded_zones_are_refused(self):
        self.replica_no(
            f'availability_zone: share type {self.name} is not offered in there.', availability_zone='there'
        )
        self.admin.call('DELETE', f'/types/{self.kind}/extra_specs/availability_zones')
        self.replica_no(
            'availability_zone: Availability zone nowhere could not be found.', availability_zone='nowhere'
        )

    def test_host_chosen_by_a_member_is_refused(self):
        self.replica_no(
            'scheduler_hints.only_host: only administrators may choose a host.',
            403,
            'forbidden',
            scheduler_hints={'only_host': refused.HOST},
        )

    def test_replica_over_quota_is_refused(self):
        self.admin.ok('PUT', '/quota-sets/p', {'quota_set': {'share_replicas': 1, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/p')
        self.replica_no('Quota exceeded for share_replicas: asked for 1', 413, 'over_quota_share_replicas')

    def test_share_network_for_a_type_without_servers_is_refused(self):
        self.replica_no(
            'share_network_id: the share type does not use share networks.', share_network_id=refused.NOWHERE
        )

    def test_unknown_inactive_or_distant_share_networks_are_refused(self):
        name = self.getUniqueString()
        self.type(name, replication_type='dr', driver_handles_share_servers='True')
        network, far = (
            self.user.ok('POST', '/share-networks', {'share_network': more})['share_network']['id']
            for more in ({}, {'availability_zone': 'there'})
        )
        share = self.share(share_type=name, share_network_id=self.in_network(network))
        self.replica_no(
            f'share_network_id: Share network {refused.NOWHERE} could not be found.',
            share=share,
            share_network_id=refused.NOWHERE,
        )
        self.replica_no(
            f'share_network_id: share network {far} has no subnet in that availability zone.',
            share=share,
            share_network_id=far,
            availability_zone='here',
        )
        self.put(models.share_networks, network, status='error')
        self.replica_no(
            f'share_network_id: share network {network} is not active.',
            400,
            'share_network_not_active',
            share,
        )

    def test_replica_without_a_host_is_neither_promoted_nor_resynced(self):
        replica = self.aside(self.share_id, host=None, replica_state='in_sync')
        for action in ('promote', 'resync'):
            words = f'Replica {replica} has no host: it was never created at a backend.'
            self.act(replica, 400, 'invalid_input', words, action, self.admin)

    def test_replica_out_of_sync_is_not_promoted_by_members(self):
        replica = self.aside(self.share_id, replica_state='out_of_sync')
        for state in ('out_of_sync', 'error'):
            self.put(models.share_instances, replica, replica_state=state)
            self.act(
                replica,
                403,
                'replica_not_in_sync',
                f'Replica {replica} is {state}: only administrators may promote it',
                'promote',
            )

    def test_delete_of_the_active_replica_is_refused(self):
        [active] = [
            row['id']
            for row in self.user.ok('GET', f'/share-replicas?share_id={self.share_id}')['share_replicas']
        ]
        words = f'Replica {active} is the active one; promote another one first.'
        self.no(400, 'active_replica', words, f'/share-replicas/{active}')
        self.act(active, 400, 'active_replica', words, 'force_delete', self.admin)
