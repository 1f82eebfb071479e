# SPDX-License-Identifier: Apache-2.0
"""Base of tests with a real Neutron: a server for the class, networks in it, and a check of its ports.

Rule: after each test every port of a share server is an address of an existing share server, and vice versa.
"""

import unittest

import fixtures
import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import conf
from manila_lite.conf import neutron as options
from manila_lite.db import models
from manila_lite.network import load
from manila_lite.network.neutron_ports import OWNER
from manila_lite.tests.functional import base
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.neutron import Neutron

#: Seconds; Neutron is slow on a busy machine, and a failed request is repeated after five.

_CONFIG = """
[network]
plugin = neutron
[neutron]
auth_type = none
endpoint_override = {url}
[quota]
share_networks = -1
"""


class NeutronTest(base.ServiceTest):
    """A service whose networks are in Neutron. Skipped, with the reason, where Neutron is not installed."""

    @classmethod
    def setUpClass(cls):
        cls.server = Neutron()
        try:
            cls.server.setUp()
        except fixtures.MultipleExceptions as bad:
            why = bad.args[0][1]
            if not isinstance(why, Missing):
                raise
            raise unittest.SkipTest(f'no Neutron: {why}') from why
        cls.addClassCleanup(cls.server.cleanUp)
        cls.EXTRA = _CONFIG.format(url=cls.server.url)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.no_port_is_nobodys)
        self.neutron = self.server.client()
        self.project = uuidutils.generate_uuid()
        self.user = self.caller(self.project)

    def set_option(self, name, value, group='neutron'):
        """Set an option until the test ends. Those of Neutron are registered when they are first used."""
        conf.register_module(self.service.conf, options)
        self.service.conf.set_override(name, value, group)
        self.addCleanup(self.service.conf.clear_override, name, group)

    @property
    def plugin(self):
        return load.make(self.service.conf)

    # Networks

    def net(self, **more):
        """Create a network in Neutron; by default it belongs to the project."""
        return self.neutron.create_network(**{'project_id': self.project, **more})

    def subnet(self, net, cidr, **more):
        """Create a subnet of the network."""
        return self.neutron.create_subnet(
            network_id=net.id,
            project_id=net.project_id,
            cidr=cidr,
            ip_version=6 if ':' in cidr else 4,
            **more,
        )

    def small(self, net, count):
        """Create a subnet with ``count`` addresses."""
        return self.subnet(
            net, '10.5.0.0/28', allocation_pools=[{'start': '10.5.0.2', 'end': f'10.5.0.{count + 1}'}]
        )

    def share_network(self, net, subnet, caller=None):
        """Ask for a share network. Returns (status, document)."""
        return (caller or self.user).call(
            'POST',
            '/share-networks',
            {
                'share_network': {
                    'neutron_net_id': getattr(net, 'id', net),
                    'neutron_subnet_id': getattr(subnet, 'id', subnet),
                }
            },
        )[:2]

    def made(self, net, *subnets):
        """Return the id of a share network with these subnets."""
        status, document = self.share_network(net, subnets[0])
        self.assertEqual(200, status, document)
        resource_id = document['share_network']['id']
        for subnet in subnets[1:]:
            self.add(resource_id, net, subnet)
        return resource_id

    def add(self, network_id, net, subnet):
        """Add a subnet to the share network."""
        self.user.ok(
            'POST',
            f'/share-networks/{network_id}/subnets',
            {'share-network-subnet': {'neutron_net_id': net.id, 'neutron_subnet_id': subnet.id}},
        )

    # Ports

    def ports(self, **filters):
        """Return the ports of share servers."""
        return list(self.neutron.ports(device_owner=OWNER, **filters))

    def rows(self, table):
        with self.service.services.db.reader() as conn:
            return list(conn.execute(sa.select(table)))

    def no_port_is_nobodys(self):
        """Check that the ports of share servers in Neutron and the allocations in the database are the same."""
        base.eventually(
            lambda: not self._difference(), f'not the same in Neutron and here: {self._difference()}'
        )

    def _difference(self):
        here = {
            (row.port_id, row.share_server_id, row.ip_address)
            for row in self.rows(models.network_allocations)
        }
        there = {
            (port.id, port.device_id, fixed['ip_address'])
            for port in self.ports()
            for fixed in port.fixed_ips
        }
        # A port may have more addresses than its allocation.
        return (
            {resource_id for resource_id, _, _ in there} - {resource_id for resource_id, _, _ in here}
        ) | (here - there)
