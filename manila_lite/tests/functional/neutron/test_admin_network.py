# SPDX-License-Identifier: Apache-2.0
"""Ports of share servers in an administrators' network that is in Neutron, too."""

from oslo_utils import uuidutils

from manila_lite.tests.functional import base
from manila_lite.tests.functional.neutron import test_share_servers as test_neutron_servers


class Administered(test_neutron_servers.ServerTest):
    """A backend whose administrators' network is named when the test has made it."""

    BACKENDS = {
        'alpha': 'driver_handles_share_servers = true\ndummy_admin_allocations = 1\nadmin_network_id = later\n'
        'admin_subnet_id = later\n'
    }

    def setUp(self):
        super().setUp()
        self.admins = uuidutils.generate_uuid()
        self.admin_net = self.net(project_id=self.admins)
        self.set_option('admin_network_id', self.admin_net.id, 'alpha')
        self.set_option('admin_subnet_id', self.subnet(self.admin_net, '172.16.0.0/24').id, 'alpha')
        self.set_option('admin_network_project', self.admins, 'alpha')

    def test_49_7_ports_are_kept_when_a_server_is_unmanaged_and_managed_again(self):
        """Check that the ports, one in each network, name no server meanwhile, and that they are deleted with the server."""
        net = self.net()
        network = self.made(net, self.subnet(net, '10.1.0.0/24'))
        share = self.share(network)
        [server] = self.servers(network)
        before = {
            self.where(net)[0]: (server.id, self.project),
            self.where(self.admin_net)[0]: (server.id, self.admins),
        }
        self.assertEqual(before, self.found(net))
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.became(share, 'gone')
        self.admin.ok('POST', f'/share-servers/{server.id}/action', {'unmanage': None})
        base.eventually(lambda: not self.servers(network), 'the server stays')
        self.assertEqual({port: ('', project) for port, (_, project) in before.items()}, self.found(net))
        again = self.admin.ok(
            'POST',
            '/share-servers/manage',
            {'share_server': {'host': 'test@alpha', 'share_network_id': network, 'identifier': server.id}},
        )['share_server']['id']
        self.admin.wait(f'/share-servers/{again}', 'share_server', 'active')
        self.assertEqual({port: (again, project) for port, (_, project) in before.items()}, self.found(net))
        self.removed(network)
        self.assertEqual({}, self.found(net))

    def where(self, net):
        """Return the ids of the ports in a network."""
        return [port.id for port in self.ports(network_id=net.id)]

    def found(self, net):
        """Return the owner and the project of each port in the network, and in that of administrators."""
        return {
            port.id: (port.device_id, port.project_id)
            for one in (net, self.admin_net)
            for port in self.ports(network_id=one.id)
        }
