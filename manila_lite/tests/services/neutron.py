# SPDX-License-Identifier: Apache-2.0
"""Neutron's API on loopback, from a Python environment of its own: SQLite, no agents, Keystone or bus. All users are admin."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

import openstack

from manila_lite.tests.services import environments
from manila_lite.tests.services.daemon import Daemon, serves

_CONFIG = """
[DEFAULT]
auth_strategy = noauth
core_plugin = ml2
service_plugins = segments
transport_url = fake://
state_path = {home}
api_paste_config = {place}/etc/neutron/api-paste.ini
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
dhcp_agent_notification = false
[database]
connection = sqlite:///{home}/neutron.sqlite
[oslo_concurrency]
lock_path = {home}/lock
[quotas]
quota_driver = neutron.db.quota.driver_nolock.DbQuotaNoLockDriver
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_rbac_policy = -1
[ml2]
type_drivers = local,flat,vlan
tenant_network_types = vlan
mechanism_drivers =
[ml2_type_flat]
flat_networks = *
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199,physnet2:200:299
[securitygroup]
enable_security_group = false
"""

#: Makes the tables directly: Neutron's migrations cannot run on SQLite.
_TABLES = """
import sqlalchemy, sys
from neutron.db.migration.models import head
head.get_metadata().create_all(sqlalchemy.create_engine(sys.argv[1]))
"""

#: Serves with one thread: with more, SQLite's locks make requests fail. Neutron reads the command line when it is imported.
_SERVE = """
import sys
from wsgiref import simple_server
port = int(sys.argv[1])
sys.argv[1:] = []
from neutron.wsgi.api import application
simple_server.WSGIServer.request_queue_size = 128
simple_server.make_server('127.0.0.1', port, application).serve_forever()
"""


class Neutron(Daemon):
    """A Neutron with two physical networks for VLANs; tests make the networks and ports."""

    def need(self) -> None:
        """Find an environment with Neutron."""
        self._place = environments.find('neutron', 'etc/neutron/api-paste.ini')
        self._python = str(self._place / 'bin' / 'python')

    def prepare(self) -> None:
        """Write the database and the configuration."""
        template = self._place / 'template.sqlite'
        if not template.exists():
            # Another process may do the same at this moment; the last one wins, and all are alike.
            self.run(self._python, '-W', 'ignore', '-c', _TABLES, f'sqlite:///{self.home}/template.sqlite')
            draft = f'{template}.{self.home.name}'
            shutil.copy(self.home / 'template.sqlite', draft)
            os.replace(draft, template)
        shutil.copy(template, self.home / 'neutron.sqlite')
        self.write('neutron.conf', _CONFIG.format(home=self.home, place=self._place))

    def command(self) -> list[str]:
        """Return the command line of Neutron."""
        return [self._python, '-W', 'ignore', '-c', _SERVE, str(self.ports['port'])]

    def environment(self) -> Mapping[str, str]:
        """Return the place of the configuration."""
        return {'OS_NEUTRON_CONFIG_DIR': str(self.home), 'OS_NEUTRON_CONFIG_FILES': 'neutron.conf'}

    def answers(self) -> bool:
        """Say whether Neutron shows its versions."""
        return serves(self.ports['port'], '/')

    @property
    def url(self) -> str:
        """Return the root URL, which shows the versions."""
        return f'http://127.0.0.1:{self.ports["port"]}'

    def client(self) -> Any:
        """Return openstacksdk's client of Neutron."""
        return openstack.connect(
            auth_type='none',
            auth={},
            network_endpoint_override=self.url,
            load_yaml_config=False,
            load_envvars=False,
        ).network
