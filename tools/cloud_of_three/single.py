# SPDX-License-Identifier: Apache-2.0
"""One MariaDB, on the first controller: what all the rest can be tried with in less time and memory."""

import pymysql

from manila_lite.tests import waiting

_NAME, _USER = 'mariadb', 'mysql'
_SETTINGS = (
    'innodb-buffer-pool-size=128M',
    'skip-name-resolve',
    'max-connections=800',
    'performance-schema=0',
)
_SECTION = 'listen database\n    bind 127.0.0.1:3306\n    server {0.name} {0.address}:3306 check\n'


class Single:
    """The server."""

    programs = (_NAME,)

    def __init__(self, hosts, password):
        self.host, self.password = hosts[0], password
        self.url = f'mysql+pymysql://manila_lite:{password}@127.0.0.1:3306/manila_lite?charset=utf8mb4'
        self.haproxy = _SECTION.format(self.host)

    def start(self):
        """Start it, with an empty database the first time."""
        home = self.host.home(_NAME, _USER)
        text = (
            'CREATE DATABASE IF NOT EXISTS manila_lite CHARACTER SET utf8mb4;\n'
            f"CREATE USER IF NOT EXISTS manila_lite IDENTIFIED BY '{self.password}';\n"
            'GRANT ALL ON manila_lite.* TO manila_lite;\n'
        )
        first = self.host.write(_NAME, 'init.sql', text, _USER)
        if not (home / 'data').exists():
            install = 'mariadb-install-db', '--no-defaults', f'--datadir={home}/data', '--skip-test-db'
            self.host.complete(_NAME, install, _USER)
        words = f'datadir={home}/data', f'socket={home}/socket', f'pid-file={home}/pid', f'init-file={first}'
        settings = *words, f'bind-address={self.host.address}', *_SETTINGS
        self.host.start(_NAME, ['mariadbd', '--no-defaults', *(f'--{one}' for one in settings)], _USER)
        waiting.until(lambda: not self.problems(), lambda: f'MariaDB answers\n{self.host.tail(_NAME)}')

    def problems(self):
        """Return a line if it does not answer."""
        words = {
            'host': self.host.address,
            'user': 'manila_lite',
            'password': self.password,
            'connect_timeout': 3,
        }
        try:
            pymysql.connect(**words).close()
        except pymysql.MySQLError as bad:
            return [f'MariaDB of {self.host.name} does not answer: {bad}']
        return []
