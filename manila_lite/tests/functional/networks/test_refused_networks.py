# SPDX-License-Identifier: Apache-2.0
"""Changes of share networks, subnets, security services and servers that are refused, each with the code and reason."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import refused


class Networks(refused.Refusing):
    """A share network with two subnets, a security service and a share server, all of them inserted in the database."""

    EXTRA = 'service_down_time = 86400\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.user = self.caller(self.project)
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.delete())
            conn.execute(
                models.services.insert(),
                [
                    {
                        'host': 'test@alpha',
                        'binary': 'manila-share',
                        'topic': 'share',
                        'heartbeat_at': timeutils.utcnow(),
                    }
                ],
            )
            [(self.network, self.subnet, _, self.service_id, self.server)] = networks.make(
                conn, 1, project=self.project
            )
        self.path = f'/share-networks/{self.network}'
        self.empty = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']

    def is_not(self, table, resource_id, **values):
        """Set values of the row for which a request is refused."""
        self.put(table, resource_id, **values)

    def security(self, kind='ldap', caller=None):
        """Make a security service; return its id."""
        return (caller or self.user).ok(
            'POST', '/security-services', {'security_service': {'type': kind, 'name': kind}}
        )['security_service']['id']

    def act(self, network, status, code, words, caller=None, **action):
        """Check that the action of the network is refused."""
        self.no(status, code, words, f'/share-networks/{network}/action', action, caller)

    # Networks and subnets

    def test_deletions_are_refused_while_the_network_is_being_changed(self):
        self.is_not(models.share_networks, self.network, status='network_change')
        words = f'Share network {self.network} is being changed; wait until that has ended.'
        self.no(409, 'wrong_state', words, self.path)
        self.no(409, 'wrong_state', words, f'{self.path}/subnets/{self.subnet}')
        self.act(
            self.network,
            409,
            'wrong_state',
            words,
            remove_security_service={'security_service_id': self.service_id},
        )

    def test_addition_is_refused_if_the_network_gets_a_share_server_meanwhile(self):
        """Check that no share server is left without addresses in a subnet about which its backend was not asked."""
        table = models.share_server_share_network_subnet_mappings
        with self.service.services.db.writer() as conn:
            conn.execute(table.delete().where(table.c.share_server_id == self.server))
        place = {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-small'}
        with self.meanwhile(
            r'^UPDATE share_networks',
            table.insert().values(share_server_id=self.server, share_network_subnet_id=self.subnet),
        ):
            self.no(
                409,
                'wrong_state',
                'The share servers changed in the meantime; try again.',
                f'{self.path}/subnets',
                {'share-network-subnet': place},
            )
        subnets = self.user.ok('GET', self.path)['share_network']['share_network_subnets']
        self.assertNotIn('blue-small', {subnet['neutron_subnet_id'] for subnet in subnets})

    def test_change_of_place_is_refused_if_the_network_gets_a_share_server_meanwhile(self):
        with self.meanwhile(
            r'^UPDATE share_networks',
            models.share_servers.insert().values(
                id=uuidutils.generate_uuid(),
                share_network_id=self.empty,
                host='test@alpha',
                status='creating',
            ),
        ):
            self.no(
                403,
                'servers_in_use',
                'is used by share servers; only its name and description can be changed.',
                f'/share-networks/{self.empty}',
                {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
                method='PUT',
            )
        [subnet] = self.user.ok('GET', f'/share-networks/{self.empty}')['share_network'][
            'share_network_subnets'
        ]
        self.assertIsNone(subnet['neutron_subnet_id'])

    def test_additions_to_an_inactive_network_are_refused(self):
        self.is_not(models.share_networks, self.empty, status='error')
        words = f'Share network {self.empty} is error, not active.'
        self.no(
            409, 'wrong_state', words, f'/share-networks/{self.empty}/subnets', {'share-network-subnet': {}}
        )
        self.act(
            self.empty,
            409,
            'wrong_state',
            words,
            add_security_service={'security_service_id': self.security()},
        )
        self.no(
            409,
            'wrong_state',
            f'Share network {self.empty} is not active.',
            f'/share-networks/{self.empty}',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
            method='PUT',
        )

    def test_subnet_and_security_services_of_a_network_with_servers_are_kept(self):
        self.no(
            403,
            'servers_in_use',
            'is used by share servers; only its name and description can be changed.',
            self.path,
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
            method='PUT',
        )
        self.act(
            self.network,
            403,
            'servers_in_use',
            'is used by share servers; no security service can be removed.',
            remove_security_service={'security_service_id': self.service_id},
        )
        self.act(
            self.network,
            403,
            'servers_in_use',
            'is used by share servers; no security service can be added.',
            self.caller(self.project, version='2.62'),
            add_security_service={'security_service_id': self.security('kerberos')},
        )

    def test_delete_of_a_network_with_a_permanent_server_is_refused(self):
        self.is_not(models.share_servers, self.server, is_auto_deletable=False)
        [other] = [
            row['id']
            for row in self.user.ok('GET', f'{self.path}/subnets')['share_network_subnets']
            if row['id'] != self.subnet
        ]
        self.no(
            409,
            'subnet_in_use',
            f'Subnet {other} has share server {self.server}, which is active and is not deleted '
            'automatically.',
            f'{self.path}/subnets/{other}',
        )
        self.no(
            409,
            'share_network_has_subnets',
            f'Share network {self.network} has several subnets; delete all but one',
            self.path,
        )
        mapped, subnets = models.share_server_share_network_subnet_mappings, models.share_network_subnets
        with self.service.services.db.writer() as conn:
            conn.execute(mapped.delete().where(mapped.c.share_network_subnet_id == other))
            conn.execute(subnets.delete().where(subnets.c.id == other))
        self.no(
            409,
            'share_network_in_use',
            f'has share server {self.server}, which is active and is not deleted automatically.',
            self.path,
        )

    def test_delete_of_a_subnet_with_shares_is_refused(self):
        share = self.insert(models.shares, project_id=self.project, size=1, share_proto='NFS')
        self.insert(
            models.share_instances,
            share_id=share,
            status='available',
            access_rules_status='active',
            share_network_id=self.network,
            share_server_id=self.server,
        )
        self.no(
            409,
            'subnet_in_use',
            f'Subnet {self.subnet} has share server {self.server}, which has shares.',
            f'{self.path}/subnets/{self.subnet}',
        )

    def test_delete_of_a_network_with_shares_is_refused(self):
        self.type(self.project, driver_handles_share_servers='True')
        [subnet] = self.user.ok('GET', f'/share-networks/{self.empty}/subnets')['share_network_subnets']
        self.share(self.user, share_type=self.project, share_network_id=self.in_network(self.empty))
        self.no(
            409,
            'share_network_in_use',
            f'Share network {self.empty} is used by 1 share.',
            f'/share-networks/{self.empty}',
        )
        self.no(
            409,
            'subnet_in_use',
            f'is in share network {self.empty}, which has 1 share without a share server yet.',
            f'/share-networks/{self.empty}/subnets/{subnet["id"]}',
        )

    def test_invalid_additional_subnets_are_refused(self):
        more = f'/share-networks/{self.empty}/subnets'
        self.no(
            409,
            'zone_has_subnet',
            f'share network {self.empty} already has subnet',
            more,
            {'share-network-subnet': {}},
            self.caller(self.project, version='2.69'),
        )
        self.option('metadata_items', 1, 'limits')
        self.no(
            413,
            'over_limit_metadata_items',
            'Limit metadata_items exceeded: the subnet may have 1 metadata key,',
            more,
            {'share-network-subnet': {'metadata': {'a': 'x', 'b': 'x'}}},
        )
        self.option('subnets', 1, 'limits')
        self.no(
            413,
            'over_limit_subnets',
            f'Limit subnets exceeded: share network {self.network} may have 1 subnet,',
            f'{self.path}/subnets',
            {'share-network-subnet': {}},
        )
        self.no(
            400,
            'availability_zone_not_found',
            'availability_zone: there is no zone nowhere.',
            more,
            {'share-network-subnet': {'availability_zone': 'nowhere'}},
        )

    def test_invalid_additional_subnets_for_servers_in_use_are_refused(self):
        add = (
            f'{self.path}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-small'}},
        )
        self.no(
            400,
            'invalid_input',
            'neutron_net_id: missing; the zone has subnet ',
            add[0],
            {'share-network-subnet': {}},
        )
        self.no(
            409,
            'subnets_overlap',
            'neutron_subnet_id: 10.10.0.128/25 overlaps with 10.10.0.0/24',
            add[0],
            {'share-network-subnet': {'neutron_net_id': 'red', 'neutron_subnet_id': 'red-v4'}},
        )
        self.is_not(models.share_servers, self.server, network_allocation_update_support=False)
        self.no(
            409,
            'servers_in_use',
            f'{self.server} cannot be given the subnet: it has no network_allocation_update',
            *add,
        )
        self.is_not(
            models.share_servers, self.server, status='creating', network_allocation_update_support=True
        )
        self.no(409, 'wrong_state', f'Share server {self.server} is creating, not active.', *add)
        self.is_not(models.share_servers, self.server, status='active')
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.update().values(heartbeat_at=self.long_ago()))
        self.no(409, 'backend_down', f'The backend of share servers {self.server} is down.', *add)

    # Security services

    def test_security_service_changes_that_conflict_by_type_or_use_are_refused(self):
        one, other, kerberos = self.security(), self.security(), self.security('kerberos')
        self.act(
            self.empty,
            400,
            'security_service_not_attached',
            f'does not use security service {one}.',
            remove_security_service={'security_service_id': one},
        )
        self.user.call(
            'POST',
            f'/share-networks/{self.empty}/action',
            {'add_security_service': {'security_service_id': one}},
        )
        self.act(
            self.empty,
            409,
            'security_service_type_taken',
            f'already uses security service {one} of type ldap.',
            add_security_service={'security_service_id': other},
        )
        self.act(
            self.empty,
            409,
            'security_service_not_attached',
            f'does not use security service {kerberos}.',
            update_security_service={'current_service_id': kerberos, 'new_service_id': other},
        )
        self.act(
            self.empty,
            409,
            'security_service_type_differs',
            f'security service {kerberos} is kerberos, and {one} is ldap.',
            update_security_service={'current_service_id': one, 'new_service_id': kerberos},
        )
        self.no(
            403,
            'security_service_in_use',
            f'Security service {one} is used by share networks {self.empty}.',
            f'/security-services/{one}',
        )
        self.no(
            403,
            'security_service_in_use',
            'is used by share networks, so its type cannot be changed.',
            f'/security-services/{one}',
            {'security_service': {'type': 'kerberos'}},
            method='PUT',
        )

    def test_adding_a_security_service_of_another_project_is_refused(self):
        strange = self.security(caller=self.caller('somebody else'))
        for caller in (self.user, self.caller(self.project, roles='admin,member,reader')):
            self.act(
                self.empty,
                404,
                'security_service_not_found',
                f'Security service {strange} could not be found.',
                caller,
                add_security_service={'security_service_id': strange},
            )

    def test_removing_a_security_service_of_another_project_is_refused(self):
        strange = self.security(caller=self.caller('somebody else'))
        for resource_id in (strange, refused.NOWHERE):
            self.act(
                self.empty,
                404,
                'security_service_not_found',
                f'Security service {resource_id} could not be found.',
                remove_security_service={'security_service_id': resource_id},
            )

    def test_update_of_a_security_service_in_use_is_refused(self):
        self.no(
            403,
            'security_service_in_use',
            'is used by share servers; only its name and description can be changed.',
            f'/security-services/{self.service_id}',
            {'security_service': {'dns_ip': '10.0.0.1'}},
            method='PUT',
        )

    def test_security_service_being_replaced_is_neither_deleted_nor_updated(self):
        left = self.security()
        self.insert(
            models.operations,
            kind='share_server.update_security_service',
            resource_type='share_server',
            resource_id=self.server,
            topic='share',
            lane='work',
            state='open',
            data={},
            next_run_at=timeutils.utcnow(),
        )
        words = 'Share servers of the project are being updated with another security service; wait until they are active.'
        self.no(403, 'security_service_in_use', words, f'/security-services/{left}')
        self.no(
            403,
            'security_service_in_use',
            words,
            f'/security-services/{left}',
            {'security_service': {'dns_ip': '10.0.0.1'}},
            method='PUT',
        )

    def test_server_and_ad_site_together_are_refused(self):
        words = 'default_ad_site: cannot be given together with server.'
        self.no(
            400,
            'invalid_input',
            words,
            '/security-services',
            {'security_service': {'type': 'active_directory', 'server': 'dc', 'default_ad_site': 'here'}},
        )

    def test_security_services_above_the_limits_are_refused(self):
        self.option('security_services', 1, 'limits')
        self.no(
            413,
            'over_limit_security_services',
            f'Limit security_services exceeded: project {self.project} may have 1',
            '/security-services',
            {'security_service': {'type': 'ldap'}},
        )
        self.option('attached_security_services', 0, 'limits')
        self.act(
            self.empty,
            413,
            'over_limit_attached_security_services',
            f'share network {self.empty} may have 0',
            add_security_service={'security_service_id': self.service_id},
        )

    # Servers

    def test_delete_and_unmanage_of_a_busy_server_are_refused(self):
        for status in (
            'creating',
            'deleting',
            'network_change',
            'server_migrating',
            'manage_starting',
            'unmanage_starting',
        ):
            self.is_not(models.share_servers, self.server, status=status)
            self.no(
                403,
                'wrong_state',
                f'The share server is {status}; to delete it, it must be active or error or inactive.',
                f'/share-servers/{self.server}',
                caller=self.admin,
            )
            self.no(
                400,
                'wrong_state',
                f'The share server is {status}; to unmanage it, it must be',
                f'/share-servers/{self.server}/action',
                {'unmanage': {'force': False}},
                self.admin,
            )

    def test_unmanage_of_an_encrypted_server_is_refused(self):
        self.is_not(models.share_servers, self.server, encryption_key_ref=refused.NOWHERE)
        self.no(
            400,
            'share_server_encrypted',
            f'Share server {self.server} is encrypted with a key of this service.',
            f'/share-servers/{self.server}/action',
            {'unmanage': {'force': True}},
            self.admin,
        )

    def test_delete_and_unmanage_of_a_server_with_shares_are_refused(self):
        self.type(self.project, driver_handles_share_servers='True')
        share = self.share(self.user, share_type=self.project, share_network_id=self.network)
        self.share_is(share, share_server_id=self.server)
        self.server_is_in_use()

    def test_server_with_a_group_is_kept_and_another_server_is_deleted(self):
        with self.service.services.db.writer() as conn:
            [(*_, beside)] = networks.make(conn, 1, project=self.project)
        kind = self.insert(models.share_group_types, name=self.project)
        self.insert(
            models.share_groups,
            project_id=self.project,
            status='available',
            share_group_type_id=kind,
            share_network_id=self.network,
            share_server_id=self.server,
        )
        self.server_is_in_use()
        self.admin.ok('DELETE', f'/share-servers/{beside}')
        self.is_not(models.share_servers, self.server, status='creating')
        self.no(
            403,
            'wrong_state',
            'The share server is creating; to delete it, it must be',
            f'/share-servers/{self.server}',
            caller=self.admin,
        )

    def server_is_in_use(self):
        """Check that the server is neither unmanaged nor deleted."""
        self.no(
            400,
            'share_server_in_use',
            f'Share server {self.server} has shares, or shares are being created on it.',
            f'/share-servers/{self.server}/action',
            {'unmanage': {'force': True}},
            self.admin,
        )
        self.no(
            409,
            'share_server_in_use',
            f'Share server {self.server} has shares.',
            f'/share-servers/{self.server}',
            caller=self.admin,
        )

    def test_invalid_requests_to_manage_a_server_are_refused(self):
        def manage_no(status, code, words, **wanted):
            self.no(
                status,
                code,
                words,
                '/share-servers/manage',
                {
                    'share_server': {
                        'host': 'test@alpha',
                        'share_network_id': self.empty,
                        'identifier': 'x',
                        **wanted,
                    }
                },
                self.admin,
            )

        manage_no(
            400,
            'invalid_input',
            'host: test@alpha#pool1 names a pool; share servers are of',
            host='test@alpha#pool1',
        )
        for alike in (f'foo_{self.server}_bar', self.server.split('-')[-1], self.server.replace('-', '_')):
            manage_no(
                400,
                'identifier_in_use',
                f'identifier: {alike} is managed already, as share server {self.server}',
                identifier=alike,
            )
        manage_no(
            400,
            'identifier_in_use',
            f'identifier: {self.server} is managed already, as share server {self.server}',
            identifier=self.server,
        )
        manage_no(
            400,
            'subnet_not_there',
            f'share network {self.empty} has no subnet {self.subnet} for servers',
            share_network_subnet_id=self.subnet,
        )
        manage_no(
            400,
            'not_one_subnet',
            f'share network {self.network} has 2 subnets for servers',
            share_network_id=self.network,
        )
        self.is_not(models.share_networks, self.empty, status='error')
        manage_no(400, 'wrong_state', f'Share network {self.empty} is not active.')
        with self.service.services.db.writer() as conn:
            conn.execute(models.services.update().values(heartbeat_at=self.long_ago()))
        manage_no(400, 'backend_down', 'host: test@alpha is down.')
