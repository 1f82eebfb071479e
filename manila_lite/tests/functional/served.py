# SPDX-License-Identifier: Apache-2.0
"""Base of tests of share servers in use: a backend that makes share servers, networks, and shares in them."""

from oslo_utils import uuidutils

from manila_lite.db.queries import allocations, share_servers
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base


class ServedTest(base.ServiceTest):
    """The networks of ``factories/networks.py``; each test has a user in a project of its own."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\nmax_shares_per_share_server = 1\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(networks.FILE)
        cls.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )

    def setUp(self):
        super().setUp()
        self.user = self.caller(uuidutils.generate_uuid())

    def network(self, subnet='blue-v4'):
        """Create a share network of the user with one subnet; return its id."""
        return self.user.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': subnet}},
        )['share_network']['id']

    def unused_address(self):
        """Return an address of blue-v4 for a server that others made. Servers that are made here may have any."""
        with self.service.services.db.reader() as conn:
            taken = allocations.used_addresses(conn, 'blue-v4')
        return next(
            address for address in (f'10.10.0.{last}' for last in range(77, 255)) if address not in taken
        )

    def share(self, network, **more):
        """Create a share in the network; return the share."""
        return self.user.share(share_type='served', share_network_id=network, **more)

    def servers(self, network):
        """Return the rows of the network's share servers."""
        with self.service.services.db.reader() as conn:
            return share_servers.list_servers(conn, {'share_network_id': network})

    def shown(self, network):
        """Return the network as its owner sees it."""
        return self.user.ok('GET', f'/share-networks/{network}')['share_network']

    def settled(self, network):
        """Wait until the network is active again."""
        self.user.wait(f'/share-networks/{network}', 'share_network', 'active')

    def act(self, network, action, body, caller=None, **more):
        """Send an action on the network. Return (status, document)."""
        return (caller or self.user).call(
            'POST', f'/share-networks/{network}/action', {action: body}, **more
        )[:2]

    def fault(self, text, backend='alpha'):
        """Give the backend this fault until the test ends."""
        self.service.knob(backend, text)
        self.addCleanup(self.service.knob, backend, '')

    def calls(self, method, backend='alpha'):
        """Return the ids that the driver's method was called with, oldest first."""
        return [resource_id for _, resource_id in self.service.managers[backend].driver.store.calls(method)]

    def record(self, server_id, backend='alpha'):
        """Return the backend's record of a share server."""
        return self.service.managers[backend].driver.store.servers.get(server_id)

    def messages(self, resource_id):
        """Return the user messages about the resource."""
        return self.user.ok('GET', f'/messages?resource_id={resource_id}')['messages']
