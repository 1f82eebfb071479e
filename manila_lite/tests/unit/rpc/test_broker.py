# SPDX-License-Identifier: Apache-2.0
"""A broker with TLS is not logged in at: something that shakes hands is enough. RabbitMQ itself is in test_preflight."""

import datetime
import ipaddress
import socket
import ssl
import threading

import fixtures
import testtools
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from oslo_config import cfg

from manila_lite.rpc import broker, transport
from manila_lite.tests import waiting


class TestTls(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(self.listener.close)
        self.conf = cfg.ConfigOpts()
        transport.set_defaults(self.conf, f'rabbit://u:p@127.0.0.1:{self.listener.getsockname()[1]}/')
        self.conf([], default_config_files=[])
        transport.url_of(self.conf)  # registers the options of RabbitMQ
        self.conf.set_override('ssl', True, 'oslo_messaging_rabbit')

    def certificate(self):
        """Return the path of a key and a certificate that nobody signed."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, 'nobody')])
        made = (
            x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        path = f'{self.useFixture(fixtures.TempDir()).path}/pem'
        with open(path, 'wb') as file:
            file.write(
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            )
            file.write(made.public_bytes(serialization.Encoding.PEM))
        return path

    def test_server_that_shakes_hands_answers(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate())
        self.useFixture(fixtures.MonkeyPatch('manila_lite.rpc.broker._PATIENCE', waiting.LIMIT))
        said = []

        def serve():
            with context.wrap_socket(self.listener.accept()[0], server_side=True) as wire:
                said.append(wire.recv(100))

        server = threading.Thread(target=serve)
        server.start()
        self.assertTrue(broker.answers(self.conf))
        server.join(waiting.LIMIT)
        self.assertEqual([b''], said)  # no password for somebody that it does not know

    def test_server_that_is_away_does_not_answer(self):
        self.listener.close()
        self.assertFalse(broker.answers(self.conf))

    def test_other_transports_are_not_asked(self):
        self.conf.set_override('transport_url', 'inproc://')
        self.assertTrue(broker.answers(self.conf))
