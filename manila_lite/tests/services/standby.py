# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server with a streaming standby, on loopback: the primary can die, and the standby be promoted."""

import contextlib
from collections.abc import Mapping

import fixtures
import psycopg2

from manila_lite.tests import waiting
from manila_lite.tests.services import daemon, databases


class Server(databases.PostgreSQL):
    """One of the two servers. ``of``: it begins as a standby of that one."""

    _SETTINGS = {**databases.PostgreSQL._SETTINGS, 'synchronous_commit': 'on'}

    def __init__(self, of: 'Server | None' = None) -> None:
        super().__init__()
        self._of = of
        if of:
            self.password = of.password

    def need(self) -> None:
        """Find the programs."""
        super().need()
        self._clone = daemon.program('pg_basebackup', databases.PLACES)
        self._control = daemon.program('pg_ctl', databases.PLACES)

    def prepare(self) -> None:
        """Make a cluster, or copy that of the primary."""
        if self._of:
            self.clone(self._of)
        else:
            super().prepare()

    def environment(self) -> Mapping[str, str]:
        """Return the password of the primary."""
        return {'PGPASSWORD': self.password}

    def clone(self, primary: 'Server') -> None:
        """Copy the primary's data, in the place of those that are there, to stream its changes from the next start on."""
        self.run('rm', '-rf', f'{self.home}/data')
        port = str(primary.ports['port'])
        where = ('-h', '127.0.0.1', '-p', port, '-U', 'tests')
        self.run(
            self._clone,
            *where,
            '-D',
            f'{self.home}/data',
            '--checkpoint=fast',
            '--no-sync',
            '-R',
            '-X',
            'stream',
        )

    def promote(self) -> None:
        """Make the standby the primary. It takes writes when this returns."""
        self.run(self._control, 'promote', '-w', '-D', f'{self.home}/data')

    def ask(self, statement: str) -> str:
        """Return the first value of the answer to a statement."""
        with contextlib.closing(psycopg2.connect(self.url.replace('+psycopg2', ''))) as conn:
            conn.autocommit = True
            with conn.cursor() as cursor:
                cursor.execute(statement)
                return str(cursor.fetchone()[0]) if cursor.description else ''


class Pair(fixtures.Fixture):
    """A primary and its standby: ``primary`` and ``standby``, whose roles ``fail_over`` exchanges."""

    def _setUp(self) -> None:
        self.primary = self.useFixture(Server())
        self.standby = self.useFixture(Server(self.primary))
        self.wait_streaming()

    @property
    def url(self) -> str:
        """Return a URL with both servers, of which the driver takes the primary."""
        ports = (server.ports['port'] for server in (self.primary, self.standby))
        hosts = '&'.join(f'host=127.0.0.1:{port}' for port in sorted(ports))
        return (
            f'postgresql+psycopg2://tests:{self.primary.password}@/postgres?{hosts}'
            '&target_session_attrs=read-write&connect_timeout=5'
        )

    def wait_streaming(self) -> None:
        """Wait until the standby has what the primary has; from now on each commit waits for it."""
        waiting.until(
            lambda: self.primary.ask('SELECT COUNT(*) FROM pg_stat_replication') == '1', 'the standby streams'
        )
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.ask('SELECT pg_reload_conf()')

    def fail_over(self) -> None:
        """Kill the primary, and promote the standby. The former primary is the standby then, and does not run."""
        self.primary.abort()
        self.standby.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Have the former primary stream from the new one: what it had more than that is gone."""
        self.standby.clone(self.primary)
        self.standby.start()
        self.wait_streaming()
