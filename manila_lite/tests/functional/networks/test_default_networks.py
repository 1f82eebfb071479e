# SPDX-License-Identifier: Apache-2.0
"""A default network: addresses for share networks without a network, or with one that only Neutron would know."""

import concurrent.futures

from oslo_utils import uuidutils

from manila_lite.db.queries import allocations
from manila_lite.manager.plans import share_server_values
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import base, served

_FILE = (
    networks.FILE
    + """
  - id: everybody
    default: true
    subnets:
      - {id: four, cidr: 10.64.0.0/24, gateway: 10.64.0.1}
      - {id: second, cidr: 10.65.0.0/24}
  - id: own
    default: true
    projects: [rich]
    subnets:
      - {id: own-four, cidr: 10.80.0.0/24}
"""
)
_UNKNOWN = {'neutron_net_id': 'ab1c1aba-5f17-4b2f-9d93-a4d1f0f3fd4e', 'neutron_subnet_id': 'some subnet'}


class Defaults(served.ServedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = cls.service.state / 'default-networks.yaml'
        cls.file.write_text(_FILE)
        cls.service.conf.set_override('file', str(cls.file), 'standalone_network')

    def make(self, caller=None, **values):
        """Create a share network; return it as its owner sees it."""
        return (caller or self.user).ok('POST', '/share-networks', {'share_network': values})['share_network']

    def place(self, network):
        """Return (network id, subnet id, CIDR) of the only subnet, as users see it."""
        [subnet] = network['share_network_subnets']
        return subnet['neutron_net_id'], subnet['neutron_subnet_id'], subnet['cidr']

    def server(self, network):
        """Make a share in the network; return its share server as its driver sees it."""
        self.share(network['id'])
        [row] = self.servers(network['id'])
        with self.service.services.db.reader() as conn:
            return share_server_values.load(conn, [row.id])[row.id]

    def add(self, network, **values):
        """Add a subnet; return (status, document)."""
        return self.user.call(
            'POST', f'/share-networks/{network["id"]}/subnets', {'share-network-subnet': values}
        )[:2]


class Choice(Defaults):
    """The choice of users, the ids that they see, and the place of their share servers."""

    def test_network_without_ids_gets_addresses_in_the_default_network(self):
        network = self.make()
        self.assertEqual((None, None, '10.64.0.0/24'), self.place(network))
        [inside] = self.server(network).networks
        self.assertEqual(('everybody', 'four'), (inside.neutron_net_id, inside.neutron_subnet_id))
        self.assertTrue(inside.allocations[0].ip_address.startswith('10.64.0.'), inside)

    def test_unknown_ids_are_shown_as_given_and_not_used(self):
        network = self.make(**_UNKNOWN)
        self.assertEqual((*_UNKNOWN.values(), '10.64.0.0/24'), self.place(network))
        self.assertEqual(
            _UNKNOWN,
            {
                key: self.user.ok('GET', f'/share-networks/{network["id"]}', version='2.50')['share_network'][
                    key
                ]
                for key in _UNKNOWN
            },
        )
        [inside] = self.server(network).networks
        self.assertEqual(('everybody', 'four'), (inside.neutron_net_id, inside.neutron_subnet_id))

    def test_networks_are_found_by_the_ids_that_were_given(self):
        network = self.make(**_UNKNOWN)
        self.make()
        for query, found in (
            (f'neutron_net_id={_UNKNOWN["neutron_net_id"]}', [network['id']]),
            ('neutron_subnet_id=some%20subnet', [network['id']]),
            ('neutron_net_id=everybody', []),
            ('neutron_subnet_id=four', []),
        ):
            listed = self.user.ok('GET', f'/share-networks/detail?{query}')['share_networks']
            self.assertEqual(found, [one['id'] for one in listed], query)

    def test_network_of_another_project_is_not_entered_by_its_id(self):
        """Try a network that the operator reserved for one project: it is like an unknown one, so nothing can be learned."""
        network = self.make(neutron_net_id='green', neutron_subnet_id='green-v4')
        self.assertEqual('10.64.0.0/24', self.place(network)[2])
        [inside] = self.server(network).networks
        self.assertEqual(
            ('everybody', 'four', '10.64.0.0/24'),
            (inside.neutron_net_id, inside.neutron_subnet_id, inside.allocations[0].cidr),
        )
        self.assertEqual(
            '10.30.0.0/24',
            self.place(self.make(self.caller('first'), neutron_net_id='green', neutron_subnet_id='green-v4'))[
                2
            ],
        )

    def test_listed_networks_are_chosen_as_before(self):
        for place in (('blue', 'blue-v6', 'fd10::/64'), ('everybody', 'second', '10.65.0.0/24')):
            self.assertEqual(
                place, self.place(self.make(neutron_net_id=place[0], neutron_subnet_id=place[1]))
            )
        for ids, reason in (
            ({'neutron_net_id': 'blue', 'neutron_subnet_id': 'red-v4'}, 'subnet_not_known'),
            ({'neutron_net_id': 'blue'}, 'invalid_input'),
            ({'neutron_subnet_id': 'x'}, 'invalid_input'),
        ):
            status, document, _ = self.user.call('POST', '/share-networks', {'share_network': ids})
            self.assertEqual((400, reason), (status, document['badRequest']['reason']), document)

    def test_default_network_of_the_project_comes_first(self):
        self.assertEqual('10.80.0.0/24', self.place(self.make(self.caller('rich')))[2])
        self.assertEqual('10.80.0.0/24', self.place(self.make(self.caller('rich'), **_UNKNOWN))[2])

    def test_network_is_moved_into_the_default_network(self):
        network = self.make(neutron_net_id='blue', neutron_subnet_id='blue-v4')
        moved = self.user.ok('PUT', f'/share-networks/{network["id"]}', {'share_network': _UNKNOWN})[
            'share_network'
        ]
        self.assertEqual((*_UNKNOWN.values(), '10.64.0.0/24'), self.place(moved))
        back = self.user.ok(
            'PUT',
            f'/share-networks/{network["id"]}',
            {'share_network': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}},
        )['share_network']
        self.assertEqual(('blue', 'blue-v4', '10.10.0.0/24'), self.place(back))

    def test_network_made_before_there_was_a_default_one_gets_addresses(self):
        self.file.write_text(networks.FILE)
        self.addCleanup(self.file.write_text, _FILE)
        network = self.make()
        self.assertEqual((None, None, None), self.place(network))
        self.assertEqual(400, self.user.call('POST', '/share-networks', {'share_network': _UNKNOWN})[0])
        self.file.write_text(_FILE)
        self.assertEqual('10.64.0.0/24', self.server(network).networks[0].allocations[0].cidr)
        self.assertEqual((None, None, '10.64.0.0/24'), self.place(self.shown(network['id'])))


class Beside(Defaults):
    """Several subnets and several projects in the default network."""

    def test_several_subnets_do_not_conflict(self):
        network = self.make()
        for values in ({}, _UNKNOWN):
            status, document = self.add(network, **values)
            self.assertEqual(200, status, document)
        server = self.server(network)
        self.assertEqual(['10.64.0.0/24'] * 3, [inside.cidr for inside in server.networks])
        addresses = [allocation.ip_address for inside in server.networks for allocation in inside.allocations]
        self.assertEqual((3, 3), (len(addresses), len(set(addresses))), addresses)

    def test_subnet_is_added_to_a_server_in_use(self):
        network = self.make()
        self.server(network)
        path, check = f'/share-networks/{network["id"]}/action', {'share_network_subnet_create_check': {}}
        base.eventually(lambda: self.user.ok('POST', path, check)['compatible'], 'not possible')
        self.assertEqual(200, self.add(network)[0])
        self.settled(network['id'])
        [server] = self.servers(network['id'])
        with self.service.services.db.reader() as conn:
            self.assertEqual(2, len({row.ip_address for row in allocations.of_server(conn, server.id)}))
        self.assertEqual('active', server.status)

    def test_listed_subnet_still_conflicts(self):
        network = self.make(neutron_net_id='blue', neutron_subnet_id='blue-v4')
        status, document = self.add(network, neutron_net_id='red', neutron_subnet_id='red-v4')
        self.assertEqual((409, 'subnets_overlap'), (status, document['conflictingRequest']['reason']))

    def test_projects_never_share_an_address_or_see_each_other(self):
        """Make share servers of several projects at once, some of which try the ids that another one gave."""
        callers = [self.caller(uuidutils.generate_uuid(), roles='member,reader') for _ in range(4)]
        made = [
            self.make(caller, **values)
            for caller, values in zip(
                callers,
                ({}, _UNKNOWN, _UNKNOWN, {'neutron_net_id': 'everybody', 'neutron_subnet_id': 'four'}),
                strict=True,
            )
        ]
        with concurrent.futures.ThreadPoolExecutor(4) as executor:
            shares = list(
                executor.map(
                    lambda pair: pair[0].share(share_type='served', share_network_id=pair[1]['id']),
                    zip(callers, made, strict=True),
                )
            )
        addresses = []
        for network in made:
            [server] = self.servers(network['id'])
            with self.service.services.db.reader() as conn:
                addresses += [
                    (row.neutron_subnet_id, row.ip_address) for row in allocations.of_server(conn, server.id)
                ]
        self.assertEqual(
            (4, 4, {'four'}), (len(addresses), len(set(addresses)), {subnet for subnet, _ in addresses})
        )
        for number, caller in enumerate(callers):
            self.assertEqual(
                [made[number]['id']],
                [one['id'] for one in caller.ok('GET', '/share-networks/detail')['share_networks']],
            )
            self.assertEqual(
                [shares[number]['id']], [one['id'] for one in caller.ok('GET', '/shares')['shares']]
            )
            self.assertEqual(404, caller.call('GET', f'/share-networks/{made[number - 1]["id"]}')[0])
            self.assertEqual(403, caller.call('GET', '/share-servers')[0])
