# SPDX-License-Identifier: Apache-2.0
"""The clock of a host is believed after a jump only where the database's agrees."""

import datetime

import sqlalchemy as sa
import testtools
from oslo_utils import timeutils

from manila_lite.db.core.host_time import HostTime

_HOUR = datetime.timedelta(hours=1)


class HostTimeTest(testtools.TestCase):
    """A host whose clock is set; the database, SQLite, has the right time."""

    def setUp(self):
        super().setUp()
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        self.conn = self.enterContext(engine.connect())
        self.right, self.wrong, self.passed = timeutils.utcnow(), datetime.timedelta(), 0.0
        self.time = HostTime(wall=self.wall, steady=lambda: self.passed)

    def wall(self):
        return self.right + datetime.timedelta(seconds=self.passed) + self.wrong

    def test_clock_goes_on(self):
        self.passed = 0.25
        self.assertEqual(self.wall(), self.time.now(self.conn))

    def test_wrong_jumps_are_not_believed(self):
        for wrong in (_HOUR, -_HOUR):
            self.wrong, self.passed = wrong, self.passed + 0.25
            self.assertEqual(self.wall() - wrong, self.time.now(self.conn))

    def test_clock_that_is_right_again_is_believed(self):
        self.wrong, self.passed = _HOUR, 0.25
        self.time.now(self.conn)
        self.wrong = datetime.timedelta()
        self.assertEqual(self.wall(), self.time.now(self.conn))

    def test_jump_to_the_time_of_the_database_is_believed(self):
        self.wrong = -_HOUR
        started_wrong = HostTime(wall=self.wall, steady=lambda: self.passed)
        self.assertEqual(self.wall(), started_wrong.now(self.conn))
        self.wrong = datetime.timedelta()
        self.assertEqual(self.wall(), started_wrong.now(self.conn))

    def test_small_steps_are_followed(self):
        for _ in range(5):
            self.wrong += datetime.timedelta(seconds=0.9)
            self.assertEqual(self.wall(), self.time.now(self.conn))
