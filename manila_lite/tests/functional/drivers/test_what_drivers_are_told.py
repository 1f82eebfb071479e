# SPDX-License-Identifier: Apache-2.0
"""The share and the share server that drivers get: complete in each field, and the same in each call."""

import dataclasses

from manila_lite import values
from manila_lite.db.queries import allocations
from manila_lite.tests.functional import base, served

_SPECS = {
    'driver_handles_share_servers': 'True',
    'mount_point_name_support': 'True',
    'default_qos_type': 'gold',
    'vendor_name': 'manila_lite',
}
_SERVICE = {
    'type': 'ldap',
    'name': 'who',
    'dns_ip': '10.10.0.5',
    'server': 'dir.example',
    'domain': 'example',
    'ou': 'people',
    'user': 'reader',
    'password': 'hush-told',
}


class Told(served.ServedTest):
    BACKENDS = {'alpha': 'driver_handles_share_servers = true\nbackend_availability_zone = here\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok('POST', '/qos-types', {'qos_type': {'name': 'gold', 'specs': {'maxbps': '1000'}}})
        cls.admin.ok('POST', '/types', {'share_type': {'name': 'rich', 'extra_specs': _SPECS}})

    def setUp(self):
        super().setUp()
        self.driver = self.service.managers['alpha'].driver
        self.calls = {
            name: self.listen(name)
            for name in ('setup_server', 'create_share', 'extend_share', 'ensure_shares')
        }

    def listen(self, name):
        """Return a list that gets the first argument of each later call of the driver's method."""
        plain, told = getattr(self.driver, name), []
        self.patch(self.driver, name, lambda first, *more: told.append(first) or plain(first, *more))
        return told

    def network_with_all(self):
        """Make a network with subnet metadata and a security service; return the ids of network, subnet and service."""
        network = self.user.ok(
            'POST',
            '/share-networks',
            {
                'share_network': {
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-v4',
                    'availability_zone': 'here',
                }
            },
        )['share_network']['id']
        [subnet] = self.shown(network)['share_network_subnets']
        self.user.ok(
            'POST',
            f'/share-networks/{network}/subnets/{subnet["id"]}/metadata',
            {'metadata': {'quality': 'good'}},
        )
        service = self.user.ok('POST', '/security-services', {'security_service': _SERVICE})[
            'security_service'
        ]['id']
        self.assertEqual(200, self.act(network, 'add_security_service', {'security_service_id': service})[0])
        return network, subnet['id'], service

    def server(self, network, subnet, service):
        """Return the server as the driver should know it."""
        [row] = self.servers(network)
        with self.service.services.db.reader() as conn:
            [address] = allocations.of_server(conn, row.id)
        known = {
            'cidr': '10.10.0.0/24',
            'ip_version': 4,
            'gateway': '10.10.0.1',
            'mtu': 1450,
            'network_type': 'vlan',
            'segmentation_id': 100,
            'subnet_id': subnet,
            'neutron_net_id': 'blue',
        }
        return values.ShareServer(
            id=row.id,
            share_network_id=network,
            project_id=row.project_id,
            security_services=(values.SecurityService(id=service, **_SERVICE),),
            networks=(
                values.ServerNetwork(
                    **known,
                    allocations=(
                        values.Allocation(
                            **known,
                            id=address.id,
                            ip_address=address.ip_address,
                            mac_address=address.mac_address,
                        ),
                    ),
                    availability_zone='here',
                    neutron_subnet_id='blue-v4',
                    metadata={'quality': 'good'},
                ),
            ),
        )

    def ensuring(self):
        [service] = self.admin.ok('GET', '/services?host=test@alpha&binary=manila-share')['services']
        return service['ensuring']

    def test_driver_gets_each_field_of_share_and_server(self):
        network, *more = self.network_with_all()
        share = self.user.share(
            share_type='rich', share_network_id=network, name='mine', size=2, mount_point_name='there'
        )
        instance = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances'][0]['id']
        server = self.server(network, *more)
        self.assertEqual([server], self.calls['setup_server'])
        [told] = self.calls['create_share']
        known = {
            'id': instance,
            'share_id': share['id'],
            'project_id': share['project_id'],
            'size': 2,
            'proto': 'NFS',
            'pool': 'pool1',
            'name': 'mine',
            'mount_point_name': share['mount_point_name'],
            'extra_specs': _SPECS,
            'share_network_id': network,
            'qos': {'maxbps': '1000'},
        }
        self.assertEqual(values.Share(**known, server=told.server), told)
        self.assertEqual(f'dummy-{server.id}', told.server.details['server_name'])
        self.assertEqual(dataclasses.replace(server, details=told.server.details), told.server)
        self.user.action(share['id'], 'extend', {'new_size': 3})
        self.user.wait(f'/shares/{share["id"]}', 'share', 'available')
        [later] = self.calls['extend_share']
        self.assertEqual(1, len(later.export_locations))
        known.update(server=told.server, export_locations=later.export_locations)
        self.assertEqual(values.Share(**known), later)
        base.eventually(lambda: not self.ensuring(), 'the check of the start does not end')
        del self.calls['ensure_shares'][:]
        self.admin.ok('POST', '/services/ensure', {'host': 'test@alpha'})
        base.eventually(lambda: self.calls['ensure_shares'], 'the backend is not asked')
        [target] = self.calls['ensure_shares'][0]
        self.assertEqual(values.Share(**{**known, 'size': 3}), target.share)
