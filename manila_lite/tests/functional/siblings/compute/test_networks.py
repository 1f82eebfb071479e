# SPDX-License-Identifier: Apache-2.0
"""Servers on networks: allocation of addresses, their display, and their release with the server."""

import concurrent.futures
import tempfile
from pathlib import Path

import sqlalchemy as sa

from manila_lite.siblings.compute.db import models
from manila_lite.tests.functional.siblings.compute.base import ComputeTest

_FILE = """networks:
- {id: n1, name: data, cidr: 192.0.2.0/24, gateway: 192.0.2.1, ranges: [[192.0.2.10, 192.0.2.13]]}
- {id: n2, cidr: 'fd66::/64', ranges: [['fd66::5', 'fd66::5']]}
- {id: far, cidr: 198.51.100.0/24}
"""


class Networks(ComputeTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='ml-networks-')
        cls.addClassCleanup(folder.cleanup)
        cls.file = Path(folder.name, 'networks.yaml')
        cls.COMPUTE = f'networks_file = {cls.file}\n[compute_fake]\nnetworks = n1, n2'
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.file.write_text(_FILE)
        self.addCleanup(self.clear)

    def clear(self):
        """Delete all servers."""
        for server in self.me.ok('GET', '/servers')['servers']:
            self.me.ok('DELETE', f'/servers/{server["id"]}')
            self.me.wait(server['id'], 'gone')

    def body(self, networks, **more):
        """Return the body of a request for a server."""
        return {'server': {'name': 'one', 'kernel': 'vmlinuz', 'memory': 64, 'networks': networks, **more}}

    def refused(self, networks):
        """Ask for a server and check the refusal. Return its status and code."""
        return self.me.refused('POST', '/servers', self.body(networks))

    def addresses(self, server_id):
        """Return the addresses of a server by network."""
        addresses = self.me.ok('GET', f'/servers/{server_id}')['server']['addresses']
        return {name: [one['addr'] for one in listed] for name, listed in addresses.items()}

    def taken(self):
        """Return all addresses in use."""
        with self.compute.services.db.reader() as conn:
            return sorted(conn.execute(sa.select(models.server_addresses.c.address)).scalars())

    def test_addresses_are_shown_as_in_nova(self):
        server_id = self.me.server(networks=[{'uuid': 'n1'}, {'uuid': 'n2', 'fixed_ip': 'fd66::0:77'}])
        addresses = self.me.ok('GET', f'/servers/{server_id}')['server']['addresses']
        self.assertEqual({'data', 'n2'}, set(addresses))
        (data,) = addresses['data']
        self.assertRegex(data.pop('OS-EXT-IPS-MAC:mac_addr'), '^fa:16:3e')
        self.assertEqual({'addr': '192.0.2.10', 'version': 4, 'OS-EXT-IPS:type': 'fixed'}, data)
        self.assertEqual(
            {'data': [{'addr': '192.0.2.10', 'version': 4}], 'n2': [{'addr': 'fd66::77', 'version': 6}]},
            self.me.ok('GET', f'/servers/{server_id}/ips')['addresses'],
        )
        (listed,) = self.me.ok('GET', '/servers/detail')['servers']
        self.assertEqual(addresses['n2'], listed['addresses']['n2'])
        self.assertEqual(
            {'n1': '192.0.2.10', 'n2': 'fd66::77'}, self.compute.records()['servers'][server_id]['nics']
        )
        self.me.act(server_id, 'reboot', {'type': 'HARD'})
        self.me.wait(server_id, 'ACTIVE')
        self.assertEqual({'data': ['192.0.2.10'], 'n2': ['fd66::77']}, self.addresses(server_id))

    def test_server_without_networks_has_no_address(self):
        for server_id in (self.me.server(), self.me.server(networks='none'), self.me.server(networks=[])):
            self.assertEqual({}, self.addresses(server_id))
        self.assertEqual([], self.taken())

    def test_address_is_given_to_one_server(self):
        first = self.me.server(networks=[{'uuid': 'n1', 'fixed_ip': '192.0.2.77'}])
        self.assertEqual((409, 'address_in_use'), self.refused([{'uuid': 'n1', 'fixed_ip': '192.0.2.77'}]))
        self.assertEqual(
            (409, 'address_in_use'), self.refused([{'uuid': 'n2'}, {'uuid': 'n1', 'fixed_ip': '192.0.2.77'}])
        )
        self.assertEqual(['192.0.2.77'], self.taken(), 'nothing of what was refused')
        self.me.ok('DELETE', f'/servers/{first}')
        self.me.wait(first, 'gone')
        self.assertEqual([], self.taken())
        self.me.server(networks=[{'uuid': 'n1', 'fixed_ip': '192.0.2.77'}])

    def test_concurrent_requests_get_different_addresses_until_none_is_free(self):
        with concurrent.futures.ThreadPoolExecutor(6) as workers:
            asked = list(
                workers.map(lambda _: self.me.call('POST', '/servers', self.body([{'uuid': 'n1'}])), range(6))
            )
        made = [document['server']['id'] for status, document, _ in asked if status == 202]
        self.assertEqual(4, len(made), asked)
        self.assertEqual([f'192.0.2.{number}' for number in range(10, 14)], self.taken())
        self.assertEqual((409, 'no_free_address'), self.refused([{'uuid': 'n1'}]))
        self.me.ok('DELETE', f'/servers/{made[1]}')
        self.me.wait(made[1], 'gone')
        again = self.me.server(networks=[{'uuid': 'n1'}])
        self.assertEqual(4, len(self.taken()))
        self.assertIn(self.addresses(again)['data'][0], self.taken())

    def test_wrong_networks_are_refused(self):
        for networks, wanted in (
            (5, 400),
            ('some', 400),
            ([{}], 400),
            ([{'uuid': 'n1', 'port': 'x'}], 400),
            ([{'uuid': 'none'}], 400),
            ([{'uuid': 'n1', 'fixed_ip': '192.0.2.1'}], 400),
            ([{'uuid': 'n1', 'fixed_ip': 'fd66::5'}], 400),
            ('auto', 409),
            ([{'uuid': 'far'}], 409),
        ):
            self.assertEqual(wanted, self.refused(networks)[0], networks)
        self.file.write_text('networks: 5')
        self.assertEqual(503, self.refused('auto')[0])
        self.assertEqual([], self.taken())

    def test_networks_of_other_projects_are_unknown(self):
        self.file.write_text(
            'networks: [{id: n1, cidr: 192.0.2.0/24, projects: [other]}, {id: n2, cidr: "fd66::/64"}]'
        )
        unknown, hidden = (
            self.me.call('POST', '/servers', self.body([{'uuid': name}])) for name in ('none', 'n1')
        )
        self.assertEqual(400, hidden[0])
        self.assertEqual(str(unknown[1]).replace('none', 'n1'), str(hidden[1]))
        self.assertEqual({'n2': ['fd66::1']}, self.addresses(self.me.server(networks='auto')))
        _, mine, _ = self.me.token.split(':')
        self.file.write_text(f'networks: [{{id: n1, cidr: 192.0.2.0/24, projects: [other, {mine}]}}]')
        self.assertEqual({'n1': ['192.0.2.1']}, self.addresses(self.me.server(networks='auto')))

    def test_auto_chooses_the_only_network(self):
        self.file.write_text('networks: [{id: n1, cidr: 192.0.2.0/24}]')
        self.assertEqual({'n1': ['192.0.2.1']}, self.addresses(self.me.server(networks='auto')))

    def test_deleted_server_in_error_frees_its_address(self):
        self.knob('spawn final')
        server_id = self.me.server(networks=[{'uuid': 'n1'}], until='ERROR')
        self.assertEqual({'data': ['192.0.2.10']}, self.addresses(server_id))
        self.me.ok('DELETE', f'/servers/{server_id}')
        self.me.wait(server_id, 'gone')
        self.assertEqual([], self.taken())
