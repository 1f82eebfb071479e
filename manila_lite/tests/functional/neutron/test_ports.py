# SPDX-License-Identifier: Apache-2.0
"""Ports in a real Neutron, of share servers whose worker died or stalled, and of share servers that become managed."""

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db.queries import allocations, share_network_subnets, share_servers
from manila_lite.manager.plans import allocated_addresses
from manila_lite.tests.functional import neutron_base


class Found(neutron_base.NeutronTest):
    """Share servers that are rows only; no worker runs."""

    BACKENDS = {}
    PARTS = ()

    # Workers that died or stalled

    def started(self, size=3):
        """Insert a share server without an address, in its own share network; return its id and its subnet's row."""
        net = self.net()
        network = self.made(net, self.small(net, size))
        resource_id = uuidutils.generate_uuid()
        with self.service.services.db.writer() as conn:
            [row] = share_network_subnets.of_network(conn, network)
            share_servers.insert(
                conn, {'id': resource_id, 'share_network_id': network, 'host': 'test@alpha'}, [row.id]
            )
        self.addCleanup(allocated_addresses.free, self.service.services, self.plugin, resource_id)
        return resource_id, row

    def allocate(self, server, count=1, hold=None):
        return allocated_addresses.allocate(self.service.services, self.plugin, *server, count, hold)

    def test_retry_after_a_crash_uses_the_same_ports(self):
        class DiedError(Exception):
            """Stands for the end of the process."""

        def die(conn):
            raise DiedError

        server = self.started()
        self.assertRaises(DiedError, self.allocate, server, 2, die)
        made = {port.id for port in self.ports(device_id=server[0])}
        self.assertEqual(2, len(made))
        self.assertEqual(made, {row.port_id for row in self.allocate(server, 2)})
        self.assertEqual(made, {row.port_id for row in self.allocate(server, 2)})
        self.assertEqual(made, {port.id for port in self.ports(device_id=server[0])})

    def test_ports_without_stored_addresses_are_freed(self):
        """Free addresses that are in no row, too: all of a share server, or those in one subnet."""
        for subnet_id in (None, 'this'):
            server = self.started()
            with self.service.services.db.reader() as conn:
                self.assertEqual([], allocations.of_server(conn, server[0]))
            self.plugin.allocate(
                self.plugin.describe(server[1].neutron_net_id, server[1].neutron_subnet_id, self.project),
                2,
                taken=(),
                owner=server[0],
            )
            self.assertEqual(2, len(self.ports(device_id=server[0])))
            allocated_addresses.free(
                self.service.services, self.plugin, server[0], subnet_id and uuidutils.generate_uuid()
            )
            self.assertEqual(2 if subnet_id else 0, len(self.ports(device_id=server[0])))
            allocated_addresses.free(
                self.service.services, self.plugin, server[0], subnet_id and server[1].id
            )
            self.assertEqual([], self.ports(device_id=server[0]))

    def test_address_of_another_server_is_not_allocated_again(self):
        """Give no server an address that another has in our database, even if Neutron does; keep no port with it."""
        first = self.started(size=2)
        [had] = self.allocate(first)
        self.neutron.delete_port(had.port_id)
        second = uuidutils.generate_uuid()
        with self.service.services.db.writer() as conn:
            share_servers.insert(
                conn,
                {'id': second, 'share_network_id': first[1].share_network_id, 'host': 'test@alpha'},
                [first[1].id],
            )
        self.addCleanup(allocated_addresses.free, self.service.services, self.plugin, second)
        [found] = self.allocate((second, first[1]))
        self.assertNotEqual(had.ip_address, found.ip_address)
        full = self.assertRaises(errors.Final, self.allocate, (second, first[1]), 2)
        self.assertEqual('SUBNET_FULL', full.detail)
        self.assertEqual([found.port_id], [port.id for port in self.ports(device_id=second)])

    # Share servers that become managed

    def place(self, size):
        """Return a subnet with ``size`` addresses, as the plugin describes it, and the ids of two servers."""
        net = self.net()
        return (
            self.plugin.describe(net.id, self.small(net, size).id, self.project),
            uuidutils.generate_uuid(),
            uuidutils.generate_uuid(),
        )

    def test_managed_server_gets_ports_for_its_addresses(self):
        """Keep a port without an owner, make a missing port, and refuse an address of another share server."""
        place, owner, other = self.place(5)
        self.addCleanup(self.plugin.forget, owner)
        port = self.neutron.create_port(
            network_id=place.neutron_net_id,
            fixed_ips=[{'subnet_id': place.neutron_subnet_id, 'ip_address': '10.5.0.3'}],
        )
        for _ in range(2):
            adopted = self.plugin.adopt(place, ['10.5.0.3', '10.5.0.4'], owner=owner)
            self.assertEqual({'10.5.0.3', '10.5.0.4'}, {one.ip_address for one in adopted})
        self.assertIn(port.id, [one.port_id for one in adopted])
        self.assertEqual(2, len(self.ports(device_id=owner)))
        refused = self.assertRaises(
            errors.Final, self.plugin.adopt, place, ['10.5.0.5', '10.5.0.4'], owner=other
        )
        self.assertIn('10.5.0.4', str(refused))
        self.assertEqual([], self.ports(device_id=other))
        self.assertNotIn(owner, self.plugin.owners())

    def test_ports_of_an_unmanaged_server_are_kept_and_adopted_again(self):
        """Keep the ports of a disowned server, so that Neutron allocates them to no other, and adopt them again."""
        place, owner, other = self.place(1)
        self.addCleanup(self.plugin.forget, other)
        had = self.plugin.allocate(place, 1, taken=(), owner=owner)
        for _ in range(2):
            self.plugin.disown(had)
        self.plugin.forget(owner)
        self.assertRaises(errors.Final, self.plugin.allocate, place, 1, taken=(), owner=other)
        self.assertEqual(had, self.plugin.adopt(place, [had[0].ip_address], owner=other))
