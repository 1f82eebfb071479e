# SPDX-License-Identifier: Apache-2.0
"""Clocks of hosts that differ from the database's: they do no harm where they can, and else everybody says so."""

import contextlib
import datetime
import subprocess
import sys
import time

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite import context, engine
from manila_lite.api.http import readiness
from manila_lite.cmd import metrics_collector
from manila_lite.cmd.manage.overview import OverviewReader
from manila_lite.cmd.manage.overview_page import plain
from manila_lite.db import models
from manila_lite.db.core import database_clock
from manila_lite.db.queries import operations
from manila_lite.db.queries import services as rows
from manila_lite.doctor import examine
from manila_lite.scheduler import expiry, grace_period
from manila_lite.tests import waiting
from manila_lite.tests.functional import base

_SIX_MINUTES = 360.0
_LONG_AGO = datetime.timedelta(hours=3)
#: The upgrade check on a host whose clock is so many seconds ahead.
_CHECK = """
import sys
from manila_lite.tests.functional.services import test_clocks
from manila_lite.cmd import status
with test_clocks.ahead({}):
    sys.exit(status.main())
"""


class _Clock:
    """The calendar of a process, so many seconds ahead, in the form of an endless list of times."""

    def __init__(self, ahead):
        self._ahead = datetime.timedelta(seconds=ahead)

    def pop(self, index):
        return datetime.datetime.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None) + self._ahead


@contextlib.contextmanager
def ahead(seconds):
    """Have the clock of this process so many seconds ahead of the database's."""
    timeutils.set_time_override(_Clock(seconds))
    try:
        yield
    finally:
        timeutils.clear_time_override()


class Beating(base.ServiceTest):
    """Services that beat seldom, and when a test says so."""

    EXTRA = 'report_interval = 3600\nservice_down_time = 7200\n'

    def setUp(self):
        super().setUp()
        self.manager, self.scheduler = self.service.managers['alpha'], self.service.scheduler
        self.addCleanup(self.beat, self.manager)
        self.addCleanup(self.beat, self.scheduler)

    def beat(self, service, seconds=0.0):
        """Have the service send a heartbeat from a host whose clock is so many seconds ahead."""

        def measured():
            with ahead(seconds):
                service.worker.beat()
            return round(service.worker._clock_ahead) == seconds

        if seconds:  # if the database's answer takes long, less is certain
            waiting.until(measured, 'the difference is certain')
        else:
            service.worker.beat()
        self.service.scheduler_sees()

    def why(self, share):
        """Return the message of a share that was not placed."""
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error')
        [message] = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        return message['user_message']

    def findings(self, what):
        return [one for one in examine.list_findings(self.service.services) if one.what == what]


class WrongTest(Beating):
    """A wrong clock, of one service or of all."""

    def test_49_13_a_clock_that_is_wrong_does_not_make_services_seem_down(self):
        for seconds in (_SIX_MINUTES * 100, -_SIX_MINUTES * 100):
            with ahead(seconds):
                self.admin.share()
                self.assertEqual(
                    {'up'}, {one['state'] for one in self.admin.ok('GET', '/services')['services']}
                )
                self.assertEqual([], [one for one in self.findings('service') if one.wrong])

    def test_49_13_a_heartbeat_in_the_future_does_not_count_for_ever(self):
        for seconds, state in ((3600, 'up'), (8000, 'down')):
            with self.service.services.db.writer() as conn:
                conn.execute(
                    models.services.update()
                    .where(models.services.c.binary == 'manila-share')
                    .values(heartbeat_at=database_clock.time(conn) + datetime.timedelta(seconds=seconds))
                )
            [shown] = self.admin.ok('GET', '/services?binary=manila-share')['services']
            self.assertEqual(state, shown['state'], seconds)
        [found] = self.findings('service')
        self.assertTrue(found.wrong)
        self.assertIn('s in the future by the clock of the database', found.why)
        said = self.why(self.admin.share(wait=None))
        self.assertIn('heartbeat is', said)
        self.assertIn('in the future', said)

    def test_49_13_a_backend_whose_clock_is_wrong_gets_no_shares_and_the_message_says_why(self):
        for seconds, words in ((_SIX_MINUTES, '360 s ahead of'), (-_SIX_MINUTES, '360 s behind')):
            self.beat(self.manager, seconds)
            said = self.why(self.admin.share(wait=None))
            self.assertIn(f'takes no work: the clock of its host is {words} that of the database', said)
            self.assertNotIn('is down', said)
        self.beat(self.manager)
        self.admin.share()

    def test_53_2_a_share_waits_for_a_backend_whose_clock_is_set_right_within_a_minute(self):
        self.service.services.conf.set_override('restart_wait', 600.0, 'scheduler')
        self.addCleanup(self.service.services.conf.clear_override, 'restart_wait', 'scheduler')
        for seconds in (_SIX_MINUTES, -_SIX_MINUTES):
            self.beat(self.manager, seconds)
            share = self.admin.share(wait=None)
            time.sleep(2)  # sleeps: several looks of the scheduler change nothing
            self.assertEqual('creating', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'])
            self.beat(self.manager)
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_53_2_a_backend_that_came_back_since_a_request_was_refused_may_take_it(self):
        self.service.services.conf.set_override('restart_wait', 600.0, 'scheduler')
        self.addCleanup(self.service.services.conf.clear_override, 'restart_wait', 'scheduler')
        share = self.admin.share()
        self.beat(self.manager, -_SIX_MINUTES)
        with self.service.services.db.reader() as conn:
            [made] = operations.list_of_resource(conn, share['id'], 'share.create')
            work = engine.Work(
                made, made.data, context.of_operation(made, self.service.services), self.scheduler
            )
            refused = self.scheduler.hosts.pools(conn)
            self.assertEqual([True], [bool(pool.clock) for pool in refused])
        self.beat(self.manager)
        with self.service.services.db.reader() as conn:
            [back] = grace_period.pools(conn, work)
        self.assertEqual((True, None), (back.up, back.clock))
        with (
            self.service.services.db.writer() as conn
        ):  # as if it had not come back yet, and the scheduler had looked then
            conn.execute(models.services.update().values(heartbeat_at=timeutils.utcnow() - _LONG_AGO))
        self.service.scheduler_sees()
        with self.service.services.db.reader() as conn:
            self.assertEqual([False], [pool.up for pool in self.scheduler.hosts.pools(conn)])
        self.manager.worker.beat()
        with self.service.services.db.reader() as conn:
            [back] = grace_period.pools(conn, work)
        self.assertTrue(back.up)

    def test_53_2_retention_goes_by_the_clock_of_the_database(self):
        share = self.admin.share()
        with ahead(-7 * 86400.0):
            self.admin.ok('POST', f'/shares/{share["id"]}/action', {'soft_delete': None})
        expiry.empty_bin(self.service.services)
        binned = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
        self.assertEqual((True, 'available'), (binned['is_soft_deleted'], binned['status']))
        with self.service.services.db.reader() as conn:
            before = conn.execute(sa.select(sa.func.count()).select_from(models.operations)).scalar()
        with ahead(30 * 86400.0):
            self.scheduler._purge()
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                before, conn.execute(sa.select(sa.func.count()).select_from(models.operations)).scalar()
            )

    def test_49_13_a_backend_claims_nothing_while_its_clock_is_wrong(self):
        share = self.admin.share()
        self.beat(self.manager, _SIX_MINUTES)
        self.admin.call('DELETE', f'/shares/{share["id"]}')
        [waits] = self.findings('operation')
        self.assertIn('which claims no work: the clock of its host is 360 s ahead', waits.why)
        self.assertTrue(waits.wrong)
        self.beat(self.manager)
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'gone')

    def test_49_13_a_scheduler_whose_clock_is_wrong_claims_nothing_and_goes_on_by_itself(self):
        self.beat(self.scheduler, -_SIX_MINUTES)
        share = self.admin.share(wait=None)
        [waits] = self.findings('operation')
        self.assertIn(
            'manila-scheduler on test, which claims no work: the clock of its host is 360 s behind', waits.why
        )
        self.assertFalse(self.scheduler.worker.runner._find_work())
        self.assertEqual('creating', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        self.beat(self.scheduler)
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_49_13_differences_within_the_limit_are_shown_and_harmless(self):
        self.beat(self.manager, 4.0)
        self.beat(self.scheduler, -4.0)
        self.admin.share()
        self.assertEqual([], [one for one in self.findings('service') if one.wrong])
        with self.service.services.db.reader() as conn:
            seen = {row.binary: rows.clock_ahead_of(row) for row in rows.list_services(conn)}
        self.assertEqual(
            {'manila-share': 4, 'manila-scheduler': -4}, {name: round(found) for name, found in seen.items()}
        )


class SaidTest(Beating):
    """All that says so: one look at each while the clock of the scheduler is wrong."""

    def setUp(self):
        super().setUp()
        self.beat(self.scheduler, _SIX_MINUTES)

    def test_49_13_doctor_and_top_say_it(self):
        [found] = self.findings('service')
        self.assertEqual((True, 'test'), (found.wrong, found.id))
        self.assertIn(
            'claims no work: the clock of its host is 360 s ahead of that of the database', found.why
        )
        looked = OverviewReader(self.service.services).read()
        first = looked.services[0]
        self.assertEqual(
            ('manila-scheduler', '+360.0 s', True), (first['service'], first['clock'], first['is_bad'])
        )
        self.assertIn('the clock of its host is 360 s ahead', plain(looked))

    def test_49_13_the_upgrade_check_says_it(self):
        for seconds, code, said in (
            (
                0,
                1,
                'Warning: services: manila-scheduler on test claims no work: the clock of its host is 360 s ahead',
            ),
            (-_SIX_MINUTES, 2, 'Failure: clock: The clock of this host is 360 s behind that of the database'),
        ):
            ended = subprocess.run(
                [
                    sys.executable,
                    '-c',
                    _CHECK.format(seconds),
                    f'--config-file={self.service.state}/manila_lite.conf',
                    'upgrade',
                    'check',
                ],
                capture_output=True,
                text=True,
                timeout=waiting.LIMIT,
                check=False,
            )
            self.assertEqual(code, ended.returncode, ended)
            self.assertIn(said, ended.stdout)

    def test_49_13_readiness_says_it(self):
        missing, degraded = readiness.Readiness(self.service.services).read()
        self.assertEqual(([], [readiness._NO_CLOCK]), (missing, degraded))
        with ahead(_SIX_MINUTES):
            missing, degraded = readiness.Readiness(self.service.services).read()
        self.assertEqual([], missing)
        self.assertIn('the clock of this host is 360 s ahead of that of the database', degraded)

    def test_49_13_a_metric_says_it(self):
        shown = metrics_collector.FromDatabase(self.service.conf, self.service.services.db)
        self.addCleanup(shown.close)
        [family] = [one for one in shown.collect() if one.name == 'manila_lite_service_clock_ahead_seconds']
        self.assertEqual(
            {'manila-scheduler': 360, 'manila-share': 0},
            {sample.labels['binary']: round(sample.value) for sample in family.samples},
        )
