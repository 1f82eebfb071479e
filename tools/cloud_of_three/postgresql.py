# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: a primary and a streaming standby on the first two controllers. Nobody but ``promote`` makes it the primary.

Clients have both in their URL, and take the one that may be written to: they need no HAProxy.
"""

import contextlib
import shutil

import psycopg2

from manila_lite.tests import waiting
from manila_lite.tests.services import daemon, databases

_NAME, _USER = 'postgresql', 'postgres'
_SETTINGS = {'max_connections': '800', 'shared_buffers': '128MB', 'unix_socket_directories': ''}


class PostgreSQL:
    """The two servers. Commits wait for the standby, so that a promotion loses nothing that was answered."""

    programs = (_NAME,)
    haproxy = ''

    def __init__(self, hosts, password):
        self.hosts, self.password = hosts[:2], password
        at = '&'.join(f'host={host.address}:5432' for host in self.hosts)
        self.url = (
            f'postgresql+psycopg2://manila_lite:{password}@/manila_lite?{at}&target_session_attrs=read-write'
            '&connect_timeout=3'
        )

    def start(self):
        """Start what does not run. A former primary begins anew, as the standby of the new one."""
        if not any(self._data(host).exists() for host in self.hosts):
            self._make()
        primary = self.primary() or self._start(self._last_primary())
        [other] = (host for host in self.hosts if host is not primary)
        if not other.program(_NAME):
            self._clone(other, primary)
            self._start(other)
        waiting.until(lambda: not self.problems(), lambda: f'PostgreSQL is complete: {self.problems()}')
        self._ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._ask(primary, 'SELECT pg_reload_conf()')

    def _data(self, host):
        return host.home(_NAME, _USER) / 'data'

    def _last_primary(self):
        """Return the host whose data are a primary's: there is no note of a standby in them."""
        return next(
            host
            for host in self.hosts
            if self._data(host).exists() and not (self._data(host) / 'standby.signal').exists()
        )

    def _make(self):
        first = self.hosts[0]
        secret = first.write(_NAME, 'secret', self.password, _USER)
        words = '--username=manila_lite', f'--pwfile={secret}', '--auth=scram-sha-256', '--encoding=UTF8'
        self._run(first, 'initdb', *words, '--locale=C.UTF-8', f'--pgdata={self._data(first)}')
        with (self._data(first) / 'pg_hba.conf').open('a') as rules:
            rules.write('host all all samenet scram-sha-256\nhost replication all samenet scram-sha-256\n')
        self._start(first)
        self._ask(first, 'CREATE DATABASE manila_lite', 'postgres')

    def _run(self, host, name, *words):
        command = daemon.program(name, databases.PLACES), *words
        return host.complete(_NAME, command, _USER, {'PGPASSWORD': self.password})

    def _clone(self, host, primary):
        shutil.rmtree(self._data(host), ignore_errors=True)
        at = '-h', primary.address, '-U', 'manila_lite', '-D', self._data(host)
        self._run(host, 'pg_basebackup', *at, '--checkpoint=fast', '-R', '-X', 'stream')

    def _start(self, host):
        settings = {**_SETTINGS, 'listen_addresses': host.address}
        words = [word for name, value in settings.items() for word in ('-c', f'{name}={value}')]
        (self._data(host) / 'postmaster.pid').unlink(missing_ok=True)
        program = daemon.program('postgres', databases.PLACES)
        host.start(_NAME, [program, '-D', self._data(host), *words], _USER, {'PGPASSWORD': self.password})
        waiting.until(lambda: self._role(host), lambda: f'{host.name} answers\n{host.tail(_NAME)}')
        return host

    def _ask(self, host, statement, database='manila_lite'):
        words = {'host': host.address, 'user': 'manila_lite', 'password': self.password, 'dbname': database}
        with contextlib.closing(psycopg2.connect(**words, connect_timeout=3)) as conn:
            conn.autocommit = True
            with conn.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchone()[0] if cursor.description else None

    def _role(self, host):
        """Return what the server is: 'primary', 'standby' or '' if it does not answer."""
        try:
            return 'standby' if self._ask(host, 'SELECT pg_is_in_recovery()', 'postgres') else 'primary'
        except psycopg2.OperationalError:
            return ''

    def primary(self):
        """Return the host of the primary, or None."""
        return next((host for host in self.hosts if self._role(host) == 'primary'), None)

    def promote(self):
        """Make the standby the primary, since that one is dead; ``start`` makes that one the standby."""
        [standby] = (host for host in self.hosts if self._role(host) == 'standby')
        self._ask(standby, "ALTER SYSTEM SET synchronous_standby_names = ''", 'postgres')
        self._run(standby, 'pg_ctl', 'promote', '-w', '-D', self._data(standby))

    def problems(self):
        """Return a line for each server that does not answer, and for a missing primary or stream."""
        roles = {host.name: self._role(host) for host in self.hosts}
        found = [f'PostgreSQL of {name} does not answer' for name, role in roles.items() if not role]
        primary = self.primary()
        if primary is None:
            return [*found, 'PostgreSQL has no primary']
        streams = self._ask(
            primary, "SELECT COUNT(*) FROM pg_stat_replication WHERE state = 'streaming'", 'postgres'
        )
        return found if streams or found else ['PostgreSQL has no standby that streams']
