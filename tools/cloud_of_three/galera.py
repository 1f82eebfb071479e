# SPDX-License-Identifier: Apache-2.0
"""Galera: a node of MariaDB on each controller. All write; a local HAProxy leads each connection to a node in
step."""

import sys

import pymysql

from cloud_of_three import clustercheck
from manila_lite.tests import waiting
from manila_lite.tests.services import daemon, galera

_NAME, _CHECK, _USER = 'mariadb', 'clustercheck', 'mysql'
_SETTINGS = (
    'innodb-buffer-pool-size=128M',
    'skip-name-resolve',
    'max-connections=800',
    'performance-schema=0',
)
#: What a node says that could not store what others did, as with a full disk.
_LEFT = 'Inconsistent'
_SECTION = """listen database
    bind 127.0.0.1:3306
    balance leastconn
    option httpchk GET /
{servers}"""
_USERS = """FLUSH PRIVILEGES;
CREATE DATABASE manila_lite CHARACTER SET utf8mb4;
CREATE USER manila_lite IDENTIFIED BY '{0}';
GRANT ALL ON manila_lite.* TO manila_lite;
"""


class Galera:
    """The cluster. The nodes begin with the same data, so that none has to send its state to another at first."""

    programs = (_NAME, _CHECK)

    def __init__(self, hosts, password):
        self.hosts, self.password = hosts, password
        self.url = f'mysql+pymysql://manila_lite:{password}@127.0.0.1:3306/manila_lite?charset=utf8mb4'
        checked = f'check port {clustercheck.PORT}'
        self.haproxy = _SECTION.format(
            servers=''.join(f'    server {one.name} {one.address}:3306 {checked}\n' for one in hosts)
        )

    def start(self):
        """Start each node that does not run. One that was killed takes what it missed from others; if there are none, the node
        that knows most begins the cluster again.
        """
        stopped = [host for host in self.hosts if not host.program(_NAME)]
        if not all((self._home(host) / 'data').exists() for host in self.hosts):
            self._make()
        elif stopped:
            positions = {host: self._position(host) for host in stopped}
            first = (
                None if len(stopped) < len(self.hosts) else max(stopped, key=lambda one: positions[one][1])
            )
            for host in sorted(stopped, key=lambda one: one is not first):
                self._start_at(positions[host], host, host is first)
        for host in self.hosts:
            login = '127.0.0.1', '3306', 'manila_lite', host.write(_CHECK, 'password', self.password, _USER)
            command = sys.executable, clustercheck.__file__, host.address, *login[1:]
            host.start(_CHECK, command, _USER)
        waiting.until(lambda: not self._mend(), lambda: f'Galera is complete: {self.problems()}')

    def _mend(self):
        """Restart nodes that have left the cluster for good. Return what is wrong then."""
        for host in self.hosts:
            if _LEFT in self._problem(host):
                host.end(_NAME)
                self._start_at(self._position(host), host, False)
        return self.problems()

    def _home(self, host):
        return host.home(_NAME, _USER)

    def _make(self):
        first, *others = self.hosts
        home, users = self._home(first), first.write(_NAME, 'users.sql', _USERS.format(self.password), _USER)
        install = f'--datadir={home}/data', f'--extra-file={users}', '--skip-test-db', '--skip-log-bin'
        first.complete(_NAME, ['mariadb-install-db', '--no-defaults', *install], _USER)
        self._start(first, True)
        first.kill(_NAME, 15)
        waiting.until(lambda: not first.program(_NAME), 'the first node has stopped')
        for host in others:
            host.complete(_NAME, ['cp', '-a', home / 'data', self._home(host) / 'data'])
        for host in self.hosts:
            self._start(host, host is first)

    def _command(self, host, begins):
        home = self._home(host)
        own = (
            f'datadir={home}/data',
            f'socket={home}/socket',
            f'pid-file={home}/pid',
            f'bind-address={host.address}',
        )
        others = () if begins else [f'{one.address}:4567' for one in self.hosts]
        settings = '[mysqld]', *own, *_SETTINGS, *galera.settings(host.name, host.address, others), ''
        file = host.write(_NAME, 'galera.cnf', '\n'.join(settings), _USER)
        return ['mariadbd', f'--defaults-file={file}']

    def _position(self, host):
        """Return where the node's data end: the cluster's UUID, and the number of its last transaction."""
        said = self._home(host) / 'recovery.err'  # the server would add such an ending
        said.unlink(missing_ok=True)
        words = *self._command(host, False), '--wsrep-recover', f'--log-error={said}'
        host.complete(_NAME, words, _USER)
        return galera.recovered(said.read_text(errors='replace'))

    def _start_at(self, position, host, begins):
        uuid, number = position
        self._start(host, begins, f'--wsrep-start-position={uuid}:{number}')

    def _start(self, host, begins, *more):
        if begins:
            galera.allow_begin(self._home(host) / 'data')
        host.start(
            _NAME, [*self._command(host, begins), *(['--wsrep-new-cluster'] if begins else []), *more], _USER
        )
        waiting.until(lambda: not self._problem(host), lambda: f'{host.name} is in step\n{host.tail(_NAME)}')

    def _problem(self, host):
        """Return why the node is not in step, or ''."""
        try:
            return clustercheck.problem(host.address, 3306, 'manila_lite', self.password)
        except pymysql.MySQLError as bad:
            return f'does not answer: {bad}'

    def problems(self):
        """Return a line for each node that is not in the cluster."""
        found = {host.name: self._problem(host) for host in self.hosts}
        return [f'MariaDB of {name}: {why}' for name, why in found.items() if why]


def need():
    """Find the programs. :raises daemon.Missing: one is not installed."""
    galera.need()
    daemon.program('mariadbd')
