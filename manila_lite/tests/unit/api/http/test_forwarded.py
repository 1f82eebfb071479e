# SPDX-License-Identifier: Apache-2.0
"""Headers of a proxy: applied if it is trusted, and removed if not."""

import testtools

from manila_lite.api.http import client_address, forwarded

HEADERS = {
    'HTTP_X_FORWARDED_PROTO': 'HTTPS, http',
    'HTTP_X_FORWARDED_HOST': 'cloud.example:8443, inner',
    'HTTP_X_FORWARDED_PREFIX': '/share',
    'HTTP_X_FORWARDED_FOR': '192.0.2.9',
}


class Headers(testtools.TestCase):
    def seen(self, peer, **headers):
        """Return what the application sees of a request from a peer."""
        environ = {
            'REMOTE_ADDR': peer,
            'wsgi.url_scheme': 'http',
            'HTTP_HOST': 'here',
            'SCRIPT_NAME': '',
            **headers,
        }
        forwarded.applied(client_address.ClientAddresses(['10.0.0.0/8', 'unix'], 64))(environ)
        return environ

    def names(self, peer, **headers):
        return tuple(
            self.seen(peer, **headers)[key] for key in ('wsgi.url_scheme', 'HTTP_HOST', 'SCRIPT_NAME')
        )

    def test_trusted_proxy_names_scheme_host_and_prefix(self):
        for peer in ('10.1.2.3', '::ffff:10.1.2.3', ''):
            self.assertEqual(('https', 'cloud.example:8443', '/share'), self.names(peer, **HEADERS), peer)
        self.assertEqual('192.0.2.9', self.seen('10.1.2.3', **HEADERS)['HTTP_X_FORWARDED_FOR'])

    def test_header_of_the_standard_goes_before_the_others(self):
        said = 'for=192.0.2.9;Proto=HTTPS;host="[fd00::1]:8443", for=10.0.0.1;host=inner'
        self.assertEqual(
            ('https', '[fd00::1]:8443', '/share'), self.names('10.1.2.3', **HEADERS, HTTP_FORWARDED=said)
        )
        self.assertEqual(('http', 'here', ''), self.names('10.1.2.3', HTTP_FORWARDED='for=192.0.2.9'))

    def test_headers_of_others_are_removed(self):
        for peer in ('192.0.2.1', '::1', '11.0.0.1'):
            seen = self.seen(peer, **HEADERS, HTTP_FORWARDED='host=evil')
            self.assertEqual(
                {'REMOTE_ADDR': peer, 'wsgi.url_scheme': 'http', 'HTTP_HOST': 'here', 'SCRIPT_NAME': ''}, seen
            )
