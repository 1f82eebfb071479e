# SPDX-License-Identifier: Apache-2.0
"""Migrations make the schema that the code expects, from every revision, with any rows in the tables."""

from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from alembic import autogenerate, migration
from oslo_config import cfg

from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations
from manila_lite.tests.factories import dirty
from manila_lite.tests.services import places

#: By revision that changes rows on purpose: a function from the rows before it (see dirty.content) to the rows after it.
CHANGES: dict = {
    '0009': lambda rows: rows | {'shares': [{**row, 'mount_point_name': None} for row in rows['shares']]},
}


class MigrationTest(testtools.TestCase):
    """An empty database of the kind that the tests run on."""

    def setUp(self):
        super().setUp()
        self.db = self.database()

    def database(self):
        """Return a database without tables."""
        state = Path(self.useFixture(fixtures.TempDir()).path)
        url = self.useFixture(places.EmptyDatabase(state)).url
        config = state / 'c.conf'
        config.write_text(f'[database]\nconnection = {url}\n')
        db = Database(setup.configure([f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts()))
        self.addCleanup(db.dispose)
        return db

    def differences(self, db):
        """Return the differences between the schema and the models."""
        with db.engine.connect() as conn:
            context = migration.MigrationContext.configure(conn, opts={'compare_type': True})
            return autogenerate.compare_metadata(context, models.metadata)


class Schema(MigrationTest):

    def test_models_and_migrations_agree(self):
        self.assertIsNone(schema_migrations.current(self.db))
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_migrations.head(self.db), schema_migrations.current(self.db))
        self.assertEqual([], self.differences(self.db))

    def test_a_missing_column_is_noticed(self):
        schema_migrations.upgrade(self.db)
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql('ALTER TABLE shares DROP COLUMN source_backup_id')
        self.assertEqual(['add_column'], [entry[0] for entry in self.differences(self.db)])

    def test_second_upgrade_changes_nothing(self):
        schema_migrations.upgrade(self.db)
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_migrations.head(self.db), schema_migrations.current(self.db))

    def test_names_compare_exactly(self):
        schema_migrations.upgrade(self.db)
        names = ['a', 'A', 'a ', '\u00e4', 'a\u0308']
        with self.db.writer() as conn:
            for name in names:
                conn.execute(models.quota_locks.insert().values(project_id=name))
        with self.db.reader() as conn:
            for name in names:
                query = sa.select(models.quota_locks.c.project_id).where(models.quota_locks.c.project_id == name)
                self.assertEqual([name], list(conn.execute(query).scalars()))

    def test_all_text_columns_have_an_exact_collation(self):
        if places.backend() != 'mysql':
            self.skipTest('only MariaDB has columns that compare inexactly by default')
        schema_migrations.upgrade(self.db)
        with self.db.reader() as conn:
            found = conn.exec_driver_sql('SELECT DISTINCT collation_name FROM information_schema.columns '
                                         'WHERE table_schema = DATABASE() AND collation_name IS NOT NULL')
            self.assertEqual(['utf8mb4_nopad_bin'], list(found.scalars()))

    def test_sqlite_settings_are_applied(self):
        if places.backend() != 'sqlite':
            self.skipTest('it is about SQLite, on which CI tries it')
        with self.db.reader() as conn:
            pragmas = {name: conn.exec_driver_sql(f'PRAGMA {name}').scalar()
                       for name in ('journal_mode', 'foreign_keys', 'busy_timeout', 'synchronous')}
        self.assertEqual({'journal_mode': 'wal', 'foreign_keys': 1, 'busy_timeout': 10000, 'synchronous': 2}, pragmas)
        self.assertEqual('QueuePool', type(self.db.engine.pool).__name__)


class DirtyData(MigrationTest):
    """Migrations from every revision, with odd rows of that revision and of all before it.

    A revision that changes rows on purpose has an entry in CHANGES.
    """

    def steps(self):
        """Yield each revision but the first, with a number."""
        return enumerate(schema_migrations.revisions(self.db)[1:])

    def first(self):
        """Return a database at the first revision."""
        db = self.database()
        schema_migrations.upgrade(db, schema_migrations.revisions(db)[0])
        return db

    def test_rows_are_kept(self):
        db = self.first()
        for number, revision in self.steps():
            dirty.pollute(db.engine, 2, 2 * number)
            before = dirty.content(db.engine)
            self.assertTrue(all(len(rows) >= 2 for rows in before.values()), before)
            schema_migrations.upgrade(db, revision)
            after = dirty.content(db.engine)
            for table, rows in CHANGES.get(revision, lambda rows: rows)(before).items():
                kept = [{name: row[name] for name in rows[0]} for row in after[table]]      # without new columns
                self.assertEqual(_sorted(rows), _sorted(kept), f'{table}, by {revision}')
        self.assertEqual([], self.differences(db))

    def test_number_of_statements_does_not_grow_with_the_rows(self):
        """Check that migrations work on sets: as many statements for fifteen rows as for three."""
        few, many = self.first(), self.first()
        for number, revision in self.steps():
            self.assertEqual(self.cost(few, revision, 1, number), self.cost(many, revision, 5, number), f'by {revision}')

    def cost(self, db, revision, copies, number):
        """Return the number of statements of an upgrade with ``copies`` more rows in each table."""
        dirty.pollute(db.engine, copies, copies * number)
        statements = []
        sa.event.listen(db.engine, 'before_cursor_execute', listener := lambda *args: statements.append(args[2]))
        schema_migrations.upgrade(db, revision)
        sa.event.remove(db.engine, 'before_cursor_execute', listener)
        return len(statements)


def _sorted(rows):
    return sorted((sorted(row.items()) for row in rows), key=repr)
