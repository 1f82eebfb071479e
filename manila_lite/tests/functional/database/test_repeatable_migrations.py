# SPDX-License-Identifier: Apache-2.0
"""Changes of the schema that were interrupted anywhere: the next ``db sync`` completes them, with the same result."""

import concurrent.futures
import contextlib
import re
import signal

import fixtures
import sqlalchemy as sa
import testscenarios
from alembic import migration
from alembic.operations import Operations

from manila_lite.db.core import repeatable_revisions
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations, schema_revisions
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.tests import forks
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.database.test_migrations import MigrationTest as _MigrationTest
from manila_lite.tests.services import places

#: Statements that change the schema or rows; those that a revision repeats for many tables, with their common part.
_CHANGE = re.compile(r'\s*(ALTER|CREATE|DROP|INSERT|UPDATE|DELETE)\b')
_FOR_ALL = re.compile(r'ALTER TABLE \S+ (CONVERT|DROP FOREIGN KEY|ADD CONSTRAINT)')


class _Cut(BaseException):
    """What no code handles, as none handles SIGKILL."""


class OnMariaDB(_MigrationTest):
    """Tests on MariaDB, which commits each change of the schema by itself."""

    def setUp(self):
        if places.backend() != 'mysql':
            self.skipTest('only MariaDB has changes of the schema that it cannot take back')
        super().setUp()
        self.useFixture(fixtures.FakeLogger('alembic'))


class CutOff(testscenarios.WithScenarios, OnMariaDB):
    scenarios = [
        ('share', {'migrations': None}),
        ('compute', {'migrations': compute.COMPUTE.migrations}),
        ('dataproc', {'migrations': dataproc.SIBLING.migrations}),
    ]

    def test_upgrade_interrupted_after_any_statement_is_completed_by_the_next(self):
        db = self.of_the_revisions(self.db)
        sa.event.listen(db.engine, 'after_cursor_execute', self.cut)
        self.was, runs = set(), 0
        while runs <= len(self.was):
            runs += 1
            self.at = schema_revisions.current(db)
            # The second error comes from code that cleans up: it has no connection any more.
            with contextlib.suppress(_Cut, sa.exc.PendingRollbackError):
                schema_migrations.upgrade(db)
            db.engine.dispose()
        self.assertGreater(runs, 2 * len(schema_revisions.revisions(db)))
        self.assertEqual(schema_revisions.head(db), schema_revisions.current(db))
        at_a_stretch = self.of_the_revisions(self.database())
        schema_migrations.upgrade(at_a_stretch)
        self.assertEqual(self.tables(at_a_stretch), self.tables(db))

    def of_the_revisions(self, db):
        """Return the database with the revisions of the scenario."""
        found = Database(db._conf, self.migrations)
        self.addCleanup(found.dispose)
        return found

    def tables(self, db):
        """Return the definition of each table, by name."""
        with db.engine.connect() as conn:
            return {
                name: conn.exec_driver_sql(f'SHOW CREATE TABLE {name}').one()[1].splitlines()
                for name in sa.inspect(conn).get_table_names()
            }

    def cut(self, conn, cursor, statement, parameters, *_):
        """Interrupt the run after each change, once for each."""
        alike = _FOR_ALL.match(statement)
        key = (self.at, alike[1]) if alike else (statement, str(parameters))
        if _CHANGE.match(statement) and key not in self.was:
            self.was.add(key)
            raise _Cut


class Twice(OnMariaDB):
    MAKE = (
        lambda op: op.create_table('other', sa.Column('id', sa.String(9), primary_key=True)),
        lambda op: op.create_table(
            't', sa.Column('id', sa.Integer, primary_key=True), sa.Column('one', sa.String(9))
        ),
        lambda op: op.add_column('t', sa.Column('more', sa.String(9))),
        lambda op: op.create_index('ix_t_one', 't', ['one']),
        lambda op: op.create_foreign_key('fk_t_more', 't', 'other', ['more'], ['id']),
        lambda op: op.create_unique_constraint('uq_t_one_more', 't', ['one', 'more']),
        lambda op: op.create_check_constraint('ck_t_one', 't', 'one > 3'),
    )
    DROP = (
        lambda op: op.drop_constraint('ck_t_one', 't', 'check'),
        lambda op: op.drop_constraint('uq_t_one_more', 't', 'unique'),
        lambda op: op.drop_constraint('fk_t_more', 't', 'foreignkey'),
        lambda op: op.drop_index('ix_t_one', 't'),
        lambda op: op.drop_column('t', 'more'),
        lambda op: op.drop_table('other'),
    )

    def twice(self, conn, changes):
        """Make each change twice; return the definition of the table after that."""
        op = Operations(migration.MigrationContext.configure(conn))
        for change in changes:
            change(op)
            change(op)
        return conn.exec_driver_sql('SHOW CREATE TABLE t').one()[1]

    def test_each_schema_change_can_be_repeated(self):
        with self.db.engine.begin() as conn:
            repeatable_revisions.skip_what_is_done(conn)
            made = self.twice(conn, self.MAKE)
            for name in ('more', 'ix_t_one', 'fk_t_more', 'uq_t_one_more', 'ck_t_one'):
                self.assertIn(f'`{name}`', made)
            self.assertEqual(
                ['`t`', '`id`', '`one`', '`id`'], re.findall('`.*?`', self.twice(conn, self.DROP))
            )
            self.assertEqual(['t'], sa.inspect(conn).get_table_names())

    def test_upgrade_fails_on_a_foreign_table_and_succeeds_without_it(self):
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql('CREATE TABLE services (id INTEGER, host TEXT)')
        self.assertRaisesRegex(sa.exc.OperationalError, 'already exists', schema_migrations.upgrade, self.db)
        with self.db.engine.begin() as conn:
            conn.exec_driver_sql('DROP TABLE services')
        schema_migrations.upgrade(self.db)
        self.assertEqual(schema_revisions.head(self.db), schema_revisions.current(self.db))


class Commands(manage.AloneTest):
    def configure(self):
        self.config.write_text(f'[DEFAULT]\nstate_path = {self.state}\n[database]\nconnection = {self.url}\n')


class AtOnce(Commands):
    def test_concurrent_db_syncs_all_succeed(self):
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several hosts, and MariaDB')
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            syncs = [
                pool.submit(
                    forks.run, 'manila_lite.cmd.manage:main', f'--config-file={self.config}', 'db', 'sync'
                )
                for _ in range(4)
            ]
        self.assertEqual(
            [0] * 4, [sync.result().returncode for sync in syncs], [sync.result().stderr for sync in syncs]
        )
        self.assertEqual(0, manage.run(self.config, 'manage', 'db', 'check')[0])


class Killed(Commands):
    def test_db_sync_completes_after_a_killed_db_sync(self):
        for statement in (
            'CREATE INDEX ix_messages_resource_id',
            'ALTER TABLE services ADD COLUMN lease_expires_at',
            'UPDATE share_instances SET replica_state',
        ):
            done = forks.run(
                'manila_lite.tests.functional.copy_victim:main',
                'SIGKILL',
                statement,
                f'--config-file={self.config}',
                'db',
                'sync',
            )
            self.assertEqual(-signal.SIGKILL, done.returncode, done.stdout + done.stderr)
        for command in ('sync', 'check'):
            status, out, err = manage.run(self.config, 'manage', 'db', command)
            self.assertEqual(0, status, out + err)
