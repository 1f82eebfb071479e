# SPDX-License-Identifier: Apache-2.0
"""Times of runs: each comes once, by however many schedulers, whatever clocks and deaths do to them."""

import concurrent.futures
import datetime
import signal
import subprocess
import sys
import time

import fixtures
import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import services
from manila_lite.host import clock
from manila_lite.tests import waiting
from manila_lite.tests.functional.schedules.scheduling import SchedulesTest, hourly, now
from manila_lite.tests.functional.services import test_clocks
from manila_lite.tests.functional.services.test_clocks import ahead

_HOUR = 3600.0


class Times(SchedulesTest):
    """Services that beat seldom: one that beats while a test has its clock ahead claims no more work."""

    EXTRA = test_clocks.Beating.EXTRA + SchedulesTest.EXTRA

    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def next_run(self, schedule):
        return datetime.datetime.fromisoformat(self.show(schedule)['next_run_at'])

    def ended(self, schedule):
        self.service.settled(schedule['id'])
        return len(self.operations(schedule))

    def test_the_timer_of_a_scheduler_runs_a_schedule_when_its_time_has_come(self):
        made = self.schedule(cron=hourly(), share_ids=[self.share['id']])
        self.look()
        self.assertEqual(0, self.ended(made))
        with ahead(_HOUR):
            self.service.scheduler._begin_schedules()
            self.assertEqual(1, self.ended(made))
        self.assertEqual(made['next_run_at'], self.show(made)['last_run_at'])
        first = datetime.datetime.fromisoformat(made['next_run_at'])
        self.assertEqual(first + datetime.timedelta(hours=1), self.next_run(made))

    def test_next_run_of_a_schedule_made_under_a_clock_that_is_ahead_comes_in_time(self):
        calendar = clock.Calendar(wall=lambda: time.time() + 5 * _HOUR)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.host.clock.OF_PROCESS', calendar))
        with ahead(5 * _HOUR):
            made = self.schedule(cron='0 * * * *', share_ids=[self.share['id']])
            changed = self.change(made, cron='30 * * * *')
        for row in (made, changed):
            after = datetime.datetime.fromisoformat(row['next_run_at']) - now()
            self.assertLessEqual(after, datetime.timedelta(hours=1))

    def test_several_schedulers_run_each_time_once(self):
        made = [self.schedule(cron=hourly(), share_ids=[self.share['id']]) for _ in range(5)]
        for schedule in made:
            self.come(schedule, now())
        with concurrent.futures.ThreadPoolExecutor(8) as schedulers:
            for look in [schedulers.submit(self.look) for _ in range(24)]:
                look.result()
        self.assertEqual([1] * 5, [self.ended(schedule) for schedule in made])
        self.assertEqual(5, len(self.snapshots(self.share)))

    def test_a_paused_schedule_does_not_run(self):
        made = self.schedule(cron='* * * * *')
        self.change(made, paused=True)
        with ahead(_HOUR):
            self.look()
        self.assertEqual(0, self.ended(made))

    def test_missed_times_are_made_up_for_once_or_skipped(self):
        once, skip = (self.schedule(cron=hourly(), missed=missed) for missed in ('once', 'skip'))
        first = self.next_run(once)
        with ahead(10 * _HOUR):
            self.look()
            self.look()
            self.assertEqual([1, 0], [self.ended(schedule) for schedule in (once, skip)])
            for schedule in (once, skip):
                self.assertTrue(now() < self.next_run(schedule) <= now() + datetime.timedelta(hours=1))
        self.assertEqual(first.isoformat(timespec='microseconds'), self.show(once)['last_run_at'])
        self.assertIsNone(self.show(skip)['last_run_at'])

    def test_a_clock_that_goes_back_repeats_nothing(self):
        made = self.schedule(cron=hourly(), share_ids=[self.share['id']])
        with ahead(_HOUR):
            self.look()
            self.assertEqual(1, self.ended(made))
        later = self.next_run(made)
        for seconds in (0.0, -_HOUR, -48 * _HOUR):
            with ahead(seconds):
                self.look()
        self.assertEqual(1, self.ended(made))
        self.assertEqual(later, self.next_run(made))
        # Also if its time is set anew then: that run finds its copies made.
        self.come(made, datetime.datetime.fromisoformat(made['next_run_at']))
        with ahead(_HOUR):
            self.look()
            self.assertEqual(2, self.ended(made))
        self.assertEqual(1, len(self.snapshots(self.share)))

    def test_a_scheduler_whose_clock_is_wrong_begins_nothing(self):
        made, scheduler = self.schedule(cron=hourly()), self.service.scheduler
        self.addCleanup(scheduler.worker.beat)
        with ahead(_HOUR):
            scheduler.worker.beat()
            scheduler._begin_schedules()
        self.assertEqual(0, self.ended(made))

    def test_runs_wait_while_a_scheduler_of_the_release_before_runs(self):
        made, due = self.schedule(cron=hourly(), share_ids=[self.share['id']]), now()
        self.come(made, due)
        db = self.service.services.db
        with db.writer() as conn:
            services.heartbeat(conn, 'older', 'manila-scheduler', 'nova')
            older = models.services.update().where(models.services.c.host == 'older')
            conn.execute(older.values(release=None, release_at=None))
        self.look()
        self.assertEqual((0, due), (self.ended(made), self.next_run(made)))
        with db.writer() as conn:
            services.heartbeat(conn, 'older', 'manila-scheduler', 'nova')  # it was upgraded
        self.addCleanup(
            db.write,
            lambda conn: conn.execute(sa.delete(models.services).where(models.services.c.host == 'older')),
        )
        self.look()
        self.assertEqual(1, self.ended(made))

    def test_runs_of_one_schedule_never_overlap(self):
        made = self.schedule(cron=hourly(), share_ids=[self.share['id']])
        self.service.knob('alpha', 'create_snapshot:hang')
        self.come(made, now())
        self.look()
        waiting.until(lambda: self.snapshots(self.share), 'a snapshot is begun')
        due = now()
        self.come(made, due)
        self.look()
        self.assertEqual(1, len(self.operations(made)))
        self.assertEqual(due, self.next_run(made))  # it is not lost either
        self.service.knob('alpha')
        self.service.settled(self.snapshots(self.share)[0]['id'])
        self.assertEqual(1, self.ended(made))
        self.look()
        self.assertEqual(2, self.ended(made))


class Deaths(SchedulesTest):
    """The service's own scheduler does not look for work by itself in these tests: it is started anew."""

    def die(self, when):
        """Have another scheduler begin what is due, and be killed before or after the commit."""
        command = [sys.executable, '-m', 'manila_lite.tests.functional.schedules.victim']
        ended = subprocess.run([*command, str(self.service.state / 'manila_lite.conf'), when])
        self.assertEqual(-signal.SIGKILL, ended.returncode)

    def test_a_scheduler_that_dies_loses_nothing_and_doubles_nothing(self):
        share = self.user.share()
        made = self.schedule(cron=hourly(), share_ids=[share['id']])
        due = now()
        self.come(made, due)
        self.die('before')
        self.assertEqual(due.isoformat(timespec='microseconds'), self.show(made)['next_run_at'])
        self.assertEqual([], self.operations(made))
        self.die('after')
        self.look()
        self.service.settled(made['id'])  # found by polling: nobody was woken
        self.assertEqual(['done'], [op['state'] for op in self.operations(made)])
        self.assertEqual(1, len(self.snapshots(share)))
        self.assertEqual(due.isoformat(timespec='microseconds'), self.show(made)['last_good_at'])
