# SPDX-License-Identifier: Apache-2.0
"""A database that is away is recognised, whichever its kind: the transaction is tried again, and callers get 503."""

import contextlib
import re
import socket
import sqlite3

import fixtures
import testscenarios
import testtools
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.db.core import engine


class Away(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(scheme, {'scheme': scheme}) for scheme in ('postgresql+psycopg2', 'mysql+pymysql')]

    def test_nobody_listens(self):
        conf = options.register(cfg.ConfigOpts())
        conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            conf.set_override(
                'connection', f'{self.scheme}://u:p@127.0.0.1:{taken.getsockname()[1]}/d', 'database'
            )
            bad = self.assertRaises(engine.TRANSIENT, self.ask, engine.Database(conf))
        self.assertIsInstance(bad, engine.UNUSABLE)

    @staticmethod
    def ask(database):
        with database.reader():
            pass


class Locked(testtools.TestCase):
    def test_locked_database_is_a_transient_error(self):
        file = self.useFixture(fixtures.TempDir()).join('locked.sqlite')
        conf = options.register(cfg.ConfigOpts())
        conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
        conf.set_override('connection', f'sqlite:///{file}', 'database')
        database = engine.Database(conf)
        self.addCleanup(database.dispose)
        with database.engine.connect() as conn:
            conn.exec_driver_sql('PRAGMA busy_timeout=1')  # on the only connection, which is used again
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute('BEGIN IMMEDIATE')
            self.assertRaises(engine.TRANSIENT, self.write, database)

    @staticmethod
    def write(database):
        with database.writer():
            pass


class Interrupted(testtools.TestCase):
    def setUp(self):
        super().setUp()
        conf = options.register(cfg.ConfigOpts())
        conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
        conf.set_override(
            'connection', f'sqlite:///{self.useFixture(fixtures.TempDir()).join("db.sqlite")}', 'database'
        )
        self.database = engine.Database(conf)
        self.addCleanup(self.database.dispose)

    @staticmethod
    def fail(opened, first, last):
        """Raise an error in the context, and another one while it is handled."""
        with opened:
            try:
                raise first
            finally:
                raise last

    def test_interrupt_is_raised_even_if_what_follows_it_fails(self):
        for opened in (self.database.reader(), self.database.writer()):
            self.assertRaises(
                KeyboardInterrupt, self.fail, opened, KeyboardInterrupt(), engine.TRANSIENT[0]()
            )

    def test_other_errors_are_raised_as_they_are(self):
        for opened in (self.database.reader(), self.database.writer()):
            self.assertRaises(engine.TRANSIENT[0], self.fail, opened, ValueError(), engine.TRANSIENT[0]())


class Words(testtools.TestCase):
    def test_only_temporary_connection_errors_count_as_away(self):
        there = '(psycopg2.OperationalError) connection to server at "192.0.2.1", port 5432 failed: '
        for said, away in (
            ('Connection refused\n\tIs the server running on that host?\n', True),
            ('FATAL:  the database system is starting up\n', True),
            ('FATAL:  sorry, too many clients already\n', True),
            ('FATAL:  password authentication failed for user "manila"\n', False),
            ('FATAL:  database "manila" does not exist\n', False),
            ('FATAL:  no pg_hba.conf entry for host "192.0.2.2"\n', False),
        ):
            self.assertEqual(away, bool(re.match(engine.AWAY, there + said, re.DOTALL)), said)
