# SPDX-License-Identifier: Apache-2.0
"""Migrations make the schema that the code expects, from every revision, with any rows in the tables."""

import collections
import contextlib
import threading
from concurrent import futures
from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from alembic import autogenerate, migration
from oslo_config import cfg

from manila_lite import errors
from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core.engine import Database, retry
from manila_lite.db.maintenance import schema_migrations, schema_revisions, schema_upgrade
from manila_lite.db.models import quota_triggers
from manila_lite.db.queries import quota_sums, quotas
from manila_lite.tests import waiting
from manila_lite.tests.factories import dirty, shares
from manila_lite.tests.functional import base
from manila_lite.tests.services import databases, places

#: By revision that changes rows on purpose: a function from the rows before it (see dirty.content) to the rows after it.
CHANGES: dict = {
    '0009': lambda rows: rows | {'shares': [{**row, 'mount_point_name': None} for row in rows['shares']]}
}


class MigrationTest(testtools.TestCase):
    """An empty database of the kind that the tests run on."""

    def setUp(self):
        super().setUp()
        self.db = self.database()

    def database(self):
        """Return a database without tables."""
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        return self.open(self.useFixture(places.EmptyDatabase(self.state)).url)

    def open(self, url):
        config = self.state / 'c.conf'
        config.write_text(f'[database]\nconnection = {url}\n')
        db = Database(
            setup.configure([f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts())
        )
        self.addCleanup(db.dispose)
        return db

    def differences(self, db):
        """Return the differences between the schema and the models."""
        with db.engine.connect() as conn:
            context = migration.MigrationContext.configure(conn, opts={'compare_type': True})
            return autogenerate.compare_metadata(context, models.metadata)


class Schema(MigrationTest):
    def test_models_and_migrations_agree(self):
        self.assertIsNone(schema_revisions.current(self.db))
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_revisions.head(self.db), schema_revisions.current(self.db))
        self.assertEqual([], self.differences(self.db))

    def test_a_missing_column_is_noticed(self):
        schema_migrations.upgrade(self.db)
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql('ALTER TABLE shares DROP COLUMN source_backup_id')
        self.assertEqual(['add_column'], [entry[0] for entry in self.differences(self.db)])

    def test_second_upgrade_changes_nothing(self):
        schema_migrations.upgrade(self.db)
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_revisions.head(self.db), schema_revisions.current(self.db))

    def test_service_that_starts_upgrades_an_older_schema_and_lets_a_later_one_be(self):
        for before in (None, '0001', schema_revisions.revisions(self.db)[-2]):
            if before:
                self.db = self.database()
                schema_migrations.upgrade(self.db, before)
            self.assertEqual(
                (before, True), (schema_revisions.current(self.db), schema_revisions.is_older(self.db))
            )
            schema_upgrade.upgrade_if_older(self.db)
            self.assertEqual(schema_revisions.head(self.db), schema_revisions.current(self.db))
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        self.assertEqual(
            (True, False), (schema_revisions.is_newer(self.db), schema_revisions.is_older(self.db))
        )
        schema_upgrade.upgrade_if_older(self.db)
        self.assertEqual('9999', schema_revisions.current(self.db))

    def test_names_compare_exactly(self):
        schema_migrations.upgrade(self.db)
        names = ['a', 'A', 'a ', '\u00e4', 'a\u0308']
        with self.db.writer() as conn:
            for name in names:
                conn.execute(models.quota_locks.insert().values(project_id=name))
        with self.db.reader() as conn:
            for name in names:
                query = sa.select(models.quota_locks.c.project_id).where(
                    models.quota_locks.c.project_id == name
                )
                self.assertEqual([name], list(conn.execute(query).scalars()))

    def test_all_text_columns_have_an_exact_collation(self):
        if places.backend() != 'mysql':
            self.skipTest('only MariaDB has columns that compare inexactly by default')
        schema_migrations.upgrade(self.db)
        with self.db.reader() as conn:
            found = conn.exec_driver_sql(
                'SELECT DISTINCT collation_name FROM information_schema.columns '
                'WHERE table_schema = DATABASE() AND collation_name IS NOT NULL'
            )
            self.assertEqual(['utf8mb4_nopad_bin'], list(found.scalars()))

    def test_sqlite_settings_are_applied(self):
        if places.backend() != 'sqlite':
            self.skipTest('it is about SQLite, on which CI tries it')
        with self.db.reader() as conn:
            pragmas = {
                name: conn.exec_driver_sql(f'PRAGMA {name}').scalar()
                for name in ('journal_mode', 'foreign_keys', 'busy_timeout', 'synchronous')
            }
        self.assertEqual(
            {'journal_mode': 'wal', 'foreign_keys': 1, 'busy_timeout': 10000, 'synchronous': 2}, pragmas
        )
        self.assertEqual('QueuePool', type(self.db.engine.pool).__name__)


class WithBinaryLog(databases.MariaDB):
    """A server that keeps a binary log, as those that have replicas."""

    _SETTINGS = (
        *(setting for setting in databases.MariaDB._SETTINGS if setting != 'skip-log-bin'),
        'log-bin=log',
    )


class Usage(MigrationTest):
    """The revision that begins to sum up the usage of projects, which was counted before."""

    def setUp(self):
        super().setUp()
        schema_migrations.upgrade(self.db, '0023')
        with self.db.writer() as conn:
            conn.execute(models.share_types.insert().values(id='t', name='t', is_public=True))
        self.make(3, 'a')
        self.make(2, 'b')

    def make(self, count, project):
        """Make shares of 1 GiB, each with a snapshot, and a share that quotas do not count."""
        with self.db.writer() as conn:
            made = shares.make(conn, count + 1, type_id='t', project=project)
            (gone,) = made[:1]
            for table, column in (
                (models.shares, models.shares.c.id),
                (models.snapshots, models.snapshots.c.share_id),
            ):
                conn.execute(table.update().where(column == gone[0]).values(deletion_deferred=True))

    def used(self, project):
        with self.db.reader() as conn:
            self.assertEqual([], quota_sums.list_missing(conn))
            found = quotas.usages(conn, project, user_id='u')
        return [found[name].total for name in ('shares', 'gigabytes', 'snapshots', 'snapshot_gigabytes')]

    def test_rows_from_before_the_upgrade_are_summed_up(self):
        schema_migrations.upgrade(self.db)
        self.assertEqual(([3] * 4, [2] * 4, [0] * 4), tuple(map(self.used, 'abc')))
        self.make(4, 'b')
        self.assertEqual([6] * 4, self.used('b'))
        with self.db.reader() as conn:
            self.assertEqual([], quota_triggers.absent(conn))

    def test_triggers_can_be_made_anew_on_mariadb(self):
        """Repeat the revision, as the user guide says for another user of the database."""
        if places.backend() != 'mysql':
            self.skipTest('only MariaDB has triggers with the rights of the user who made them')
        schema_migrations.upgrade(self.db)
        with self.db.writer() as conn:
            conn.exec_driver_sql('DROP TRIGGER quota_changes_shares_insert')
        self.make(1, 'a')
        schema_migrations.stamp(self.db, '0023')
        schema_migrations.upgrade(self.db)
        self.make(1, 'a')
        self.assertEqual([5] * 4, self.used('a'))

    def test_refused_triggers_are_made_after_what_the_error_says(self):
        if places.backend() != 'mysql':
            self.skipTest('only MariaDB has a binary log that refuses triggers')
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        server = stack.enter_context(WithBinaryLog())
        url = self.useFixture(places.EmptyDatabase(self.state, server.url)).url
        engine = sa.create_engine(url)
        self.addCleanup(engine.dispose)
        name = engine.url.database
        with engine.begin() as conn:
            conn.exec_driver_sql("CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'x'")
            conn.exec_driver_sql(f"GRANT ALL ON {name}.* TO plain@'127.0.0.1'")
        db = self.open(engine.url.set(username='plain', password='x').render_as_string(hide_password=False))
        refused = self.assertRaises(errors.Conflict, schema_migrations.upgrade, db)
        said = str(refused).split('"')[1]
        self.assertEqual('SET GLOBAL log_bin_trust_function_creators = 1', said)
        with engine.begin() as conn:
            conn.exec_driver_sql(said)
        schema_migrations.upgrade(db)
        with engine.begin() as conn:
            conn.exec_driver_sql('SET GLOBAL log_bin_trust_function_creators = 0')
        with db.writer() as conn:
            self.assertEqual([], quota_triggers.absent(conn))
            conn.execute(models.share_networks.insert().values(id='n', project_id='p', status='active'))
            self.assertEqual(1, quotas.usages(conn, 'p')['share_networks'].total)

    def test_processes_of_the_release_before_may_write_during_the_upgrade(self):
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several hosts during an upgrade, and MariaDB')
        done, made = threading.Event(), []

        def write():
            while not done.is_set():
                retry(self.make)(1, 'a')
                made.append(1)

        with futures.ThreadPoolExecutor(2) as pool:
            writers = [pool.submit(write) for _ in range(2)]
            base.eventually(lambda: len(made) > 3, 'nobody writes')
            schema_migrations.upgrade(self.db)
            before = len(made)
            base.eventually(lambda: len(made) > before + 3, 'nobody writes after it')
            done.set()
            for writer in writers:
                writer.result(waiting.LIMIT)
        self.assertEqual([3 + len(made)] * 4, self.used('a'))


#: Whether a change of the schema waits for a table.
_WAITS = {
    'postgresql': "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'",
    'mysql': "SELECT count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock'",
}


class Waits(MigrationTest):
    """Tables that services use at the moment."""

    def test_upgrade_gives_way_to_transactions_that_wait_for_each_other_because_of_it(self):
        """Let one transaction have read a table that is to be changed, and then want a row of another transaction, which then
        wants to read that table. The second waits behind the change, and the change behind the first.
        """
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several hosts during an upgrade, and MariaDB')
        schema_migrations.upgrade(self.db, '0024')
        row = sa.text("UPDATE quota_locks SET turn = turn + 1 WHERE project_id = 'p'")
        read = sa.text('SELECT count(*) FROM services')
        with self.db.writer() as conn:
            conn.execute(models.quota_locks.insert().values(project_id='p', turn=0))
        with (
            futures.ThreadPoolExecutor(2) as pool,
            self.db.engine.connect() as first,
            self.db.engine.connect() as second,
        ):
            first.execute(read)
            second.execute(row)
            upgrade = pool.submit(schema_migrations.upgrade, self.db, '0025')
            base.eventually(lambda: self.waits() or upgrade.done(), 'the upgrade does not wait')

            def end_second():
                second.execute(read)
                second.commit()

            end = pool.submit(end_second)
            first.execute(row)
            first.commit()
            end.result(waiting.LIMIT)
            upgrade.result(waiting.LIMIT)
        self.assertEqual('0025', schema_revisions.current(self.db))

    def waits(self):
        with self.db.engine.connect() as conn:
            return conn.exec_driver_sql(_WAITS[self.db.engine.dialect.name]).scalar()


class DirtyData(MigrationTest):
    """Migrations from every revision, with odd rows of that revision and of all before it.

    A revision that changes rows on purpose has an entry in CHANGES.
    """

    def steps(self):
        """Yield each revision but the first, with a number."""
        return enumerate(schema_revisions.revisions(self.db)[1:])

    def first(self):
        """Return a database at the first revision."""
        db = self.database()
        schema_migrations.upgrade(db, schema_revisions.revisions(db)[0])
        return db

    def test_rows_are_kept(self):
        db = self.first()
        for number, revision in self.steps():
            dirty.pollute(db.engine, 2, 2 * number)
            before = self.content(db)
            self.assertTrue(all(len(rows) >= 2 for rows in before.values()), before)
            schema_migrations.upgrade(db, revision)
            after = self.content(db)
            for table, rows in CHANGES.get(revision, lambda rows: rows)(before).items():
                kept = [{name: row[name] for name in rows[0]} for row in after[table]]  # without new columns
                if _counted(rows) != _counted(kept):
                    self.assertEqual(_sorted(rows), _sorted(kept), f'{table}, by {revision}')
        self.assertEqual([], self.differences(db))

    def test_number_of_statements_does_not_grow_with_the_rows(self):
        """Check that migrations work on sets: as many statements for fifteen rows as for three."""
        few, many = self.first(), self.first()
        for number, revision in self.steps():
            tables = dirty.tables(few.engine)  # both have the same
            self.assertEqual(
                self.cost(few, revision, 1, number, tables),
                self.cost(many, revision, 5, number, tables),
                f'by {revision}',
            )

    def content(self, db):
        """Return the rows of each table, with values as the driver of the database has them."""
        with db.engine.connect() as conn:
            return {
                name: [dict(row) for row in conn.exec_driver_sql(f'SELECT * FROM {name}').mappings()]
                for name in sa.inspect(conn).get_table_names()
                if name != 'alembic_version'
            }

    def cost(self, db, revision, copies, number, tables):
        """Return the number of statements of an upgrade with ``copies`` more rows in each table."""
        dirty.pollute(db.engine, copies, copies * number, tables)
        statements = []
        sa.event.listen(
            db.engine, 'before_cursor_execute', listener := lambda *args: statements.append(args[2])
        )
        schema_migrations.upgrade(db, revision)
        sa.event.remove(db.engine, 'before_cursor_execute', listener)
        return len(statements)


def _counted(rows):
    """Return how often each row is there. Rows have the same columns in the same order."""
    return collections.Counter(tuple(row.values()) for row in rows)


def _sorted(rows):
    return sorted((sorted(row.items()) for row in rows), key=repr)
