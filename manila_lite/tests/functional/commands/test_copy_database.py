# SPDX-License-Identifier: Apache-2.0
"""``manila-manage db copy``: from a SQLite file to the database of the test run, completely or not at all."""

import contextlib
import datetime
import os
import signal
import unittest

import fixtures
import sqlalchemy as sa
from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import copy_database, schema_migrations, schema_revisions
from manila_lite.db.queries import operations as operation_rows
from manila_lite.db.queries import quota_sums, services, share_types
from manila_lite.tests import forks, process
from manila_lite.tests.factories import dirty, full, shares
from manila_lite.tests.functional import base, manage
from manila_lite.tests.services import places

_CONFIG = '[DEFAULT]\nstate_path = {state}\ntransport_url = inproc://\n[database]\nconnection = {url}\n'

#: Each new row in ``messages`` adds one in ``quota_locks``.
_ECHO = {
    'sqlite': "CREATE TRIGGER echo AFTER INSERT ON messages BEGIN INSERT INTO quota_locks VALUES ('x' || NEW.id, 0); END",
    'postgresql': "CREATE RULE echo AS ON INSERT TO messages DO ALSO INSERT INTO quota_locks VALUES ('x' || NEW.id, 0)",
    'mysql': "CREATE TRIGGER e AFTER INSERT ON messages FOR EACH ROW INSERT INTO quota_locks VALUES (CONCAT('x', NEW.id), 1)",
}


class CopyTest(manage.AloneTest):
    """A source on SQLite, and an empty target of the test run's kind."""

    def configure(self):
        self.config = self.naming(f'sqlite:///{self.state}/old.sqlite', 'old')
        self.new = self.naming(self.url, 'new')

    def naming(self, url, name):
        """Return a configuration file for this database."""
        path = self.state / f'{name}.conf'
        path.write_text(_CONFIG.format(state=self.state, url=url.replace('$', '$$')))
        return path

    def database(self, config):
        """Return the database, opened as a process does."""
        found = Database(setup.configure([f'--config-file={config}'], conf=cfg.ConfigOpts()))
        self.addCleanup(found.dispose)
        return found

    def manage(self, *words, status=0):
        """Run a command that must end with this exit status and show no password; return its output."""
        got, out, err = manage.run(self.config, 'manage', *words)
        self.assertEqual(status, got, out + err)
        password = sa.make_url(self.url).password
        self.assertNotIn(password or 'hidden-one', out + err)
        self.assertNotIn('hidden', out + err)
        return out + err

    def copy(self, *words, status=0):
        return self.manage('db', 'copy', '--to-config', str(self.new), *words, status=status)

    def refused(self, *said, words=()):
        """Check that the copy is refused with one line that has these words, and that the target is unchanged."""
        before = self.content()
        line = self.copy(*words, status=1)
        for one in said:
            self.assertIn(one, line)
        self.assertEqual(1, len(line.strip().splitlines()), line)
        self.assertEqual(before, self.content())

    def content(self):
        """Return the content of all tables of the target."""
        return dirty.content(self.database(self.new).engine)

    def rows(self, config):
        """Return the rows of all our tables that are copied, each as values by column."""
        with self.database(config).engine.connect() as conn:
            return {
                table.name: sorted((dict(row) for row in conn.execute(sa.select(table)).mappings()), key=repr)
                for table in models.metadata.sorted_tables
                if table is not models.quota_changes
            }

    def assert_copied(self):
        """Check that all rows are in the target, and that its own triggers summed them up."""
        found = self.rows(self.new)
        with self.database(self.new).reader() as conn:
            self.assertEqual([], quota_sums.list_missing(conn))
        for name, rows in self.rows(self.config).items():
            self.assertEqual(rows, found[name], name)

    def assert_no_rows(self):
        """Check that the target has no rows, except the check value of the secret keys."""
        self.assertEqual(
            set(), {name for name, rows in self.content().items() if rows} - {models.secret_checks.name}
        )

    def fill(self, count):
        """Add ``count`` rows to each table of the source; some refer to later rows."""
        with dirty.unguarded(self.database(self.config).engine) as conn:
            full.make(conn, count)

    @contextlib.contextmanager
    def written(self, config=None):
        db = self.database(config or self.config)
        with db.writer() as conn:
            yield conn


class Copied(CopyTest):
    def test_data_created_through_the_api_is_copied_and_usable(self):
        lite = self.useFixture(process.Lite())
        lite.start()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        base.eventually(lambda: lite.ok('GET', '/scheduler-stats/pools')['pools'], 'no pool')
        made = [
            lite.ok(
                'POST',
                '/shares',
                {'share': {'size': 1, 'share_proto': 'NFS', 'name': name, 'metadata': {'k': name}}},
            )['share']['id']
            for name in ('r\u00f6w', 'b')
        ]
        for share_id in made:
            lite.wait(f'/shares/{share_id}', 'share', 'available')
        snapshot = lite.ok('POST', '/snapshots', {'snapshot': {'share_id': made[0]}})['snapshot']['id']
        lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        rule = lite.ok(
            'POST',
            f'/shares/{made[0]}/action',
            {
                'allow_access': {
                    'access_type': 'ip',
                    'access_to': '192.0.2.1',
                    'lock_visibility': True,
                    'lock_deletion': True,
                }
            },
        )['access']['id']
        lite.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        lite.ok(
            'POST', '/resource-locks', {'resource_lock': {'resource_id': made[1], 'resource_type': 'share'}}
        )
        self.config = lite.config
        self.refused('manila-share on test@alpha is up', 'Stop every')
        self.assertEqual(0, lite.kill(signal.SIGTERM))
        said = self.copy()
        self.assertIn('shares  ', said)
        self.assertIn('2 of 2 rows', said)
        self.assert_copied()
        before = self.rows(lite.config)
        text = lite.config.read_text() + f'[database]\nconnection = {self.url}\n'
        lite.config.write_text(text)
        lite.start()
        self.assertEqual(set(made), {share['id'] for share in lite.ok('GET', '/shares')['shares']})
        self.assertEqual({'k': 'r\u00f6w'}, lite.ok('GET', f'/shares/{made[0]}')['share']['metadata'])
        self.assertEqual(403, lite.call('DELETE', f'/shares/{made[1]}')[0])
        base.eventually(lambda: lite.ok('GET', '/scheduler-stats/pools')['pools'], 'no pool')
        one_more = lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        lite.wait(f'/shares/{one_more}', 'share', 'available')
        lite.kill(signal.SIGTERM)
        lite.config.write_text(text.partition('[database]')[0])
        self.assertEqual(before, self.rows(lite.config))

    def test_every_column_of_every_table_is_copied(self):
        self.manage('db', 'sync')
        self.fill(5)
        with self.written() as conn:
            shares.make(conn, 1201, type_id=share_types.create(conn, 'default', {}))
        self.assertEqual(set(), {name for name, rows in self.rows(self.config).items() if len(rows) < 5})
        said = self.manage('db', 'copy', '--to', self.url)
        self.assertIn('1206 of 1206 rows', said)
        self.assertIn('100 %', said)
        self.assert_copied()

    def test_rows_added_after_the_copy_get_unused_ids(self):
        self.manage('db', 'sync')
        for host in 'ab':
            with self.written() as conn:
                services.heartbeat(conn, host, 'manila-share', 'nova', stopped=True)
        self.copy()
        with self.written(self.new) as conn:
            services.heartbeat(conn, 'c', 'manila-share', 'nova')
            self.assertEqual([1, 2, 3], sorted(row.id for row in services.list_services(conn)))

    def test_copy_to_sqlite_is_complete(self):
        self.config, self.new = self.new, self.config
        self.manage('db', 'sync')
        self.fill(3)
        with self.written() as conn:
            shares.make(conn, 501, type_id=share_types.create(conn, 'default', {}))
        self.copy()
        self.assert_copied()

    def test_copy_is_consistent_despite_concurrent_writes(self):
        self.config, self.new = self.new, self.config
        self.manage('db', 'sync')
        self.fill(3)
        before = self.rows(self.config)
        target = self.database(self.new)
        copy_database.prepare(target)

        def meanwhile(step):
            with self.written() as conn:
                conn.execute(models.share_metadata.delete())
                conn.execute(models.quota_locks.insert().values(project_id=step.table))

        with copy_database.one_moment(self.database(self.config)) as source:
            copy_database.copy(source, target, meanwhile)
        self.assertNotEqual(before, self.rows(self.config))
        self.assertEqual(before, self.rows(self.new))

    def test_invalid_json_is_copied_unchanged(self):
        self.manage('db', 'sync')
        self.fill(1)
        data = sa.type_coerce(models.operations.c.data, sa.Text)
        with self.written() as conn:
            conn.execute(sa.update(models.operations).values(data=sa.literal_column("'{\"cut'")))
        self.copy()
        with self.written(self.new) as conn:
            self.assertEqual(['{"cut'], list(conn.execute(sa.select(data)).scalars()))

    def test_an_empty_database_is_copied(self):
        self.manage('db', 'sync')
        self.assertIn('1 rows', self.copy())
        self.assert_no_rows()
        self.copy()

    def test_copy_into_an_existing_empty_schema_succeeds(self):
        self.manage('db', 'sync')
        self.fill(1)
        self.assertEqual(0, manage.run(self.new, 'manage', 'db', 'sync')[0])
        self.copy()
        self.assert_copied()


class Refused(CopyTest):
    def setUp(self):
        super().setUp()
        self.manage('db', 'sync')

    def service(self, **values):
        with self.written() as conn:
            conn.execute(
                models.services.insert().values(
                    {'host': 'here@alpha', 'binary': 'manila-share', 'topic': 'manila-share', **values}
                )
            )

    def test_target_with_rows_is_refused_even_with_force(self):
        schema_migrations.upgrade(self.database(self.new))
        with self.written(self.new) as conn:
            share_types.create(conn, 'default', {})
        self.refused('is not empty', 'share_types', 'Nothing was changed')
        self.refused('is not empty', words=['--force'])

    def test_target_with_foreign_tables_is_refused(self):
        with self.written(self.new) as conn:
            conn.exec_driver_sql('CREATE TABLE customers (id INTEGER)')
        self.refused('tables that are not ours: customers')

    def test_target_without_schema_revision_is_refused(self):
        with self.written(self.new) as conn:
            models.quota_locks.create(conn)
        self.refused('no revision of the schema: quota_locks')

    def test_target_with_another_schema_revision_is_refused(self):
        schema_migrations.upgrade(self.database(self.new), '0005')
        self.refused('has a schema at 0005, not at ', 'Make an empty database')
        self.assertEqual('0005', schema_revisions.current(self.database(self.new)))
        with self.written(self.new) as conn:
            conn.exec_driver_sql("UPDATE alembic_version SET version_num = 'x1'")
        self.refused('has a schema at x1, not at ')

    def test_source_with_outdated_schema_is_refused(self):
        self.manage('db', 'stamp', '0003')
        self.refused('run "manila-manage db sync" first')
        self.assertEqual({}, self.content())

    def test_copy_to_the_same_database_is_refused(self):
        self.new = self.config
        self.refused('is the configured database')
        self.new = self.naming(f'sqlite:///{self.state}/../{self.state.name}/old.sqlite', 'again')
        self.refused('is the configured database')

    def test_copy_is_refused_while_a_service_is_up_unless_forced(self):
        self.service(heartbeat_at=timeutils.utcnow())
        self.refused('manila-share on here@alpha is up', 'Stop every manila-api')
        self.assertEqual({}, self.content())
        self.copy('--force')
        self.assert_copied()

    def test_copy_is_refused_before_the_lease_of_a_stopped_service_expires(self):
        soon = timeutils.utcnow() + datetime.timedelta(minutes=9)
        self.service(stopped=True, lease_owner='x', lease_expires_at=soon)
        self.refused('manila-share on here@alpha is down and its lease is not over')

    def test_copy_is_refused_while_operations_are_claimed(self):
        soon = timeutils.utcnow() + datetime.timedelta(minutes=9)
        with self.written() as conn:
            operation_rows.insert(
                conn,
                kind='share.create',
                resource_type='share',
                resource_id='x',
                topic='scheduler',
                host='',
                lane='work',
                data={},
                owner='x',
                lease_expires_at=soon,
            )
        self.refused('1 operations are being worked on')
        with self.written() as conn:
            conn.execute(models.operations.update().values(owner=None, lease_expires_at=None))
        self.copy()

    def test_unusable_target_is_refused_without_showing_passwords(self):
        nowhere = self.state / 'nowhere.conf'
        nowhere.write_text('[database]\nmax_retries = 3\n')
        broken = self.state / 'broken.conf'
        broken.write_text('[database\nconnection = postgresql://u:hidden-one@h/db\n')
        dollar = self.state / 'dollar.conf'
        dollar.write_text('[database]\nconnection = postgresql://u:x$hidden@h/db\n')
        for words, said in (
            (('--to', 'hidden-one'), '--to: it is no URL of a database'),
            (('--to', 'postgresql+psycopg2://u:hidden-one'), 'it is no URL of a database'),
            (('--to', 'postgresql+psycopg2://u:x@hidden-one@h/db'), 'write @ as %40'),
            (('--to', 'postgresql+psycopg2://u:hidden-one@h'), 'must name a database'),
            (('--to', 'mysql+cymysql://u:hidden-one@h/db'), '--to: the driver of mysql+cymysql is missing'),
            (('--to', 'sqlite://'), 'must name a database'),
            (('--to-config', str(nowhere)), 'has no [database] connection'),
            (('--to-config', str(broken)), 'cannot be read'),
            (('--to-config', str(dollar)), '$ is written as $$'),
            (('--to-config', str(self.state / 'missing')), 'cannot be read'),
            (('--to', 'x://', '--to-config', str(nowhere)), 'not allowed with'),
            ((), 'required'),
        ):
            self.assertIn(said, self.manage('db', 'copy', *words, status=2))
        for url in (
            'postgresql+psycopg2://u:hidden-$one@127.0.0.1:9/db',
            'mysql+pymysql://u:hidden-$one@127.0.0.1:9/db',
            f'sqlite:///{self.state}/missing/x.sqlite',
        ):
            self.assertIn('the database to copy to: ', self.manage('db', 'copy', '--to', url, status=1))

    def test_environment_variable_applies_only_to_the_source(self):
        self.useFixture(
            fixtures.EnvironmentVariable('OS_DATABASE__CONNECTION', f'sqlite:///{self.state}/old.sqlite')
        )
        self.copy()
        self.assertEqual(set(models.metadata.tables), set(self.content()))

    @unittest.skipIf(os.geteuid(), 'only root can give files to another user')
    def test_root_writes_into_no_directory_of_another_user(self):
        folder = self.state / 'theirs'
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        said = self.manage('db', 'copy', '--to', f'sqlite:///{folder}/new.sqlite', status=2)
        self.assertIn(f'--to: {folder} belongs to the user nobody', said)
        self.assertEqual([], list(folder.iterdir()))


class CutOff(CopyTest):
    def setUp(self):
        super().setUp()
        self.manage('db', 'sync')
        self.fill(3)

    def die(self, statement, signo=signal.SIGKILL, status=-signal.SIGKILL):
        """Send a signal to the copy at an SQL statement, and check its exit status. Return its error output."""
        done = forks.run(
            'manila_lite.tests.functional.copy_victim:main',
            signo.name,
            statement,
            f'--config-file={self.config}',
            'db',
            'copy',
            f'--to-config={self.new}',
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stderr

    def test_copy_killed_while_writing_rows_leaves_no_rows(self):
        for statement in ('INSERT INTO availability_zones', 'INSERT INTO snapshots', 'UPDATE resource_locks'):
            self.die(statement)
            self.assert_no_rows()
        self.copy()
        self.assert_copied()

    def test_interrupted_copy_leaves_no_rows(self):
        said = self.die('INSERT INTO snapshots', signal.SIGINT, 130)
        self.assertEqual('manila-manage: nothing was copied\n', said)
        self.assert_no_rows()

    def test_copy_succeeds_after_a_kill_during_schema_creation(self):
        self.die('CREATE TABLE resource_locks')
        if places.backend() == 'mysql':
            # MySQL cannot roll back the tables that exist by then.
            self.refused('has a schema at ', 'Make an empty database')
            self.new = self.naming(self.useFixture(places.EmptyDatabase(self.state)).url, 'anew')
        self.copy()
        self.assert_copied()

    def test_rejected_row_fails_the_copy_and_leaves_no_rows(self):
        with dirty.unguarded(self.database(self.config).engine) as conn:
            conn.execute(models.snapshot_metadata.insert().values(owner_id='nobody', key='k', value='v'))
        line = self.copy(status=1)
        self.assertIn('because of table snapshot_metadata', line)
        self.assert_no_rows()
        with self.written() as conn:
            conn.execute(
                models.snapshot_metadata.delete().where(models.snapshot_metadata.c.owner_id == 'nobody')
            )
        self.copy()
        self.assert_copied()

    def test_concurrent_write_to_the_target_fails_the_copy(self):
        db = self.database(self.new)
        schema_migrations.upgrade(db)
        with db.writer() as conn:
            conn.exec_driver_sql(_ECHO[places.backend()])
        self.assertIn('quota_locks has 6 of 3', self.copy(status=1))
        self.assert_no_rows()
