# SPDX-License-Identifier: Apache-2.0
"""Barbican's API on loopback, from a Python environment of its own: SQLite, keys in its database, tokens of a real Keystone."""

import base64
import secrets
from collections.abc import Mapping

from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Daemon, serves
from manila_lite.tests.services.keystone import Keystone

_CONFIG = """
[DEFAULT]
db_auto_create = true
host_href = {url}
{middleware}
[database]
connection = sqlite:///{home}/barbican.sqlite
[simple_crypto_plugin]
kek = {kek}
"""

#: Serves with one thread: with more, SQLite's locks make requests fail. Barbican reads the command line when it is imported.
_SERVE = """
import sys
config, paste, port = sys.argv[1:]
sys.argv[1:] = ['--config-file', config]
from cheroot import wsgi
from paste import deploy
application = deploy.loadapp(f'config:{paste}')
wsgi.Server(('127.0.0.1', int(port)), application, numthreads=1).start()
"""


class Barbican(Daemon):
    """A Barbican that validates tokens with the given Keystone, and is in its catalog."""

    def __init__(self, keystone: Keystone) -> None:
        super().__init__()
        self._keystone = keystone
        #: The key of all keys: those of a project could not be read any more after a restart with another one.
        self._kek = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()

    def _setUp(self) -> None:
        super()._setUp()
        self._keystone.announce(self.url, {'key-manager': 'barbican'})

    def need(self) -> None:
        """Find an environment with Barbican."""
        self._place = environments.find('barbican', 'etc/barbican/barbican-api-paste.ini')

    def command(self) -> list[str]:
        """Write the configuration, which has the port; return the command line of Barbican."""
        config = _CONFIG.format(
            home=self.home, url=self.url, middleware=self._keystone.middleware, kek=self._kek
        )
        self.write('barbican.conf', config)
        return [
            str(self._place / 'bin' / 'python'),
            '-W',
            'ignore',
            '-c',
            _SERVE,
            f'{self.home}/barbican.conf',
            f'{self._place}/etc/barbican/barbican-api-paste.ini',
            str(self.ports['port']),
        ]

    def environment(self) -> Mapping[str, str]:
        """Return nothing of ours."""
        return {}

    def answers(self) -> bool:
        """Say whether Barbican is healthy."""
        return serves(self.ports['port'], '/healthcheck')

    @property
    def url(self) -> str:
        """Return the root URL, which shows the versions."""
        return f'http://127.0.0.1:{self.ports["port"]}'
