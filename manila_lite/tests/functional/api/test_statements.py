# SPDX-License-Identifier: Apache-2.0
"""What the product asks SQLite the servers understand, too: they explain each statement of a test run."""

import contextlib
import datetime
import os
import pathlib

import fixtures
import sqlalchemy as sa
import testtools
from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core import database_clock
from manila_lite.db.core.engine import Database
from manila_lite.db.maintenance import schema_migrations
from manila_lite.siblings.compute import cmd as compute
from manila_lite.siblings.dataproc import cmd as dataproc
from manila_lite.tests import statements
from manila_lite.tests.contract import noted
from manila_lite.tests.functional import base
from manila_lite.tests.services import places

#: Different statements that a run of all tests has at least, and ``World``.
ALL_TESTS, WORLD = 1000, 100
_MIGRATIONS = {'share': None, 'compute': compute.COMPUTE.migrations, 'dataproc': dataproc.SIBLING.migrations}
_shares = models.shares.c
#: What SQLite takes, by what a server says of it. MariaDB may group by less than it shows.
_PLANTS = {
    'julianday': sa.select(sa.func.julianday(_shares.created_at)),
    'rowid': sa.select(sa.literal_column('rowid')).select_from(models.shares),
    'glob': sa.select(_shares.id).where(_shares.name.op('GLOB')('a*')),
}
_PLANTS_FOR = {
    'postgresql': {
        'GROUP BY': sa.select(_shares.id, sa.func.count()).group_by(_shares.project_id),
        'boolean = integer': sa.select(_shares.id).where(_shares.is_public == sa.literal_column('1')),
    },
    'mysql': {
        'OUTER': sa.select(_shares.id).select_from(models.shares.outerjoin(models.snapshots, full=True))
    },
}


class World(base.ServiceTest):
    """A few requests, for what they ask of the database."""

    def test_share_has_a_life(self):
        user = self.caller('small')
        share = user.share(name='x', metadata={'a': 'b'})['id']
        user.ok('POST', f'/shares/{share}/metadata', {'metadata': {'a': 'c'}})
        rule = user.action(share, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.1'})[1][
            'access'
        ]['id']
        user.wait(f'/share-access-rules/{rule}', 'access', 'active', field='state')
        snapshot = user.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.assertEqual(
            [share], [one['id'] for one in user.ok('GET', '/shares/detail?name~=x&sort_key=size')['shares']]
        )
        for path, key in ((f'/snapshots/{snapshot}', 'snapshot'), (f'/shares/{share}', 'share')):
            user.ok('DELETE', path)
            user.wait(path, key, 'gone')

    def test_database_tells_its_time(self):
        with self.service.services.db.reader() as conn:
            self.assertLess(
                abs(database_clock.time(conn) - timeutils.utcnow()), datetime.timedelta(seconds=1)
            )


class Statements(testtools.TestCase):
    """The server that the environment names explains statements, in databases that our migrations made."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kind, cls.places = places.backend(), {}
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        with fixtures.FakeLogger('alembic'):
            for name, migrations in _MIGRATIONS.items():
                cls.places[name] = cls._place(stack, migrations)

    @staticmethod
    def _place(stack, migrations):
        """Make a database by these migrations. Return the names of its tables, and a connection of the driver."""
        folder = pathlib.Path(stack.enter_context(fixtures.TempDir()).path)
        config = folder / 'c.conf'
        config.write_text(
            f'[database]\nconnection = {stack.enter_context(places.EmptyDatabase(folder)).url}\n'
        )
        conf = setup.configure([f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts())
        db = Database(conf, migrations)
        stack.callback(db.dispose)
        schema_migrations.upgrade(db)
        return set(sa.inspect(db.engine).get_table_names()), stack.enter_context(
            contextlib.closing(db.engine.raw_connection())
        )

    def test_server_explains_each_statement_of_a_run_on_sqlite(self):
        folder = os.environ.get(statements.FOLDER) if self.kind != 'sqlite' else None
        notes, least = (statements.read(folder), ALL_TESTS) if folder else (self.of_a_small_world(), WORLD)
        count, faults = self.explain(notes)
        if faults:
            self.fail(
                '\n\n'.join([f'{self.kind} cannot execute {len(faults)} of {count} statements:', *faults])
            )
        self.assertGreaterEqual(count, least, f'so few statements were noted in {folder}')

    def test_statement_that_only_sqlite_takes_is_noticed(self):
        if self.kind == 'sqlite':
            plants = {'clock_timestamp': sa.select(sa.func.clock_timestamp())}
        else:
            plants = _PLANTS | _PLANTS_FOR[self.kind]
        good = sa.select(_shares.id).where(_shares.name == 'x')
        _, faults = self.explain([self.note('good', good), *(self.note(*plant) for plant in plants.items())])
        for name, fault in zip(plants, faults, strict=True):
            self.assertIn(name.lower(), fault.lower())

    @staticmethod
    def note(where, statement):
        compiled = statement.compile(dialect=statements.DIALECTS['sqlite'])
        return {'where': where, **statements.of(compiled, compiled.params)}

    def of_a_small_world(self):
        """Return the notes of ``World`` on SQLite."""
        with contextlib.ExitStack() as stack:
            for variable in (places.DATABASE, places.TRANSPORT):
                stack.enter_context(fixtures.EnvironmentVariable(variable))
            notes = noted.notes(
                self, statements.FOLDER, f'{World.__module__}.{World.__qualname__}.test_share_has_a_life'
            )
        self.assertTrue(
            [note for note in notes if 'FOR UPDATE' in note['postgresql'][0]],
            'locks, which SQLite does without',
        )
        return notes

    def explain(self, notes):
        """Have all statements explained. Return the number of different ones, and a text for each that failed."""
        different = {}
        for note in notes:
            text, values = note[self.kind]
            different.setdefault((text, *(type(value) for value in (values or {}).values())), note)
        faults = [self.fault(note['where'], note['tables'], *note[self.kind]) for note in different.values()]
        return len(different), [fault for fault in faults if fault]

    def fault(self, where, tables, text, values):
        """Return what is wrong with the statement; '' if it can be explained, or if its tables are those of a test."""
        conn = next((conn for has, conn in self.places.values() if has.issuperset(tables)), None)
        if values is None or conn is None:
            return f'{where}\n{text}' if values is None else ''
        cursor = conn.cursor()
        try:
            cursor.execute(f'EXPLAIN {text}', statements.values(values))
            cursor.fetchall()
        except conn.dbapi_connection.Error as error:
            conn.rollback()
            return f'{where}\n{str(error).strip()}\n{text}'
        return ''
