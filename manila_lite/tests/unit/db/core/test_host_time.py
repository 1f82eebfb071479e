# SPDX-License-Identifier: Apache-2.0
"""The clock of a host is believed after a jump only where the database's agrees."""

import datetime
import time

import fixtures
import sqlalchemy as sa
import testtools
from oslo_utils import timeutils

from manila_lite.db.core import host_time
from manila_lite.db.models import base
from manila_lite.host import clock

_HOUR = 3600.0


class HostTimeTest(testtools.TestCase):
    """A host whose clock is set; the database, SQLite, has the right time."""

    def setUp(self):
        super().setUp()
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        self.conn = self.enterContext(engine.connect())
        self.ahead = 0.0
        self.calendar = self.new()

    def new(self):
        return clock.Calendar(wall=lambda: time.time() + self.ahead)

    def assert_wrong_by(self, seconds, calendar=None):
        self.assertAlmostEqual(seconds, host_time.wrong_by(self.conn, calendar or self.calendar), delta=0.5)

    def test_clock_goes_on(self):
        self.assert_wrong_by(0)

    def test_wrong_jumps_are_not_believed(self):
        for self.ahead in (_HOUR, -_HOUR, 2 * _HOUR):
            self.assert_wrong_by(self.ahead)
            self.assert_wrong_by(self.ahead)

    def test_clock_that_is_right_again_is_believed(self):
        self.ahead = _HOUR
        self.assert_wrong_by(_HOUR)
        self.ahead = 0.0
        self.assert_wrong_by(0)

    def test_jump_to_the_time_of_the_database_is_believed(self):
        self.ahead = -_HOUR
        started_wrong = self.new()
        self.assert_wrong_by(0, started_wrong)
        self.ahead = 0.0
        self.assert_wrong_by(0, started_wrong)
        self.assert_wrong_by(0, started_wrong)

    def test_clock_that_was_ahead_at_the_start_is_not_believed(self):
        self.ahead = _HOUR
        started_wrong = self.new()
        self.assertEqual(0, started_wrong.jumped_by())
        self.assert_wrong_by(_HOUR, started_wrong)
        self.assertAlmostEqual(_HOUR, started_wrong.jumped_by(), delta=0.5)
        self.ahead = 0.0
        self.assert_wrong_by(0, started_wrong)
        self.assertEqual(0, started_wrong.jumped_by())

    def test_jumps_without_a_question_are_believed_when_the_database_was_found_to_agree(self):
        self.ahead = -_HOUR
        started_wrong = self.new()
        self.ahead = 0.0
        self.assertAlmostEqual(_HOUR, started_wrong.jumped_by(), delta=0.5)
        self.assert_wrong_by(0, started_wrong)
        self.assertEqual(0, started_wrong.jumped_by())

    def test_rows_are_in_order_after_the_clock_was_set_back(self):
        table = sa.Table('rows', sa.MetaData(), sa.Column('name', sa.String), *base.times())
        table.create(self.conn)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.host.clock.OF_PROCESS', self.calendar))
        self.conn.execute(table.insert().values(name='first'))
        self.ahead = -2 * _HOUR
        self.addCleanup(timeutils.clear_time_override)
        timeutils.set_time_override(timeutils.utcnow() + datetime.timedelta(seconds=self.ahead))
        self.conn.execute(table.insert().values(name='second'))
        names = self.conn.execute(sa.select(table.c.name).order_by(table.c.created_at)).scalars()
        self.assertEqual(['first', 'second'], list(names))

    def test_small_steps_are_followed(self):
        for _ in range(5):
            self.ahead += 0.9
            self.assertEqual(0, host_time.wrong_by(self.conn, self.calendar))
