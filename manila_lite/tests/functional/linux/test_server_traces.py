# SPDX-License-Identifier: Apache-2.0
"""Teardown of a share server: nothing is left on the machine but objects that others still use."""

import json
import os
import subprocess

from manila_lite import errors, values
from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests import nfs_client
from manila_lite.tests.functional.linux import base, server_base
from manila_lite.tests.linux_teardown import tear_down


class ServerTraces(server_base.MachineTest):
    def setUp(self):
        super().setUp()
        self.driver = self.machine.driver()
        self.addCleanup(lambda: tear_down(self.driver, remove_data=True))
        self.driver.setup()
        self.before = self.machine.traces()

    def links(self):
        """Return the interfaces of the fabric, without the loopback of every namespace."""
        shown = subprocess.run(
            ['ip', '-n', self.machine.fabric, '-json', 'link', 'show', 'up'], capture_output=True, text=True
        )
        return {link['ifname'] for link in json.loads(shown.stdout or '[]')} - {'lo'}

    def test_teardown_of_used_servers_leaves_nothing(self):
        first, second = self.machine.server('four', 'six'), self.machine.server('four', 'more', host=6)
        shares = []
        for server in (first, second):
            self.driver.setup_server(server)
            shares.append(values.Share(f'on-{server.id}', 's', 'p', 1, 'NFS', 'pool', server=server))
            self.driver.create_share(shares[-1])
            self.driver.update_access(shares[-1], [values.AccessRule('r', 'ip', '10.66.1.0/24', 'rw')])
        self.machine.client('one', 'four', 101)
        client = nfs_client.Session(
            server_base.address('four', 5), f'/shares/{shares[0].id}', netns=self.machine.space('one')
        )
        self.addCleanup(client.close)
        self.assertEqual((True, None), client.call('write', 'f', 'hello'))
        self.assertRaises(errors.Final, self.driver.teardown_server, first)
        self.driver.delete_share(shares[0])
        self.driver.teardown_server(first)
        bridges = {subnet: bridge_of(server_base.network(subnet, 1)) for subnet in ('four', 'six', 'more')}
        self.assertNotIn(bridges['six'], self.links())
        self.assertLess({bridges['four'], bridges['more']}, self.links())
        self.assertFalse([trace for trace in self.machine.traces() if first.id in trace])
        self.driver.delete_share(shares[1])
        self.driver.teardown_server(second)
        self.assertEqual(2, len(self.links()), 'the bridge with the client, and its port')
        client.close()
        self.machine.unplug('one')
        self.driver.teardown_server(second)
        self.assertEqual(self.before, self.machine.traces())
        self.assertEqual([], os.listdir(self.machine.state / 'state' / 'servers'))

    def test_bridge_made_by_the_operator_is_kept(self):
        base.ip('netns', 'add', self.machine.fabric)
        base.ip('-n', self.machine.fabric, 'link', 'set', 'lo', 'up')
        bridge = bridge_of(server_base.network('four', 1))
        base.ip('-n', self.machine.fabric, 'link', 'add', bridge, 'type', 'bridge')
        server = self.machine.server('four', 'six')
        self.driver.setup_server(server)
        self.assertEqual(4, len(self.links()))
        self.driver.teardown_server(server)
        self.assertEqual({bridge}, self.links())

    def test_teardown_after_an_interrupted_setup_leaves_nothing(self):
        server = self.machine.server('four', 'six')
        base.ip('netns', 'add', f'manila-{server.id}')
        base.ip('netns', 'add', self.machine.fabric)
        base.ip('-n', self.machine.fabric, 'link', 'add', 'draft', 'type', 'bridge')
        self.driver.setup_server(server)
        self.driver.teardown_server(server)
        self.assertEqual(self.before, self.machine.traces())

    def test_shared_fabric_is_kept_until_both_backends_are_torn_down(self):
        other = self.machine.driver(state='other')
        self.addCleanup(lambda: tear_down(other, remove_data=True))
        other.setup()
        servers = [self.machine.server('four', host=host) for host in (5, 6)]
        for driver, server in zip((self.driver, other), servers, strict=True):
            driver.setup_server(server)
        self.assertEqual(3, len(self.links()), 'a bridge with two ports')
        self.driver.teardown_server(servers[0])
        self.assertEqual(2, len(self.links()))
        other.teardown_server(servers[1])
        self.assertEqual(set(), self.links())
        tear_down(other, remove_data=True)
        self.assertEqual(self.before, self.machine.traces())
