# SPDX-License-Identifier: Apache-2.0
"""Neutron behind Keystone: the service logs in there, finds it in the catalog, and has only a service's role."""

import unittest

import fixtures

from manila_lite.network.neutron_ports import OWNER
from manila_lite.tests.functional import base, keystone_base
from manila_lite.tests.services.daemon import Missing
from manila_lite.tests.services.keystone import REGION
from manila_lite.tests.services.neutron import Neutron

_ASKS = """
[DEFAULT]
auth_strategy = keystone
[keystone_authtoken]
auth_type = password
service_token_roles_required = true
"""

_NEUTRON = """
[network]
plugin = neutron
[neutron]
auth_type = password
region_name = {region}
"""


def _section(login):
    return ''.join(f'{name} = {value}\n' for name, value in login.items())


class Asking(Neutron):
    """A Neutron that validates tokens with Keystone."""

    def __init__(self, keystone):
        super().__init__()
        self._keystone = keystone

    def prepare(self):
        """Create its database and its configuration."""
        super().prepare()
        with (self.home / 'neutron.conf').open('a') as config:
            config.write(_ASKS + _section(self._keystone.login('manila', 'service')))


class BehindKeystone(keystone_base.KeystoneTest):
    """One user validates tokens and talks to Neutron. Only an administrator could see networks that are shared by RBAC."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\n'}

    @classmethod
    def setUpClass(cls):
        keystone = keystone_base.keystone()
        neutron = Asking(keystone)
        try:
            neutron.setUp()
        except fixtures.MultipleExceptions as bad:
            why = bad.args[0][1]
            if not isinstance(why, Missing):
                raise
            raise unittest.SkipTest(f'no Neutron: {why}') from why
        cls.addClassCleanup(neutron.cleanUp)
        keystone.announce(neutron.url, {'network': 'neutron'})
        cls.MORE = _NEUTRON.format(region=REGION) + _section(keystone.login('manila', 'service'))
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'served', 'extra_specs': {'driver_handles_share_servers': 'True'}}},
        )

    def test_share_in_a_network_of_its_project_gets_a_port(self):
        theirs = self.keystone.connect('demo', 'demo').network
        net = theirs.create_network(name='demo')
        subnet = theirs.create_subnet(network_id=net.id, cidr='10.5.0.0/24', ip_version=4)
        status, document = self.share_network(net, subnet)
        self.assertEqual(200, status, document)
        user, made = self.caller_of('demo', 'demo'), document['share_network']
        self.assertEqual('10.5.0.0/24', made['share_network_subnets'][0]['cidr'])
        share = user.share(share_type='served', share_network_id=made['id'])
        (port,) = self.keystone.connect('admin', 'admin').network.ports(network_id=net.id)
        self.assertEqual((OWNER, self.keystone.projects['demo']), (port.device_owner, port.project_id))
        user.call('DELETE', f'/shares/{share["id"]}')
        user.wait(f'/shares/{share["id"]}', 'share', 'gone')
        user.call('DELETE', f'/share-networks/{made["id"]}')
        base.eventually(lambda: not list(theirs.ports(network_id=net.id)), 'the port is left')

    def test_network_of_another_project_is_refused(self):
        status, document = self.share_network(*self.others())
        self.assertEqual(400, status, document)

    def test_wrong_neutron_password_is_answered_503(self):
        wanted = self.others()
        self.assertEqual(400, self.share_network(*wanted)[0])
        self.service.conf.set_override('password', 'no longer', 'neutron')
        self.addCleanup(self.service.conf.clear_override, 'password', 'neutron')
        status, document = self.share_network(*wanted)
        self.assertEqual((503, 'neutron_unavailable'), (status, document['serviceUnavailable']['reason']))

    def others(self):
        """Create a network and a subnet of another project."""
        theirs = self.keystone.connect('other', 'other').network
        net = theirs.create_network(name='other')
        return net, theirs.create_subnet(network_id=net.id, cidr='10.6.0.0/24', ip_version=4)

    def share_network(self, net, subnet):
        """Ask for a share network as demo. Return (status, document)."""
        return self.caller_of('demo', 'demo').call(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': net.id, 'neutron_subnet_id': subnet.id}},
        )[:2]
