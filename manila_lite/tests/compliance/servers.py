# SPDX-License-Identifier: Apache-2.0
"""Share servers made by the driver. Mixed into a binding, it puts every share of any suite on one with two subnets."""

import dataclasses

from oslo_utils import uuidutils

from manila_lite import values

#: Subnets by a short name, as a user would make them: two families, and a third to add.
SUBNETS = {
    'four': {
        'cidr': '10.77.1.0/24',
        'ip_version': 4,
        'gateway': '10.77.1.1',
        'network_type': 'vlan',
        'segmentation_id': 101,
    },
    'six': {
        'cidr': 'fd77:2::/64',
        'ip_version': 6,
        'gateway': 'fe80::1',
        'network_type': 'vxlan',
        'segmentation_id': 70002,
        'mtu': 1450,
    },
    'more': {
        'cidr': '10.77.3.0/25',
        'ip_version': 4,
        'network_type': 'flat',
        'neutron_net_id': 'a-neutron-network',
    },
    'overlap': {'cidr': '10.77.0.0/16', 'ip_version': 4, 'network_type': 'vlan', 'segmentation_id': 104},
}


class OnServers:
    """Mixin for a ``base.Binding``."""

    SUBNETS = SUBNETS

    def options(self):
        return super().options() | {'driver_handles_share_servers': 'true'}

    def setUp(self):
        super().setUp()
        self._hosts = 10
        self.server = self.made_server()

    def lose_power_only(self) -> None:
        """Simulate a reboot, before the driver is told which servers shall run."""
        super().lose_power()

    def lose_power(self) -> None:
        self.lose_power_only()
        self.driver.ensure_servers([self.server])

    def addresses(self, server: values.ShareServer) -> set[str]:
        """Return the addresses at which the server answers now, as the backend reports them; none if it does not run."""
        raise NotImplementedError

    def left_there(self, server: values.ShareServer) -> set[str]:
        """Return the addresses of an unmanaged server, as the backend reports them."""
        return self.addresses(server)

    def subnet(self, name: str, *, allocated: bool = True) -> values.ServerNetwork:
        """Return a subnet with addresses for one more server, or without any, as a subnet to be added."""
        about = self.SUBNETS[name]
        network = values.ServerNetwork(f'subnet-{name}', **about)
        if not allocated:
            return network
        return dataclasses.replace(
            network,
            allocations=tuple(
                self._allocation(network, about) for _ in range(self.driver.ALLOCATIONS_PER_SUBNET)
            ),
        )

    def _allocation(self, network: values.ServerNetwork, about: dict) -> values.Allocation:
        self._hosts += 1
        start = network.cidr.partition('/')[0]
        address = f'{start}{self._hosts}' if ':' in start else f'{start.rpartition(".")[0]}.{self._hosts}'
        return values.Allocation(
            uuidutils.generate_uuid(),
            address,
            subnet_id=network.subnet_id,
            mac_address=f'fa:16:3e:00:01:{self._hosts:02x}',
            **about,
        )

    def a_server(self, *names: str, **changes) -> values.ShareServer:
        """Return a server that is not set up yet, and that is torn down at the end of the test."""
        networks = tuple(map(self.subnet, names or ('four', 'six')))
        server = values.ShareServer(**{'id': uuidutils.generate_uuid(), 'networks': networks} | changes)
        self.addCleanup(self.driver_call, 'teardown_server', server)
        return server

    def made_server(self, *names: str, **changes) -> values.ShareServer:
        """Return a server that runs."""
        server = self.a_server(*names, **changes)
        return dataclasses.replace(server, details=dict(self.driver.setup_server(server)))

    def services(self, server: values.ShareServer) -> set[str]:
        """Return the ids of the security services that the server uses now, as the backend reports them."""
        raise NotImplementedError

    def service(self, kind: str = 'ldap') -> values.SecurityService:
        """Return a security service that no server uses."""
        return values.SecurityService(
            uuidutils.generate_uuid(),
            kind,
            server='10.77.1.2',
            domain='example.org',
            user='admin',
            password='secret',
        )

    def planned(self, server: values.ShareServer) -> set[str]:
        """Return the addresses that a server shall have."""
        return {allocation.ip_address for allocation in server.allocations}

    def assert_serves(self, server: values.ShareServer, locations) -> None:
        """Check that the locations are the server's: one for each address, in the order of the API, IPv4 before IPv6."""
        self.assert_locations(locations)
        hosts = [_host(location.path) for location in locations]
        self.assertEqual([allocation.ip_address for allocation in server.allocations], hosts)


def _host(path: str) -> str:
    """Return the host in an NFS or CIFS path."""
    if path.startswith('\\\\'):
        return path[2:].partition('\\')[0]
    return path.partition('/shares/')[0].removesuffix(':').strip('[]')
