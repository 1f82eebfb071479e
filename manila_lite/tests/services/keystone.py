# SPDX-License-Identifier: Apache-2.0
"""Keystone on loopback, from a Python environment of its own, with the users, roles and catalog of a small cloud; on SQLite."""

import base64
import secrets
from collections.abc import Mapping
from typing import Any

import openstack

from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Daemon, serves

REGION = 'RegionOne'
#: Roles of each user by project. An admin is a manager too, a manager a member, and a member a reader.
USERS = {
    'demo': {'demo': 'member'},
    'viewer': {'demo': 'reader'},
    'boss': {'demo': 'manager'},
    'other': {'other': 'member'},
    'nova': {'service': 'service'},
    'manila': {'service': 'service'},
}
#: The types under which clients look for this API, with the service's name. None is ``share``, that was version 1.
CATALOG = {'sharev2': 'manilav2', 'shared-file-system': 'manila'}
#: The user with all rights, in a project of the same name.
ADMIN = 'admin'

_CONFIG = """
[DEFAULT]
default_log_levels = keystone=ERROR,alembic=WARNING
[database]
connection = sqlite:///{home}/keystone.sqlite
[fernet_tokens]
key_repository = {home}/fernet
[fernet_receipts]
key_repository = {home}/fernet
[credential]
key_repository = {home}/credential
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memory
"""

#: Settings by which an API of ours validates tokens; ``middleware`` fills them in.
_MIDDLEWARE = """auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = {url}
auth_url = {url}
auth_type = password
username = manila
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
service_token_roles_required = true
"""

#: Makes tables, if there are none, and an administrator; then it serves. The first is done in a forked process with the
#: same imports, since one process cannot do both. Keystone reads the command line when it is configured.
_SERVE = """
import os, sys
database, config, address, port, url, user, region, threads = sys.argv[1:]
sys.argv[1:] = []
import keystone.server
from keystone.cmd.bootstrap import Bootstrapper
from keystone.common.sql import upgrades
from keystone.server.flask import core
child = os.fork()
if not child:
    keystone.server.configure(config_files=[config])
    if not os.path.exists(database):
        upgrades.offline_sync_database_to_version()
    first = Bootstrapper()
    first.admin_username = first.project_name = first.admin_role_name = user
    first.admin_password, first.service_name, first.region_id = os.environ['OS_BOOTSTRAP_PASSWORD'], 'keystone', region
    first.public_url = first.internal_url = first.admin_url = url
    first.bootstrap()
    os._exit(0)
if os.waitpid(child, 0)[1]:
    sys.exit('there is no administrator')
from cheroot import wsgi
application = core.initialize_application('public', config_files=[config])
wsgi.Server((address, int(port)), application, numthreads=int(threads)).start()
"""


class Keystone(Daemon):
    """A Keystone with the users of ``USERS``, all with the same random password, and ``ADMIN``.

    ``threads``: with more than one, its SQLite file may be locked when many clients write at once.
    """

    def __init__(self, threads: int = 4) -> None:
        super().__init__()
        self._threads = threads
        self.users: dict[str, str] = {}
        self.projects: dict[str, str] = {}

    def _setUp(self) -> None:
        super()._setUp()
        self.populate()

    def need(self) -> None:
        """Find an environment with Keystone."""
        self._python = environments.find('keystone', 'bin/keystone-manage') / 'bin' / 'python'

    def prepare(self) -> None:
        """Write the configuration and the keys."""
        self.write('keystone.conf', _CONFIG.format(home=self.home))
        for kind in ('fernet', 'credential'):
            (self.home / kind).mkdir(0o700)
            for number in '01':
                self.write(f'{kind}/{number}', base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())

    def command(self, address: str = '127.0.0.1') -> list[str]:
        """Return the command line of a Keystone with this address."""
        return [
            str(self._python),
            '-W',
            'ignore',
            '-c',
            _SERVE,
            f'{self.home}/keystone.sqlite',
            f'{self.home}/keystone.conf',
            address,
            str(self.ports['port']),
            self.url,
            ADMIN,
            REGION,
            str(self._threads),
        ]

    def environment(self) -> Mapping[str, str]:
        """Return the administrator's password."""
        return {'OS_BOOTSTRAP_PASSWORD': self.password}

    def answers(self) -> bool:
        """Say whether Keystone shows its versions."""
        return serves(self.ports['port'], '/v3')

    @property
    def url(self) -> str:
        """Return the URL with the version."""
        return f'http://127.0.0.1:{self.ports["port"]}/v3'

    @property
    def middleware(self) -> str:
        """Return the settings of an API that validates tokens here: the end of ``DEFAULT``, and a section for its login."""
        return _MIDDLEWARE.format(url=self.url, password=self.password)

    def login(self, user: str, project: str) -> dict[str, str]:
        """Return the data for a login, with keystoneauth's names."""
        return {
            'auth_url': self.url,
            'username': user,
            'password': self.password,
            'project_name': project,
            'user_domain_name': 'Default',
            'project_domain_name': 'Default',
        }

    def connect(self, user: str, project: str, **more: Any) -> openstack.connection.Connection:
        """Return a client of openstacksdk that logs in with a password; ``more`` are its options."""
        return openstack.connect(
            auth=self.login(user, project),
            region_name=REGION,
            load_yaml_config=False,
            load_envvars=False,
            **more,
        )

    def announce(self, url: str, kinds: Mapping[str, str] = CATALOG) -> None:
        """Make ``url`` the only endpoint of the API in the catalog, under each of the types."""
        identity = self.connect(ADMIN, ADMIN).identity
        for service in identity.services():
            if service.type in kinds:
                identity.delete_service(service)
        for kind, name in kinds.items():
            service = identity.create_service(type=kind, name=name)
            for interface in ('public', 'internal', 'admin'):
                identity.create_endpoint(
                    service_id=service.id, interface=interface, url=url, region_id=REGION
                )

    def populate(self) -> None:
        """Make the users and their projects."""
        identity = self.connect(ADMIN, ADMIN).identity
        roles = {role.name: role.id for role in identity.roles()}
        for project in sorted({project for places in USERS.values() for project in places}):
            self.projects[project] = identity.create_project(name=project, domain_id='default').id
        for user, places in USERS.items():
            self.users[user] = identity.create_user(name=user, password=self.password, domain_id='default').id
            for project, role in places.items():
                identity.assign_project_role_to_user(self.projects[project], self.users[user], roles[role])
