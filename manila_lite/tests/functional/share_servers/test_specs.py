# SPDX-License-Identifier: Apache-2.0
"""Share types and networks that need capabilities of share servers: the backend chosen, or the reason for none."""

from oslo_utils import uuidutils

from manila_lite.tests.functional import served

_MAKES = 'driver_handles_share_servers = true\nbackend_availability_zone = {}\n'
_SEVERAL, _ADD, _SECURITY = (
    'share_server_multiple_subnet_support',
    'network_allocation_update_support',
    'security_service_update_support',
)


class Specs(served.ServedTest):
    """Three backends, each in a zone of its own, whose share servers have different capabilities."""

    BACKENDS = {
        'alpha': _MAKES.format('a'),
        'beta': f'{_MAKES.format("b")}dummy_capabilities = {_SEVERAL}:false,{_SECURITY}:false\n',
        'gamma': f'{_MAKES.format("c")}dummy_capabilities = {_ADD}:false\n',
    }

    def network(self, *subnets):
        """Make a share network with these subnets; return its id."""
        made = super().network(subnets[0])
        for subnet in subnets[1:]:
            self.user.ok(
                'POST',
                f'/share-networks/{made}/subnets',
                {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': subnet}},
            )
        return made

    def kind(self, expected=200, **specs):
        """Ask for a share type with these extra specs; return the type, or the fault."""
        specs = {'driver_handles_share_servers': 'True', **specs}
        status, document, _ = self.admin.call(
            'POST', '/types', {'share_type': {'name': uuidutils.generate_uuid(), 'extra_specs': specs}}
        )
        self.assertEqual(expected, status, document)
        return next(iter(document.values()))

    def home(self, network, kind):
        share = self.user.share(share_type=kind['id'], share_network_id=network)
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host'].partition('#')[0]

    def refused(self, network, kind, zone):
        """Ask for a share that no backend of the zone can take; return detail id and text of the owner's message."""
        share = self.user.share(
            share_type=kind['id'], share_network_id=network, availability_zone=zone, wait='error'
        )
        [message] = self.user.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        return message['detail_id'], message['user_message']

    def test_each_spec_leads_to_a_backend_with_that_capability(self):
        network = self.network('blue-v4')
        for text in ('True', '<is> True', 'true'):
            for wanted, home in (
                ({_ADD: '<is> False'}, 'test@gamma'),
                ({_SEVERAL: 'False'}, 'test@beta'),
                ({_SECURITY: 'False'}, 'test@beta'),
                ({_ADD: text, _SEVERAL: text, _SECURITY: text}, 'test@alpha'),
            ):
                self.assertEqual(home, self.home(network, self.kind(**wanted)))

    def test_message_names_the_missing_capability(self):
        network = self.network('blue-v4')
        for name, zone in ((_ADD, 'c'), (_SEVERAL, 'b'), (_SECURITY, 'b')):
            number, text = self.refused(network, self.kind(**{name: '<is> True'}), zone)
            self.assertEqual('008', number)
            self.assertIn(f"asks {name}='<is> True', the pool reports False", text)

    def test_network_with_two_subnets_needs_multiple_subnet_support(self):
        network = self.network('blue-v4', 'blue-v6')
        number, text = self.refused(network, self.kind(), 'b')
        self.assertEqual('007', number)
        self.assertIn(f"has 2 subnets in zone 'b', and the pool has no {_SEVERAL}", text)
        self.assertEqual('test@gamma', self.home(network, self.kind(share_backend_name='gamma')))

    def test_values_other_than_booleans_are_refused(self):
        for name in (_ADD, _SEVERAL, _SECURITY):
            self.assertIn(
                f'extra_specs.{name}: must be True or False', self.kind(400, **{name: 'perhaps'})['message']
            )

    def test_specs_are_hidden_from_members(self):
        kind = self.kind(**{_ADD: 'True'})
        user = self.caller('someone', roles='member,reader')
        self.assertNotIn(_ADD, user.ok('GET', f'/types/{kind["id"]}')['share_type']['extra_specs'])
