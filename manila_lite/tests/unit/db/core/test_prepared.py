# SPDX-License-Identifier: Apache-2.0
"""Prepared statements have the same results as the same statements through SQLAlchemy."""

import datetime

import fixtures
import sqlalchemy as sa
import testtools
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import exc_filters

from manila_lite.db.core import prepared
from manila_lite.db.models.base import Json

_MOMENT = datetime.datetime.fromisoformat('2026-01-02T03:04:05.000006')


class Prepared(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.engine = sa.create_engine('sqlite://')
        exc_filters.register_engine(self.engine)
        self.addCleanup(self.engine.dispose)
        self.table = sa.Table(
            'things',
            sa.MetaData(),
            sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
            sa.Column('made', sa.DateTime, default=lambda: _MOMENT),
            sa.Column('changed', sa.DateTime, onupdate=lambda: _MOMENT),
            sa.Column('flag', sa.Boolean, default=False),
            sa.Column('data', Json),
            sa.Column('name', sa.String, default='x'),
        )
        self.table.create(self.engine)
        conn = self.engine.connect()
        self.addCleanup(conn.close)
        conn.begin()
        self.conn = conn
        self.all = prepared.Query(sa.select(self.table).order_by(self.table.c.id))
        self.insert = prepared.Write(self.table.insert())

    def listen(self):
        """Return the list of the texts and values of the statements that follow."""
        seen = []
        sa.event.listen(self.engine, 'before_cursor_execute', lambda *args: seen.append(args[2:4]))
        return seen

    def both_ways(self, query, values=None):
        """Return the rows of the query, which must be the same through SQLAlchemy."""
        rows = query.all(self.conn, values)
        self.assertEqual(self.conn.execute(query._statement, values or {}).all(), rows)
        return rows


class Rows(Prepared):
    def test_values_are_read_as_they_were_written(self):
        self.assertEqual(1, self.insert.execute(self.conn, {'id': 1, 'data': {'a': [1]}, 'flag': True}))
        self.insert.execute(self.conn, {'id': 2, 'name': None})
        rows = self.both_ways(self.all)
        self.assertEqual(
            [(1, _MOMENT, None, True, {'a': [1]}, 'x'), (2, _MOMENT, None, False, None, None)], rows
        )
        self.assertEqual({'a': [1]}, rows[0].data)

    def test_rows_written_through_sqlalchemy_are_the_same(self):
        self.conn.execute(self.table.insert(), {'id': 1, 'data': {'a': 1}})
        self.assertEqual(1, self.insert.execute(self.conn, {'id': 2, 'data': {'a': 1}}))
        self.insert.execute_many(self.conn, [{'id': 3, 'data': {'a': 1}}])
        rows = self.all.all(self.conn)
        self.assertEqual([rows[0][1:]] * 3, [row[1:] for row in rows])

    def test_query_without_rows_returns_an_empty_list_or_none(self):
        self.assertEqual([], self.all.all(self.conn))
        self.assertIsNone(self.all.first(self.conn))

    def test_first_is_the_first_in_order(self):
        self.insert.execute_many(self.conn, [{'id': number} for number in (2, 1)])
        self.assertEqual(1, self.all.first(self.conn).id)

    def test_values_of_the_statement_and_of_the_caller_are_both_used(self):
        self.insert.execute_many(
            self.conn, [{'id': number, 'name': name} for number, name in enumerate('aabb')]
        )
        query = prepared.Query(
            sa.select(self.table.c.id).where(self.table.c.name == 'b', self.table.c.id < sa.bindparam('end'))
        )
        self.assertEqual([(2,)], self.both_ways(query, {'end': 3, 'not asked for': 1}))
        self.assertRaises(KeyError, query.all, self.conn, {})

    def test_list_parameter_is_refused(self):
        query = prepared.Query(
            sa.select(self.table.c.id).where(self.table.c.id.in_(sa.bindparam('ids', expanding=True)))
        )
        self.assertRaises(TypeError, query.all, self.conn, {'ids': [1]})


class Writes(Prepared):
    def test_update_returns_its_row_count_and_sets_the_time(self):
        self.insert.execute_many(self.conn, [{'id': 1}, {'id': 2}])
        update = prepared.Write(
            self.table.update()
            .where(self.table.c.id == sa.bindparam('ident'))
            .values(name=sa.bindparam('new'), flag=~self.table.c.flag)
        )
        self.assertEqual(1, update.execute(self.conn, {'ident': 2, 'new': 'n'}))
        self.assertEqual(0, update.execute(self.conn, {'ident': 3, 'new': 'n'}))
        self.assertEqual(
            [(None, False, 'x'), (_MOMENT, True, 'n')],
            [(row.changed, row.flag, row.name) for row in self.all.all(self.conn)],
        )

    def test_execute_many_accepts_an_empty_and_a_long_list(self):
        self.insert.execute_many(self.conn, [])
        self.insert.execute_many(self.conn, [{'id': number, 'flag': number == 2} for number in range(5)])
        self.assertEqual([2], [row.id for row in self.all.all(self.conn) if row.flag])

    def test_errors_are_those_of_sqlalchemy(self):
        self.insert.execute(self.conn, {'id': 1})
        self.assertRaises(db_exception.DBDuplicateEntry, self.insert.execute, self.conn, {'id': 1})
        self.assertRaises(
            db_exception.DBDuplicateEntry, self.insert.execute_many, self.conn, [{'id': 2}, {'id': 1}]
        )
        self.assertRaises(db_exception.DBDuplicateEntry, self.conn.execute, self.table.insert(), {'id': 1})

    def test_rollback_undoes_a_prepared_write(self):
        self.insert.execute(self.conn, {'id': 1})
        self.conn.rollback()
        self.assertEqual([], self.all.all(self.conn))


class Listeners(Prepared):
    def test_listeners_get_the_statement_that_is_sent(self):
        seen = self.listen()
        self.insert.execute(self.conn, {'id': 1, 'flag': None, 'name': 'n'})
        self.insert.execute_many(self.conn, [{'id': 2, 'name': 'n'}, {'id': 3, 'name': 'm'}])
        self.assertEqual('INSERT INTO things (id, made, flag, name) VALUES (?, ?, ?, ?)', seen[0][0])
        self.assertEqual([1, None, 'n'], [seen[0][1][place] for place in (0, 2, 3)])
        self.assertEqual([2, 3], [values[0] for values in seen[1][1]])

    def test_write_with_listeners_bypasses_connection_execute(self):
        self.listen()
        self.useFixture(fixtures.MonkeyPatch('sqlalchemy.engine.Connection.execute', None))
        self.insert.execute(self.conn, {'id': 1})
        self.assertEqual([1], [row.id for row in self.all.all(self.conn)])

    def test_listeners_may_change_the_statement(self):
        self.insert.execute_many(self.conn, [{'id': 1}, {'id': 2}])
        sa.event.listen(
            self.engine, 'before_cursor_execute', lambda *args: (f'{args[2]} DESC', args[3]), retval=True
        )
        self.assertEqual([2, 1], [row.id for row in self.all.all(self.conn)])

    def test_listeners_are_called_after_execution(self):
        counts = []
        sa.event.listen(
            self.engine,
            'after_cursor_execute',
            lambda conn, cursor, text, values, context, many: counts.append((cursor.rowcount, many)),
        )
        self.insert.execute(self.conn, {'id': 1})
        self.insert.execute_many(self.conn, [{'id': 2}, {'id': 3}])
        self.assertEqual([(1, False), (2, True)], counts)


class ManyOf(Prepared):
    def test_each_of_any_number_of_rows_gets_its_own_value(self):
        self.insert.execute_many(self.conn, [{'id': number, 'name': 'old'} for number in range(300)])
        self.useFixture(fixtures.MonkeyPatch('manila_lite.db.core.prepared.WriteEach.MOST', 64))
        each = prepared.WriteEach(
            self.table.update().values(flag=sa.bindparam('new')), self.table.c.id, self.table.c.name
        )
        for count in (0, 1, 2, 3, 64, 65, 200):
            wanted = {number: f'{count}-{number}' for number in range(count)}
            self.assertEqual(count, each.execute(self.conn, wanted, {'new': True}))
            self.assertEqual(
                wanted,
                {row.id: row.name for row in self.all.all(self.conn) if row.name in set(wanted.values())},
            )
        self.assertEqual(200, sum(row.flag is True for row in self.all.all(self.conn)))

    def test_rows_of_any_number_of_values_are_returned(self):
        self.insert.execute_many(self.conn, [{'id': number} for number in range(3000)])
        self.useFixture(fixtures.MonkeyPatch('manila_lite.db.core.prepared.Among.MOST', 1024))
        among = prepared.Among(sa.select(self.table.c.id).order_by(self.table.c.id), self.table.c.id)
        for count in (0, 1, 2, 3, 5, 1024, 1025, 2500):
            wanted = list(range(count))
            self.assertEqual([(number,) for number in wanted], among.all(self.conn, wanted))
        self.assertEqual([], among.all(self.conn, [-1, -2, -3]))
        self.assertLessEqual(set(among._of_size), {1 << power for power in range(11)})
