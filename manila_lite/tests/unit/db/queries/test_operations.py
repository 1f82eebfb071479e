# SPDX-License-Identifier: Apache-2.0
"""Rows of operations: their class has the columns of the table, in their order, and the newest one is that, on any host."""

import datetime
import time

import fixtures
import sqlalchemy as sa
import testtools
from oslo_utils import timeutils

from manila_lite.db.models import operations as table
from manila_lite.db.queries import operations
from manila_lite.host import clock


class RowTest(testtools.TestCase):
    def test_a_row_has_the_columns_of_the_table(self):
        self.assertEqual(tuple(table.c.keys()), operations.Operation._fields)

    def test_a_value_that_may_be_missing_says_so(self):
        optional = {
            name for name, kind in operations.Operation.__annotations__.items() if 'None' in str(kind)
        }
        self.assertEqual({name for name, column in table.c.items() if column.nullable}, optional)


class NewestTest(testtools.TestCase):
    """A host whose clock is set back by two hours; the database, SQLite, has the right time."""

    back = 0.0

    def test_one_made_after_the_clock_was_set_back_is_the_newest(self):
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        conn = self.enterContext(engine.connect())
        table.create(conn)
        calendar = clock.Calendar(wall=lambda: time.time() - self.back)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.host.clock.OF_PROCESS', calendar))
        made = [self.insert(conn)]
        self.back = 2 * 3600.0
        self.addCleanup(timeutils.clear_time_override)
        timeutils.set_time_override(timeutils.utcnow() - datetime.timedelta(seconds=self.back))
        made.append(self.insert(conn))
        newest = sa.select(table.c.id).order_by(table.c.created_at)
        self.assertEqual(made, list(conn.execute(newest).scalars()))

    def test_open_one_is_the_newest_whatever_its_host_took_for_the_time(self):
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        conn = self.enterContext(engine.connect())
        table.create(conn)
        ended, begun = self.insert(conn), self.insert(conn)
        conn.execute(table.update().where(table.c.id == ended).values(state=operations.DONE))
        for made in (ended, begun):
            ago = datetime.timedelta(hours=2 if made == begun else 1)
            conn.execute(table.update().where(table.c.id == made).values(created_at=timeutils.utcnow() - ago))
        found = operations.list_of_resource(conn, 's', 'share.extend')
        self.assertEqual([ended, begun], [row.id for row in found])

    def insert(self, conn):
        told = {'kind': 'share.extend', 'resource_type': 'share', 'resource_id': 's', 'topic': 'share'}
        return operations.insert(conn, **told, lane='fast', step=0, steps='extend', data={})
