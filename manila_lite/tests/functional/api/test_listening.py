# SPDX-License-Identifier: Apache-2.0
"""The address that the API listens on: by default nobody else can reach it."""

import socket

import testtools

from manila_lite.tests import process, waiting


class Listening(testtools.TestCase):
    """The built-in server, as configured or not."""

    def started(self, address):
        """Start a service that is to listen on this address, or on the default one."""
        lite = self.useFixture(process.Lite())
        text = lite.config.read_text().replace(
            'osapi_share_listen = 127.0.0.1\n', f'osapi_share_listen = {address}\n' if address else ''
        )
        lite.config.write_text(f'{text}\n[api]\nallow_remote_noauth = true\n')
        lite.start()
        return lite

    def test_by_default_only_this_machine_can_reach_it(self):
        lite = self.started(None)
        self.assertIn(
            f'Listening on 127.0.0.1:{lite.port}, for this machine only (options osapi_share_listen and '
            'osapi_share_listen_port)',
            lite.log.read_text(),
        )
        with socket.socket() as other:
            self.assertRaises(ConnectionRefusedError, other.connect, ('127.0.0.2', lite.port))

    def test_all_addresses_are_for_whoever_asks_for_them(self):
        lite = self.started('::')
        self.assertIn(f'Listening on [::]:{lite.port}\n', lite.log.read_text())
        for address in ('127.0.0.2', '::1'):
            socket.create_connection((address, lite.port), timeout=waiting.LIMIT).close()
