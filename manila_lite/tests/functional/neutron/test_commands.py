# SPDX-License-Identifier: Apache-2.0
"""An incomplete [neutron] section, which commands report in one line before they start. The tests need no Neutron."""

import pathlib
import subprocess
import sys

import fixtures
import testtools

from manila_lite.tests import waiting

_CONFIG = """
[DEFAULT]
state_path = {state}
auth_strategy = noauth
enabled_share_backends = alpha
transport_url = inproc://
default_share_type = default
[alpha]
driver = dummy
driver_handles_share_servers = true
[network]
plugin = neutron
[neutron]
"""


class HalfConfigured(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.state / 'manila_lite.conf'

    def run_command(self, module, *words, options=''):
        """Run a command; return its exit status and its output."""
        self.path.write_text(_CONFIG.format(state=self.state) + options)
        done = subprocess.run(
            [sys.executable, '-m', f'manila_lite.cmd.{module}', f'--config-file={self.path}', *words],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def test_the_share_manager_does_not_start(self):
        status, said = self.run_command('share')
        self.assertEqual((1, 1), (status, len(said.splitlines())), said)
        self.assertIn('[neutron] auth_type: missing', said)
        status, said = self.run_command(
            'share', options='auth_type = password\nauth_url = http://127.0.0.1:9\npassword = hush-4711\n'
        )
        self.assertEqual((1, 1), (status, len(said.splitlines())), said)
        self.assertIn('[neutron] username or user_id: missing', said)
        self.assertNotIn('hush', said)

    def test_upgrade_check_reports_the_missing_option(self):
        self.assertEqual(0, self.run_command('manage', 'db', 'sync')[0])
        status, said = self.run_command('status', 'upgrade', 'check', options='auth_type = none\n')
        self.assertEqual(2, status, said)
        self.assertIn('endpoint_override', said)
        status, said = self.run_command(
            'status', 'upgrade', 'check', options='auth_type = none\nendpoint = http://127.0.0.1:9\n'
        )
        self.assertIn(status, (0, 1), said)
        self.assertNotIn('[neutron]', said)
