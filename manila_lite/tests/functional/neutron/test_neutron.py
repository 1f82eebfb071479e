# SPDX-License-Identifier: Apache-2.0
"""Subnets of share networks in a real Neutron: their description, and the projects that may use them."""

import base64
import http.server
import json
import logging
import threading

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.network.interface import Address
from manila_lite.tests.functional import neutron_base


class Proxy(http.server.BaseHTTPRequestHandler):
    """A proxy that answers with Neutron's versions, and with 404 to all other requests."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        body = json.dumps(
            {
                'versions': [
                    {
                        'id': 'v2.0',
                        'status': 'CURRENT',
                        'links': [
                            {'rel': 'self', 'href': f'http://127.0.0.1:{self.server.server_port}/v2.0/'}
                        ],
                    }
                ]
            }
        ).encode()
        known = self.path == '/'
        self.send_response(200 if known else 404)
        self.send_header('Content-Type', 'application/json' if known else 'text/plain')
        self.send_header('Content-Length', str(len(body) if known else 0))
        self.end_headers()
        if known:
            self.wfile.write(body)

    do_DELETE = do_PUT = do_GET  # noqa: N815 - http.server looks for these names

    def log_message(self, *words):
        """Print nothing."""


class Described(neutron_base.NeutronTest):
    """The API with a Neutron, without backends and workers."""

    BACKENDS = {}
    PARTS = ()

    def described(self, net, subnet):
        """Make a share network with this subnet; return the subnet as administrators see it."""
        network_id = self.made(net, subnet)
        return self.admin.ok('GET', f'/share-networks/{network_id}')['share_network'][
            'share_network_subnets'
        ][0]

    def refused(self, status, net, subnet, *words, caller=None):
        """Check that no share network is made, and that the message has all ``words``."""
        before = len(self.rows(models.share_networks)), len(self.rows(models.share_network_subnets))
        found, document = self.share_network(net, subnet, caller)
        self.assertEqual(status, found, document)
        for word in words:
            self.assertIn(word, str(document))
        self.assertEqual(
            before, (len(self.rows(models.share_networks)), len(self.rows(models.share_network_subnets)))
        )
        return document

    # Descriptions of subnets

    def test_subnet_is_described_with_the_data_of_neutron(self):
        net = self.net(
            mtu=1400,
            provider_network_type='vlan',
            provider_physical_network='physnet1',
            provider_segmentation_id=977,
        )
        self.addCleanup(self.neutron.delete_network, net.id)
        four, six = self.subnet(net, '10.1.0.0/24'), self.subnet(net, 'fd77::/64', gateway_ip='fd77::9')
        for subnet, version, gateway in ((four, 4, '10.1.0.1'), (six, 6, 'fd77::9')):
            found = self.described(net, subnet)
            expected = {
                'neutron_net_id': net.id,
                'neutron_subnet_id': subnet.id,
                'cidr': subnet.cidr,
                'mtu': 1400,
                'ip_version': version,
                'gateway': gateway,
                'network_type': 'vlan',
                'segmentation_id': 977,
            }
            self.assertEqual(expected, {name: found[name] for name in expected})

    def test_a_flat_network_has_no_segment_id(self):
        net = self.net(provider_network_type='flat', provider_physical_network=uuidutils.generate_uuid()[:8])
        found = self.described(net, self.subnet(net, '10.1.0.0/24', gateway_ip=None))
        self.assertEqual(
            ('flat', None, None), (found['network_type'], found['segmentation_id'], found['gateway'])
        )

    def segments(self):
        """Make a network with a segment in each physical network, and a subnet; return both."""
        net = self.net(
            segments=[
                {
                    'provider:network_type': 'vlan',
                    'provider:physical_network': name,
                    'provider:segmentation_id': vlan,
                }
                for name, vlan in (('physnet1', 998), ('physnet2', 999))
            ]
        )
        self.addCleanup(self.neutron.delete_network, net.id)
        return net, self.subnet(net, '10.1.0.0/24')

    def test_segment_of_the_configured_physical_network_is_used(self):
        net, subnet = self.segments()
        self.assertIn('network_plugin_broken', str(self.refused(503, net, subnet)))
        self.set_option('physical_network', 'physnet3')
        self.refused(400, net, subnet, net.id)
        self.set_option('physical_network', 'physnet2')
        self.assertEqual(999, self.described(net, subnet)['segmentation_id'])

    def test_subnet_in_one_segment_gets_its_segmentation_id(self):
        net, _ = self.segments()
        segments = list(self.neutron.segments(network_id=net.id))
        self.assertEqual(2, len(segments))
        for segment in segments:
            other = self.net()
            (own,) = self.neutron.segments(network_id=other.id)
            found = self.described(other, self.subnet(other, '10.2.0.0/24', segment_id=own.id))
            self.assertEqual(own.segmentation_id, found['segmentation_id'])
            self.assertEqual('vlan', segment.network_type)

    # Refused subnets

    def test_invalid_network_ids_are_refused(self):
        net, other = self.net(), self.net()
        subnet, unknown = self.subnet(net, '10.1.0.0/24'), uuidutils.generate_uuid()
        self.refused(400, unknown, subnet, 'neutron_net_id', unknown)
        self.refused(400, net, unknown, 'neutron_subnet_id', unknown, net.id)
        self.refused(400, other, subnet, 'neutron_subnet_id', subnet.id, other.id)
        self.refused(400, net, None, 'neutron_subnet_id')
        self.refused(400, None, subnet, 'neutron_net_id')
        for odd in ('../ports', 'some-name', f'{net.id[:-4]}?a=b', net.id.upper(), net.id.replace('-', '')):
            self.refused(400, odd, subnet, odd)
            self.refused(400, net, odd, odd)

    def test_network_of_another_project_is_refused(self):
        theirs = self.net(project_id=uuidutils.generate_uuid())
        subnet = self.subnet(theirs, '10.1.0.0/24')
        self.refused(400, theirs, subnet, 'neutron_net_id', theirs.id)
        self.refused(400, theirs, subnet, theirs.id, caller=self.admin)

    def test_network_is_accepted_only_if_shared_with_the_project(self):
        theirs = self.net(project_id=uuidutils.generate_uuid())
        subnet = self.subnet(theirs, '10.1.0.0/24')
        rule = self.neutron.create_rbac_policy(
            object_type='network',
            object_id=theirs.id,
            action='access_as_shared',
            target_project_id=uuidutils.generate_uuid(),
        )
        self.refused(400, theirs, subnet, theirs.id)
        for target in (self.project, '*'):
            self.neutron.update_rbac_policy(rule, target_project_id=target)
            self.assertEqual(subnet.id, self.described(theirs, subnet)['neutron_subnet_id'])

    def test_admin_adds_a_subnet_of_the_project_of_the_share_network(self):
        mine = self.net()
        subnet = self.subnet(mine, '10.1.0.0/24')
        network_id = self.user.ok('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        body = {
            'share-network-subnet': {
                'neutron_net_id': mine.id,
                'neutron_subnet_id': subnet.id,
                'availability_zone': None,
            }
        }
        status, document, _ = self.admin.call('POST', f'/share-networks/{network_id}/subnets', body)
        self.assertEqual(200, status, document)

    # Neutron cannot be reached

    def test_request_returns_503_while_neutron_is_down(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        self.server.stop()
        try:
            self.assertIn('neutron_unavailable', str(self.refused(503, net, subnet)))
        finally:
            self.server.start()
        self.described(net, subnet)

    def test_request_returns_503_if_neutron_does_not_answer(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        self.set_option('timeout', 1)
        self.server.pause()
        try:
            self.assertIn('neutron_unavailable', str(self.refused(503, net, subnet)))
        finally:
            self.server.go_on()
        self.set_option('timeout', 60)
        self.described(net, subnet)

    def test_wrong_neutron_endpoint_returns_503(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        self.set_option('endpoint_override', f'{self.server.url}/nowhere')
        self.assertIn('neutron_unavailable', str(self.refused(503, net, subnet)))

    def test_proxy_404_is_reported_as_neutron_unavailable(self):
        """Do not take a proxy's 404 for Neutron's: it does not show that a network or port is gone."""
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        self.set_option('endpoint_override', f'http://127.0.0.1:{proxy.server_port}')
        self.assertIn('neutron_unavailable', str(self.refused(503, net, subnet)))
        port = Address('10.1.0.2', port_id=uuidutils.generate_uuid())
        for call in (self.plugin.free, self.plugin.disown):
            self.assertRaises(errors.Unavailable, call, [port])

    def test_endpoint_with_a_version_or_slash_is_accepted(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        for tail in ('/v2.0', '/v2.0/', '/'):
            self.set_option('endpoint_override', f'{self.server.url}{tail}')
            self.described(net, subnet)

    def test_missing_auth_type_returns_503(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        self.set_option('auth_type', None)
        self.assertIn('network_plugin_broken', str(self.refused(503, net, subnet)))

    def test_no_secret_is_logged(self):
        net = self.net()
        subnet = self.subnet(net, '10.1.0.0/24')
        lines = []
        handler = logging.Handler(logging.DEBUG)
        handler.emit = lambda record: lines.append(logging.Formatter().format(record))
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)
        for name in (None, 'manila_lite', 'keystoneauth', 'openstack', 'urllib3'):
            logger = logging.getLogger(name)
            self.addCleanup(logger.setLevel, logger.level)
            logger.setLevel(logging.DEBUG)
        secret = 'hush-4711'
        self.set_option('auth_type', 'http_basic')
        self.refused(503, net, subnet)  # registers the options of this auth type
        self.set_option('username', 'manila')
        self.set_option('password', secret)
        self.described(net, subnet)
        self.set_option('endpoint_override', f'{self.server.url}/nowhere')
        self.refused(503, net, subnet)
        said = '\n'.join(lines)
        self.assertIn(net.id, said)
        for text in (secret, base64.b64encode(f'manila:{secret}'.encode()).decode()):
            self.assertNotIn(text, said)
