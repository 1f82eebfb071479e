# SPDX-License-Identifier: Apache-2.0
"""A share server that was unmanaged is managed again under another id, with its addresses, and serves clients."""

import dataclasses
import itertools

from oslo_utils import uuidutils

from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests.functional.linux import server_base
from manila_lite.tests.linux_teardown import tear_down


class Managed(server_base.ServerTest):
    #: Each test has an address of its own, because clients cache the location of an address for a while.
    HOSTS = itertools.count(6)

    def setUp(self):
        super().setUp()
        host = next(self.HOSTS)
        self.address, self.admin_address = (
            server_base.address('four', host),
            server_base.address('more', host),
        )
        self.old = self.machine.server('four', host=host)
        self.driver.setup_server(self.old)
        self.new = dataclasses.replace(self.old, id=uuidutils.generate_uuid())
        self.machine.spaces.append(f'manila-{self.new.id}')
        for server in (self.old, self.new):
            self.addCleanup(self.torn_down, server)

    def torn_down(self, server):
        """Tear the server down with the driver that the class has by then."""
        self.driver.teardown_server(server)

    def take_over(self):
        """Manage the server and check that it serves at its address."""
        asking = dataclasses.replace(self.new, networks=())
        self.assertEqual([self.address], list(self.driver.find_server(asking, self.old.id, {})))
        self.driver.manage_server(self.new, self.old.id, {})
        self.assertIn(f'manila-{self.new.id}', self.machine.traces())
        self.assertNotIn(f'manila-{self.old.id}', self.machine.traces())
        share = self.share(self.new)
        self.grant(share, (server_base.address('four', 101), 'rw'))
        self.works('one4', self.address, share, 'write', 'f', 'hello')
        self.refused('NOENT', 'two4', self.address, share, 'list')

    def test_49_7_server_is_managed_with_its_address_for_administrators(self):
        """Check that the server is found with it, last, and serves both networks, also after a reboot."""
        [about] = server_base.network('more', 5).allocations
        admin = dataclasses.replace(about, ip_address=self.admin_address, subnet_id=None, neutron_net_id=None)
        both = dataclasses.replace(self.old, admin_allocations=(admin,))
        self.driver.setup_server(both)
        self.driver.unmanage_server(both)
        asking = dataclasses.replace(self.new, networks=())
        self.assertEqual(
            [self.address, admin.ip_address], list(self.driver.find_server(asking, self.old.id, {}))
        )
        self.new = dataclasses.replace(self.new, admin_allocations=(admin,))
        self.driver.manage_server(self.new, self.old.id, {})
        share = self.share(self.new)
        self.assertEqual(
            [(self.address, False), (admin.ip_address, True)],
            [(location.path.partition(':')[0], location.is_admin_only) for location in self.locations],
        )
        self.machine.plug('keeper', bridge_of(admin), f'{server_base.address("more", 101)}/25')
        self.addCleanup(self.machine.unplug, 'keeper')
        self.serves(share, admin)
        tear_down(self.driver)
        type(self).driver = self.machine.driver()
        self.driver.setup()
        for server in (self.server, self.new):
            self.assertIsNone(self.driver.ensure_servers([server])[server.id].error)
        self.serves(self.share(self.new), admin)

    def serves(self, share, admin):
        """Check that clients in both networks write to the share."""
        self.grant(share, *((server_base.address(subnet, 101), 'rw') for subnet in ('four', 'more')))
        self.works('one4', self.address, share, 'write', 'f', 'hello')
        self.works('keeper', admin.ip_address, share, 'write', 'g', 'hello')

    def test_running_unmanaged_server_is_managed_under_a_new_id(self):
        self.driver.unmanage_server(self.old)
        self.assertIn(f'manila-{self.old.id}', self.machine.traces())
        self.assertNotIn(self.old.id, self.driver.held_servers())
        self.take_over()
        self.assertIn(self.new.id, self.driver.held_servers())

    def test_unmanaged_server_is_managed_under_a_new_id_after_a_reboot(self):
        self.driver.unmanage_server(self.old)
        tear_down(self.driver)
        type(self).driver = self.machine.driver()
        self.driver.setup()
        self.assertIsNone(self.driver.ensure_servers([self.server])[self.server.id].error)
        self.assertNotIn(f'manila-{self.old.id}', self.machine.traces())
        self.take_over()
