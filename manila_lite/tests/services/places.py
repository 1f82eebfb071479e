# SPDX-License-Identifier: Apache-2.0
"""A new database and bus for each test service, on the servers named in the environment.

Without these variables: a SQLite file and ``inproc://``.
"""

import os
import secrets
from pathlib import Path

import fixtures
import sqlalchemy as sa

from manila_lite.tests import waiting
from manila_lite.tests.services.broker import order

#: A URL of a user who may make databases.
DATABASE = 'MANILA_LITE_TEST_DATABASE'
#: A transport URL, and the URL of RabbitMQ's management plug-in.
TRANSPORT = 'MANILA_LITE_TEST_TRANSPORT'
BROKER_ADMIN = 'MANILA_LITE_TEST_BROKER_ADMIN'

_CREATE = {'postgresql': 'CREATE DATABASE {}', 'mysql': 'CREATE DATABASE {} CHARACTER SET utf8mb4'}
_DROP = {'postgresql': 'DROP DATABASE {} WITH (FORCE)', 'mysql': 'DROP DATABASE {}'}
#: MariaDB's number for "can't rmdir", with which it leaves the database there, and empty.
_FILES_LEFT = 1010
_EVERYTHING = {'configure': '.*', 'write': '.*', 'read': '.*'}


def backend() -> str:
    """Return the kind of database that tests run on: 'sqlite', 'postgresql' or 'mysql'."""
    return sa.make_url(os.environ.get(DATABASE, 'sqlite://')).get_backend_name()


class EmptyDatabase(fixtures.Fixture):
    """A database without tables; ``url`` is its URL. It is dropped at the end, even if it is in use.

    ``server``: URL of a user who may do that; by default the environment's, and without that a file in ``folder``.
    """

    def __init__(self, folder: Path, server: str | None = None) -> None:
        super().__init__()
        self._folder = folder
        self._server = server or os.environ.get(DATABASE)

    def _setUp(self) -> None:
        if not self._server:
            self.url = f'sqlite:///{self._folder}/test.sqlite'
            return
        server = sa.make_url(self._server)
        self._kind = server.get_backend_name()
        self._name = f'manila_lite_{secrets.token_hex(6)}'
        self._order(_CREATE)
        self.addCleanup(waiting.until, self._is_dropped, f'MariaDB has no file of {self._name} any more')
        self.url = server.set(database=self._name).render_as_string(hide_password=False)

    def _is_dropped(self) -> bool:
        """Drop it. MariaDB refuses that while a process that was killed has a transaction to be undone in one of the tables."""
        try:
            self._order(_DROP)
        except sa.exc.OperationalError as refused:
            if _FILES_LEFT not in refused.orig.args:
                raise
            return False
        return True

    def _order(self, words: dict[str, str]) -> None:
        engine = sa.create_engine(self._server, isolation_level='AUTOCOMMIT', poolclass=sa.NullPool)
        with engine.connect() as conn:
            conn.exec_driver_sql(words[self._kind].format(self._name))


class EmptyBus(fixtures.Fixture):
    """A bus for one test; ``url`` is its URL. On a broker it is a virtual host, which is deleted at the end."""

    def __init__(self, server: str | None = None, admin: str | None = None) -> None:
        super().__init__()
        self._server = server or os.environ.get(TRANSPORT)
        self._admin = admin or os.environ.get(BROKER_ADMIN, '')

    def _setUp(self) -> None:
        if not self._server:
            self.url = f'inproc:///{secrets.token_hex(6)}'
            return
        name = f'manila_lite_{secrets.token_hex(6)}'
        order(self._admin, 'PUT', f'vhosts/{name}')
        self.addCleanup(order, self._admin, 'DELETE', f'vhosts/{name}')
        order(self._admin, 'PUT', f'permissions/{name}/tests', _EVERYTHING)
        self.url = f'{self._server.rstrip("/")}/{name}'
