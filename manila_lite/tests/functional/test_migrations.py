# SPDX-License-Identifier: Apache-2.0
"""Migrations make the schema that the code expects."""

from pathlib import Path

import fixtures
import testtools
from alembic import autogenerate, migration

from manila_lite.cmd import setup
from manila_lite.db import migrate, models
from manila_lite.db.engine import Database
from manila_lite.rpc import transport


class Migrations(testtools.TestCase):
    """On SQLite; the other databases follow with their issue."""

    def setUp(self):
        super().setUp()
        state = Path(self.useFixture(fixtures.TempDir()).path)
        config = state / 'c.conf'
        config.write_text(f'[database]\nconnection = sqlite:///{state}/x.sqlite\n')
        self.conf = setup.configure([f'--config-file={config}'], transport_url='inproc://')
        self.db = Database(self.conf)
        self.addCleanup(self._forget)

    def _forget(self):
        self.db.dispose()
        transport.cleanup()
        self.conf.reset()
        self.conf.clear()

    def test_models_and_migrations_agree(self):
        self.assertIsNone(migrate.current(self.db))
        migrate.upgrade(self.db)
        self.assertEqual(migrate.head(self.db), migrate.current(self.db))
        with self.db.engine.connect() as conn:
            found = autogenerate.compare_metadata(
                migration.MigrationContext.configure(conn, opts={'compare_type': True}), models.metadata)
        self.assertEqual([], found)

    def test_a_missing_column_is_noticed(self):
        migrate.upgrade(self.db)
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql('ALTER TABLE shares DROP COLUMN mount_point_name')
        with self.db.engine.connect() as conn:
            found = autogenerate.compare_metadata(migration.MigrationContext.configure(conn), models.metadata)
        self.assertEqual(['add_column'], [entry[0] for entry in found])

    def test_upgrade_twice(self):
        migrate.upgrade(self.db)
        migrate.upgrade(self.db)
        self.assertEqual(migrate.head(self.db), migrate.current(self.db))

    def test_sqlite_is_tuned(self):
        with self.db.reader() as conn:
            pragmas = {name: conn.exec_driver_sql(f'PRAGMA {name}').scalar()
                       for name in ('journal_mode', 'foreign_keys', 'busy_timeout', 'synchronous')}
        self.assertEqual({'journal_mode': 'wal', 'foreign_keys': 1, 'busy_timeout': 10000, 'synchronous': 2}, pragmas)
        self.assertEqual('QueuePool', type(self.db.engine.pool).__name__)
