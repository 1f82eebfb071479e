# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import testtools

from manila_lite.drivers.file_servers.ganesha import Ganesha
from manila_lite.drivers.file_servers.ganesha_fsal import Fsal


class Plain(Fsal):
    """A storage that needs nothing special."""

    plugins = Path('/plugins')

    def recovery(self, state):
        return f'RecoveryBackend = fs; RecoveryRoot = "{state}/recov";'

    def block(self, name):
        return 'FSAL { Name = PLAIN; }'

    def name_of(self, path):
        return path


class FsalTest(testtools.TestCase):
    def test_server_is_configured_with_what_the_storage_says(self):
        plain = Plain()
        server = Ganesha(Path('/state'), 2049, plain, netns=None, graceless=True, grace=30)
        self.assertIn('Plugins_Dir = "/plugins"', server._conf)
        self.assertIn('RecoveryRoot = "/state/recov"', server._conf)
        self.assertEqual((True, ['x'], {}), (plain.safe, plain.wrap(['x']), plain.env))
