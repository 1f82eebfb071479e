# SPDX-License-Identifier: Apache-2.0
"""The address of a client, whatever its headers claim."""

import testtools

from manila_lite import errors
from manila_lite.api.http import client_address

PROXIES = ('10.0.0.0/24', '2001:db8:1::/64')


class Peers(testtools.TestCase):
    def of(self, peer, forwarded=None, trusted=PROXIES):
        found = client_address.ClientAddresses(trusted, 64)
        environ = {'REMOTE_ADDR': peer, **({} if forwarded is None else {'HTTP_X_FORWARDED_FOR': forwarded})}
        return found.name(found.of(environ))

    def test_client_is_named_by_its_peer_address_without_a_proxy(self):
        for peer, name in (
            ('192.0.2.1', '192.0.2.1'),
            ('::ffff:192.0.2.1', '192.0.2.1'),
            ('2001:db8:2:3:4:5:6:7', '2001:db8:2:3::/64'),
            ('fe80::1%eth0', 'fe80::/64'),
            ('', 'unix'),
            ('unix:', 'unix'),
            (None, 'unix'),
        ):
            self.assertEqual(name, self.of(peer), peer)

    def test_forwarded_header_of_an_untrusted_client_is_ignored(self):
        for forwarded in ('192.0.2.9', '10.0.0.1', '192.0.2.9, 10.0.0.1', 'nonsense', '', ',,,'):
            self.assertEqual('192.0.2.1', self.of('192.0.2.1', forwarded), forwarded)
            self.assertEqual('unix', self.of('', forwarded), forwarded)

    def test_forwarded_header_of_a_trusted_proxy_is_used(self):
        for forwarded, name in (
            ('192.0.2.9', '192.0.2.9'),
            ('198.51.100.1, 192.0.2.9', '192.0.2.9'),
            ('10.0.0.9, 192.0.2.9', '192.0.2.9'),
            ('192.0.2.9,10.0.0.7', '192.0.2.9'),
            ('198.51.100.1, 192.0.2.9, 10.0.0.7, 2001:db8:1::1', '192.0.2.9'),
            ('192.0.2.9:4711', '192.0.2.9'),
            ('2001:db8:2::1', '2001:db8:2::/64'),
            ('[2001:db8:2::1]:80', '2001:db8:2::/64'),
            ('"[2001:db8:2::1]"', '2001:db8:2::/64'),
            ('::ffff:192.0.2.9', '192.0.2.9'),
            ('nonsense, 192.0.2.9', '192.0.2.9'),
            ('192.0.2.9, nonsense', '10.0.0.1'),
            ('', '10.0.0.1'),
            (None, '10.0.0.1'),
            ('192.0.2.9, 10.0.0.7, nonsense, 10.0.0.8', '10.0.0.8'),
            ('10.0.0.7, 10.0.0.8', '10.0.0.7'),
        ):
            self.assertEqual(name, self.of('10.0.0.1', forwarded), forwarded)

    def test_forwarded_header_on_a_trusted_local_socket_is_used(self):
        trusted = (*PROXIES, 'unix')
        for forwarded, name in (
            ('192.0.2.9', '192.0.2.9'),
            ('1.1.1.1, 192.0.2.9, 10.0.0.7', '192.0.2.9'),
            (None, 'unix'),
        ):
            self.assertEqual(name, self.of('', forwarded, trusted), forwarded)

    def test_overlong_forwarded_header_returns_the_proxy_address(self):
        self.assertEqual('10.0.0.1', self.of('10.0.0.1', ','.join(['192.0.2.9'] + ['10.0.0.1'] * 10000)))

    def test_invalid_trusted_network_is_refused(self):
        refusal = self.assertRaises(errors.BadConfig, client_address.ClientAddresses, ['10.0.0.0/33'], 64)
        self.assertIn('[api] trusted_proxies', str(refusal))
