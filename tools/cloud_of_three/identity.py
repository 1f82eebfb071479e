# SPDX-License-Identifier: Apache-2.0
"""Keystone on each controller, with one database.

That is a file of SQLite which all three open: Keystone's own high availability is not what this cloud is about.
"""

import yaml

from cloud_of_three.balancer import API_PORT, KEYSTONE_PORT
from manila_lite.tests.services import keystone

_NAME = 'keystone'
CLOUD = 'three'
#: Names in clouds.yaml, with user and project.
_LOGINS = {CLOUD: ('demo', 'demo'), f'{CLOUD}-admin': (keystone.ADMIN, keystone.ADMIN)}


class Identity(keystone.Keystone):
    """All three. Clients and catalog name the front, the APIs ask the HAProxy of their host."""

    programs = (_NAME,)

    def __init__(self, hosts, front, state, password):
        super().__init__()
        self.hosts, self.front, self.password = hosts, front, password
        self.home = state / 'keystone'
        self.users, self.projects = {}, {}
        self.ports = {'port': KEYSTONE_PORT}

    @property
    def url(self):
        """Return the URL with the version."""
        return f'http://{self.front.address}:{KEYSTONE_PORT}/v3'

    @property
    def section(self):
        """Return the section of an API for its checks of tokens."""
        return self.middleware.replace(
            f'auth_url = {self.url}', f'auth_url = http://127.0.0.1:{KEYSTONE_PORT}/v3', 1
        )

    def start(self):
        """Start each one that does not run; the first one makes the tables."""
        self.need()
        if not self.home.exists():
            self.home.mkdir(0o700)
            self.prepare()
        for host in self.hosts:
            host.start(_NAME, self.command(host.address), env=self.environment())
            host.serves(_NAME, KEYSTONE_PORT)

    def fill(self):
        """Make users, projects and the catalog, if there are none."""
        if not (self.home / 'filled').exists():
            self.populate()
            self.announce(f'http://{self.front.address}:{API_PORT}/v2')
            (self.home / 'filled').touch()

    def clouds(self):
        """Return the text of clouds.yaml."""
        more = {'auth_type': 'password', 'region_name': keystone.REGION, 'identity_api_version': '3'}
        return yaml.safe_dump(
            {
                'clouds': {
                    name: {
                        'auth': self.login(*who),
                        'shared_file_system_default_microversion': '2.82',
                        **more,
                    }
                    for name, who in _LOGINS.items()
                }
            }
        )
