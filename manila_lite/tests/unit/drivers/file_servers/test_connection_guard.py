# SPDX-License-Identifier: Apache-2.0
"""The guard of connections is built for one folder. What it refuses is tested in tests/security/test_silent_clients.py."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import compiled
from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard


class Guard(testtools.TestCase):
    def test_library_is_where_the_environment_says_and_the_mark_tells_limits_apart(self):
        if not compiled.can_be_made():
            self.skipTest(f'the guard needs {compiled.PACKAGES}')
        home = Path(self.useFixture(fixtures.TempDir()).path)
        guard = ConnectionGuard(home, 64)
        guard.install()
        self.assertTrue(Path(guard.env['LD_PRELOAD']).stat().st_size)
        self.assertEqual('64', guard.env['MANILA_LITE_PER_ADDRESS'])
        self.assertEqual(guard.start_key, ConnectionGuard(home, 64).start_key)
        self.assertNotEqual(guard.start_key, ConnectionGuard(home, 65).start_key)
