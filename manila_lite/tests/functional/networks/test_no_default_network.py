# SPDX-License-Identifier: Apache-2.0
"""Subnets that name no network where there is no default one: nobody is led to shares that can never be made."""

from manila_lite.db.queries import share_network_subnets
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import served

_BLUE = {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v4'}
_SIX = {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}
_DEFAULT = (
    networks.FILE
    + """
  - id: everybody
    default: true
    subnets:
      - {id: four, cidr: 10.64.0.0/24}
"""
)


class Traps(served.ServedTest):
    BACKENDS = served.ServedTest.BACKENDS | {'beta': 'backend_availability_zone = elsewhere\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.zone = 'nova'

    def setUp(self):
        super().setUp()
        self.network_id = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network'][
            'id'
        ]

    def add(self, version=None, **values):
        """Add a subnet; return the status, and the subnet or the fault."""
        status, document, _ = self.user.call(
            'POST',
            f'/share-networks/{self.network_id}/subnets',
            {'share-network-subnet': values},
            version=version,
        )
        return status, next(iter(document.values()))

    def subnets(self):
        return self.shown(self.network_id)['share_network_subnets']

    def asked(self, path='shares', key='share', **values):
        """Ask for a share or group in the network; return the status, and the answer or the fault."""
        status, document, _ = self.user.call(
            'POST', f'/{path}', {key: {'share_network_id': self.network_id, **values}}
        )
        return status, next(iter(document.values()))

    def ask(self, **values):
        return self.asked(size=1, share_proto='NFS', share_type='served', **values)

    def test_49_9_the_first_real_subnet_takes_the_place_of_the_empty_one(self):
        [empty] = self.subnets()
        compatible = self.act(self.network_id, 'share_network_subnet_create_check', _BLUE)[1]
        self.assertTrue(compatible['compatible'])
        status, subnet = self.add(**_BLUE, metadata={'a': 'b'})
        self.assertEqual((200, empty['id'], {'a': 'b'}), (status, subnet['id'], subnet['metadata']))
        self.assertEqual(
            [(empty['id'], 'blue', '10.10.0.0/24')],
            [(one['id'], one['neutron_net_id'], one['cidr']) for one in self.subnets()],
        )
        self.share(self.network_id)

    def test_49_9_the_second_real_one_stays_beside_it_and_an_empty_one_is_refused_there(self):
        self.add(**_BLUE)
        status, fault = self.add()
        self.assertEqual(400, status, fault)
        self.assertIn('neutron_net_id: missing', fault['message'])
        self.assertEqual(
            (400, 1),
            (self.act(self.network_id, 'share_network_subnet_create_check', {})[0], len(self.subnets())),
        )
        self.assertEqual((200, 2), (self.add(**_SIX)[0], len(self.subnets())))
        self.share(self.network_id)

    def test_49_9_an_empty_one_for_a_zone_is_replaced_by_the_first_real_one_of_that_zone(self):
        self.add(**_BLUE)
        empty = self.add(availability_zone=self.zone)[1]
        self.assertEqual((400, 'subnet_without_network'), self.refused(availability_zone=self.zone))
        self.assertEqual(empty['id'], self.add(availability_zone=self.zone, **_SIX)[1]['id'])
        self.assertEqual({'blue-v4', 'blue-v6'}, {one['neutron_subnet_id'] for one in self.subnets()})
        self.assertEqual(200, self.ask(availability_zone=self.zone)[0])

    def refused(self, **values):
        status, fault = self.ask(**values)
        self.assertIn('names no network', fault['message'])
        self.assertNotIn('again', fault['message'] + fault['next'])
        return status, fault['reason']

    def test_49_9_shares_and_groups_are_refused_at_once(self):
        self.assertEqual((400, 'subnet_without_network'), self.refused())
        group_type = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.network_id, 'share_types': ['served']}},
        )['share_group_type']['id']
        status, fault = self.asked(
            'share-groups',
            'share_group',
            share_group_type_id=group_type,
            share_types=[
                kind['id']
                for kind in self.admin.ok('GET', '/types')['share_types']
                if kind['name'] == 'served'
            ],
        )
        self.assertEqual((400, 'subnet_without_network'), (status, fault.get('reason')), fault)
        self.assertEqual([], self.user.ok('GET', '/shares')['shares'])

    def test_49_9_where_there_is_a_default_network_by_now_the_share_is_made(self):
        file = self.service.state / 'networks.yaml'
        self.addCleanup(file.write_text, networks.FILE)
        file.write_text(_DEFAULT)
        self.share(self.network_id)

    def test_49_9_networks_that_have_both_make_shares_again(self):
        with self.service.services.db.writer() as conn:  # as an earlier release left it
            share_network_subnets.insert(
                conn,
                {
                    'id': self.network_id,
                    'share_network_id': self.network_id,
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-v4',
                    'cidr': '10.10.0.0/24',
                    'ip_version': 4,
                },
                {},
            )
        self.share(self.network_id)

    def test_49_9_a_subnet_of_a_zone_without_share_servers_is_no_help(self):
        self.add(availability_zone='elsewhere', **_BLUE)
        status, fault = self.ask()
        self.assertEqual((400, 'subnet_without_network'), (status, fault['reason']))
        self.assertIn('its other subnets are for other availability zones', fault['message'])
        self.assertEqual((400, 'subnet_without_network'), self.refused(availability_zone=self.zone))
        self.add(**_BLUE)
        self.share(self.network_id)

    def test_49_9_the_message_of_a_share_says_it_if_the_default_network_went_after_the_request(self):
        file = self.service.state / 'networks.yaml'
        self.addCleanup(file.write_text, networks.FILE)
        file.write_text(_DEFAULT)
        runner = self.service.managers['alpha'].worker.runner
        self.addCleanup(setattr, runner, 'may_claim', runner.may_claim)
        runner.may_claim, before = lambda: False, runner.may_claim
        share = self.share(self.network_id, wait=None)
        file.write_text(networks.FILE)
        runner.may_claim = before
        self.user.wait(f'/shares/{share["id"]}', 'share', 'error')
        [message, *_] = self.messages(share['id'])
        self.assertIn('its subnet names no network', message['user_message'])

    def test_49_9_before_2_70_a_zone_has_one_subnet_as_ever(self):
        status, fault = self.add(version='2.69', **_BLUE)
        self.assertEqual((409, 'zone_has_subnet'), (status, fault['reason']))


class Elsewhere(Traps):
    """The other zone has a backend that makes share servers, too. All that is refused in one zone is refused still."""

    BACKENDS = {
        name: f'{served.ServedTest.BACKENDS["alpha"]}dummy_replication_domain = both\n{more}'
        for name, more in {'alpha': '', 'beta': 'backend_availability_zone = elsewhere\n'}.items()
    }

    def test_49_9_a_subnet_of_a_zone_without_share_servers_is_no_help(self):
        """There are share servers: what names no zone is placed there."""
        self.add(availability_zone='elsewhere', **_BLUE)
        self.assertEqual((400, 'subnet_without_network'), self.refused(availability_zone=self.zone))
        self.assertEqual('elsewhere', self.share(self.network_id)['availability_zone'])
        group_type = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.network_id, 'share_types': ['served']}},
        )['share_group_type']['id']
        kinds = [
            kind['id'] for kind in self.admin.ok('GET', '/types')['share_types'] if kind['name'] == 'served'
        ]
        group = self.asked('share-groups', 'share_group', share_group_type_id=group_type, share_types=kinds)[
            1
        ]
        made = self.user.wait(f'/share-groups/{group["id"]}', 'share_group', 'available')
        self.assertEqual('elsewhere', made['availability_zone'])

    def test_49_9_a_replica_is_refused_where_its_subnet_names_no_network(self):
        self.add(**_BLUE)
        empty = self.add(availability_zone='elsewhere')[1]
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': self.network_id,
                    'extra_specs': {'driver_handles_share_servers': 'True', 'replication_type': 'dr'},
                }
            },
        )
        share = self.user.share(share_type=self.network_id, share_network_id=self.network_id)
        status, document, _ = self.user.call(
            'POST',
            '/share-replicas',
            {'share_replica': {'share_id': share['id'], 'availability_zone': 'elsewhere'}},
        )
        self.assertEqual((400, 'subnet_without_network'), (status, document['badRequest']['reason']))
        self.assertIn(empty['id'], document['badRequest']['message'])
