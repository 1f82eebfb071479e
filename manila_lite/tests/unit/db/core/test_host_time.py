# SPDX-License-Identifier: Apache-2.0
"""The clock of a host is believed after a jump only where the database's agrees."""

import time

import sqlalchemy as sa
import testtools

from manila_lite.db.core.host_time import HostTime

_HOUR = 3600.0


class HostTimeTest(testtools.TestCase):
    """A host whose clock is set; the database, SQLite, has the right time."""

    def setUp(self):
        super().setUp()
        engine = sa.create_engine('sqlite://')
        self.addCleanup(engine.dispose)
        self.conn = self.enterContext(engine.connect())
        self.ahead = 0.0
        self.clock = self.new()

    def new(self):
        return HostTime(wall=lambda: time.time() + self.ahead)

    def assert_wrong_by(self, seconds, clock=None):
        self.assertAlmostEqual(seconds, (clock or self.clock).wrong_by(self.conn), delta=0.5)

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

    def test_small_steps_are_followed(self):
        for _ in range(5):
            self.ahead += 0.9
            self.assertEqual(0, self.clock.wrong_by(self.conn))
