# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and MariaDB on loopback, for tests: commits are quick, since nothing survives a power cut."""

import signal
from typing import Any

import psycopg2
import pymysql

from manila_lite.tests.services.daemon import Daemon, program

#: Where Debian keeps PostgreSQL's programs.
PLACES = ':'.join(f'/usr/lib/postgresql/{version}/bin' for version in range(20, 12, -1))


class PostgreSQL(Daemon):
    """A cluster with one superuser, ``tests``."""

    USER = 'postgres'
    END = signal.SIGINT  # "fast": it disconnects its clients
    ABORT = signal.SIGQUIT  # "immediate": SIGKILL would leave its children behind for a moment
    _SETTINGS = {
        'listen_addresses': '127.0.0.1',
        'unix_socket_directories': '',
        'fsync': 'off',
        'max_connections': '800',
        'synchronous_commit': 'off',
        'full_page_writes': 'off',
        'autovacuum': 'off',
        'shared_buffers': '64MB',
        'dynamic_shared_memory_type': 'mmap',
        'max_wal_size': '2GB',
    }

    def need(self) -> None:
        """Find ``initdb`` and ``postgres``."""
        self._initdb = program('initdb', PLACES)
        self._postgres = program('postgres', PLACES)

    def prepare(self) -> None:
        """Make a cluster."""
        secret = self.write('secret', self.password)
        self.run(
            self._initdb,
            '--no-sync',
            '--username=tests',
            f'--pwfile={secret}',
            '--auth=md5',
            '--encoding=UTF8',
            '--locale=C.UTF-8',
            f'--pgdata={self.home}/data',
        )

    def command(self) -> list[str]:
        """Return the postmaster's command line."""
        settings = [word for name, value in self._SETTINGS.items() for word in ('-c', f'{name}={value}')]
        return [self._postgres, '-D', f'{self.home}/data', '-p', str(self.ports['port']), *settings]

    def answers(self) -> bool:
        """Say whether a client can log in."""
        try:
            psycopg2.connect(
                host='127.0.0.1',
                port=self.ports['port'],
                user='tests',
                password=self.password,
                dbname='postgres',
                connect_timeout=5,
            ).close()
        except psycopg2.OperationalError:
            return False
        return True

    @property
    def url(self) -> str:
        """Return a URL for SQLAlchemy, of a superuser."""
        return f'postgresql+psycopg2://tests:{self.password}@127.0.0.1:{self.ports["port"]}/postgres'


class MariaDB(Daemon):
    """A server with one user with all rights, ``tests``."""

    USER = 'mysql'
    _SETTINGS = (
        'bind-address=127.0.0.1',
        'innodb-flush-log-at-trx-commit=0',
        'innodb-flush-method=nosync',
        'innodb-buffer-pool-size=64M',
        'innodb-doublewrite=0',
        'skip-name-resolve',
        'max-connections=800',
        'performance-schema=0',
        'skip-log-bin',
        'table-open-cache=4000',
        'innodb-stats-persistent=0',
    )

    def need(self) -> None:
        """Find ``mariadbd`` and ``mariadb-install-db``."""
        self._server = program('mariadbd')
        self._install = program('mariadb-install-db')

    def prepare(self) -> None:
        """Make a data directory."""
        users = self.write(
            'users.sql',
            (
                'FLUSH PRIVILEGES;\n'
                f"CREATE USER tests@'127.0.0.1' IDENTIFIED BY '{self.password}';\n"
                "GRANT ALL ON *.* TO tests@'127.0.0.1' WITH GRANT OPTION;\n"
            ),
        )
        self.run(
            self._install,
            '--no-defaults',
            f'--datadir={self.home}/data',
            f'--extra-file={users}',
            '--skip-test-db',
            '--skip-log-bin',
            '--auth-root-authentication-method=socket',
            '--innodb-flush-method=nosync',
        )

    def command(self) -> list[str]:
        """Return the server's command line."""
        return [
            self._server,
            '--no-defaults',
            f'--datadir={self.home}/data',
            f'--socket={self.home}/socket',
            f'--pid-file={self.home}/pid',
            f'--tmpdir={self.home}',
            f'--port={self.ports["port"]}',
            *(f'--{setting}' for setting in self._SETTINGS),
        ]

    def answers(self) -> bool:
        """Say whether a client can log in."""
        try:
            pymysql.connect(**self.login()).close()
        except pymysql.MySQLError:
            return False
        return True

    def login(self) -> dict[str, Any]:
        """Return the arguments of a connection."""
        return {
            'host': '127.0.0.1',
            'port': self.ports['port'],
            'user': 'tests',
            'password': self.password,
            'connect_timeout': 5,
        }

    @property
    def url(self) -> str:
        """Return a URL for SQLAlchemy, of a user with all rights."""
        return f'mysql+pymysql://tests:{self.password}@127.0.0.1:{self.ports["port"]}/?charset=utf8mb4'
