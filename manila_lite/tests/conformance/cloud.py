# SPDX-License-Identifier: Apache-2.0
"""A small cloud for the published suite: Keystone, RabbitMQ, MariaDB, and the services of manila_lite as commands."""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fixtures
from keystoneauth1 import exceptions

from manila_lite.api import versions
from manila_lite.tests import forks, process, waiting
from manila_lite.tests.services import broker, databases, places
from manila_lite.tests.services.keystone import ADMIN, Keystone

ROLES = ('api', 'scheduler', 'share')
#: Backends by mode, each with its zone: two of the mode itself, and one of the other.
MODES = {
    'dhss': {'ALPHA': (True, 'zone-0'), 'BETA': (True, 'zone-1'), 'GAMMA': (False, 'zone-1')},
    'nodhss': {'ALPHA': (False, 'zone-0'), 'BETA': (False, 'zone-1'), 'GAMMA': (True, 'zone-1')},
}

_CONFIG = """
[DEFAULT]
state_path = {state}
host = conformance
enabled_share_backends = {backends}
enabled_backup_types = dummy
osapi_share_listen = 127.0.0.1
osapi_share_listen_port = {port}
osapi_share_workers = 2
transport_url = {bus}
report_interval = 2
capability_interval = 2
log_file =
{more}{middleware}[database]
connection = {database}
[network]
plugin = standalone
[standalone_network]
file = {state}/networks.yaml
[dummy]
backup_continue_update_interval = 1
"""
_BACKEND = """
[{name}]
driver = dummy
share_backend_name = {name}
driver_handles_share_servers = {serving}
backend_availability_zone = {zone}
dummy_replication_domain = {domain}
dummy_pool_size_gb = 100000
migration_driver_continue_update_interval = 1
server_migration_driver_continue_update_interval = 1
"""
#: As upstream in its gate, share servers have an address in an admin network, too.
_SERVING = """
dummy_admin_allocations = 1
admin_network_id = admins
admin_subnet_id = admins-four
admin_network_project = admins
"""
_NETWORKS = """
networks:
- id: everybody
  default: true
  network_type: flat
  subnets:
  - {id: four, cidr: 10.64.0.0/12}
- id: admins
  projects: [admins]
  network_type: flat
  subnets:
  - {id: admins-four, cidr: 11.0.0.0/16}
"""


class Cloud(fixtures.Fixture):
    """All of it, in one of ``MODES``. ``state`` is its directory; ``url`` is that of the API."""

    #: The published tests for it: the top directory and that of the tests, seen from their packages.
    TESTS = ('.', './manila_tempest_tests/tests/api')
    #: The most workers for them, and variables of their environment.
    WORKERS = sys.maxsize
    ENVIRONMENT: Mapping[str, str] = {}
    #: More lines of ``DEFAULT``.
    MORE = ''
    NETWORKS = _NETWORKS

    def __init__(self, mode: str) -> None:
        super().__init__()
        self._mode = mode
        #: The files with the settings of its tests, each before those that may override it.
        self.settings: Sequence[str] = ('both', mode)

    def _setUp(self) -> None:
        database, bus = self.useFixture(databases.MariaDB()), self.useFixture(broker.RabbitMQ())
        self.keystone = self.useFixture(Keystone(threads=1))
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.port = process.free_port()
        self.url = f'http://127.0.0.1:{self.port}/v2'
        backends = self.backends()
        empty = self.useFixture(places.EmptyDatabase(self.state, server=database.url))
        text = _CONFIG.format(
            state=self.state,
            backends=','.join(backends),
            port=self.port,
            bus=bus.url,
            more=self.MORE,
            middleware=self.keystone.middleware,
            database=empty.url,
        )
        (self.state / 'c.conf').write_text(text + ''.join(backends.values()))
        (self.state / 'networks.yaml').write_text(self.NETWORKS)
        self.keystone.announce(self.url)
        self._sync()
        for role in ROLES:
            self._start(role)
        self._await_pools(len(backends))

    def backends(self) -> Mapping[str, str]:
        """Return the section of the configuration for each backend, by its name. ``state`` is known."""
        return {
            name: _BACKEND.format(name=name, serving=serving, zone=zone, domain=_domain(serving, self._mode))
            + _SERVING * serving
            for name, (serving, zone) in MODES[self._mode].items()
        }

    def _sync(self) -> None:
        done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.state}/c.conf', 'db', 'sync')
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def _start(self, role: str) -> None:
        with (self.state / f'{role}.log').open('ab') as log:
            child = forks.start(
                f'manila_lite.cmd.{role}:main',
                f'--config-file={self.state}/c.conf',
                stdout=log,
                stderr=log,
                new_session=True,
            )
        self.addCleanup(_end, child)

    def _await_pools(self, number: int) -> None:
        session = self.keystone.connect(ADMIN, ADMIN).session

        def all_are_there() -> bool:
            answer = session.get(
                f'{self.url}/scheduler-stats/pools', headers={versions.HEADER: versions.show(versions.MAX)}
            )
            return len(answer.json()['pools']) == number

        waiting.until(
            all_are_there,
            lambda: f'pools of all backends\n{self.tail()}',
            pause=0.2,
            ignoring=(exceptions.ClientException,),
        )

    def keep_logs(self, folder: Path) -> None:
        """Copy the logs of all services to a folder that exists."""
        for log in self.state.glob('*.log'):
            shutil.copy(log, folder)
        shutil.copy(self.keystone.home / 'out', folder / 'keystone.log')

    def tail(self) -> str:
        """Return the ends of all logs."""
        return '\n'.join(
            f'{log.name}: {log.read_text(errors="replace")[-2000:]}'
            for log in sorted(self.state.glob('*.log'))
        )


def _domain(serving: bool, mode: str) -> str:
    """Return the replication domain of a backend: as upstream, that of the other mode replicates with nobody."""
    return 'DUMMY_DOMAIN' if serving == (mode == 'dhss') else 'OTHER_DOMAIN'


def _end(child: forks.Process) -> None:
    """End a command with all its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
