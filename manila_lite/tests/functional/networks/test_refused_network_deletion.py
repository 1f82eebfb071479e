# SPDX-License-Identifier: Apache-2.0
"""Refused deletions of share networks and subnets name all that stands against them, and what helps, in one answer."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import refused


class Deletion(refused.Refusing):
    """A network with two subnets and a share server in both that was managed, with all else that can be in the way."""

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.user = self.caller(self.project)
        with self.service.services.db.writer() as conn:
            [(self.network, self.subnet, *_, self.server)] = networks.make(conn, 1, project=self.project)
        self.put(models.share_servers, self.server, is_auto_deletable=False)
        self.path = f'/share-networks/{self.network}'

    def add(self, status, **more):
        """Add a share server to the network and its first subnet; return its id."""
        server = self.insert(
            models.share_servers,
            share_network_id=self.network,
            host='test@alpha',
            status=status,
            created_at=timeutils.utcnow(),
            **{'is_auto_deletable': False, **more},
        )
        self.insert_mapping(server)
        return server

    def insert_mapping(self, server):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_server_share_network_subnet_mappings.insert().values(
                    share_server_id=server, share_network_subnet_id=self.subnet
                )
            )

    def said(self, path, code, *words):
        """Check that the deletion is refused with all of these words; return the message."""
        status, document, _ = self.user.call('DELETE', path)
        fault = document['conflictingRequest']
        self.assertEqual((409, code), (status, fault['reason']))
        for word in words:
            self.assertIn(word, fault['message'])
        return fault['message']

    def with_shares(self):
        """Have the network be used by a share without a server, and by a share group."""
        share = self.insert(models.shares, project_id=self.project, size=1, share_proto='NFS')
        self.insert(
            models.share_instances,
            share_id=share,
            status='creating',
            access_rules_status='active',
            share_network_id=self.network,
        )
        kind = self.insert(models.share_group_types, name=self.project, is_public=True)
        self.insert(
            models.share_groups,
            project_id=self.project,
            share_network_id=self.network,
            status='available',
            share_group_type_id=kind,
        )

    def test_49_7_everything_against_a_deletion_is_named_at_once(self):
        """Check the network, and its subnet."""
        self.with_shares()
        failed, begun, idle = (
            self.add('manage_error'),
            self.add('creating', is_auto_deletable=True),
            self.add('active', is_auto_deletable=True),
        )
        servers = (
            f'has share server {self.server}, which is active and is not deleted automatically. A share server stays',
            f'openstack share server delete {self.server}.',
            f'has share server {failed}, which is manage_error and is not deleted automatically. It could not be',
            f'openstack share server abandon {failed}.',
            f'has share server {begun}, which is creating and is not deleted automatically. Wait until that has ended.',
        )
        about_network = self.said(
            self.path,
            'share_network_in_use',
            f'Share network {self.network} is used by 1 share.',
            'The share network is used by 1 share group.',
            'The share network has several subnets; delete all but one first.',
            *servers,
        )
        about_subnet = self.said(
            f'{self.path}/subnets/{self.subnet}',
            'subnet_in_use',
            f'Subnet {self.subnet} is in share network {self.network}, which has 1 share without a share server yet.',
            *servers,
        )
        for message in (about_network, about_subnet):
            self.assertNotIn(idle, message)

    def test_49_7_shares_are_named_once_for_the_network_and_by_server_for_a_subnet(self):
        busy = self.add('active', is_auto_deletable=True)
        share = self.insert(models.shares, project_id=self.project, size=1, share_proto='NFS')
        self.insert(
            models.share_instances,
            share_id=share,
            status='available',
            access_rules_status='active',
            share_network_id=self.network,
            share_server_id=busy,
        )
        self.assertNotIn(busy, self.said(self.path, 'share_network_in_use', 'is used by 1 share.'))
        self.said(
            f'{self.path}/subnets/{self.subnet}',
            'subnet_in_use',
            f'has share server {busy}, which has shares.',
        )

    def test_49_7_target_of_a_migration_that_has_not_ended_is_named(self):
        source = self.add('error')
        target = self.add('error', is_auto_deletable=True, source_share_server_id=source)
        self.said(
            self.path,
            'share_network_has_subnets',
            f'has share server {target}, which is the target of a migration that has not ended.',
        )

    def test_49_7_refusal_does_not_grow_with_the_number_of_share_servers(self):
        for _ in range(12):
            self.add('manage_error')
        self.said(
            self.path,
            'share_network_has_subnets',
            'The share network has 3 more share servers that cannot be deleted with it.',
        )
