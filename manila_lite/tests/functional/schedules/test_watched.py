# SPDX-License-Identifier: Apache-2.0
"""What operators and programs see of schedules: findings, metrics, events of their operations."""

import datetime

from manila_lite.cmd import metrics_collector
from manila_lite.doctor import examine
from manila_lite.tests.functional.schedules.scheduling import SchedulesTest, now


class Watched(SchedulesTest):
    def findings(self, schedule):
        return [one for one in examine.list_findings(self.service.services) if one.id == schedule['id']]

    def metric(self, name, schedule):
        """Return the value of a metric of a schedule, or None."""
        collector = metrics_collector.FromDatabase(self.service.conf, self.service.services.db)
        self.addCleanup(collector.close)
        for family in collector.collect():
            for sample in family.samples:
                if sample.name == f'manila_lite_{name}' and sample.labels == {'schedule': schedule['id']}:
                    return sample.value
        return None

    def test_the_doctor_tells_of_a_schedule_that_fails_as_long_as_it_does(self):
        self.user.share()
        made = self.schedule(name='hourly')
        self.set_quota(snapshots=0)
        self.run_once(made)
        [found] = self.findings(made)
        self.assertEqual(
            ('schedule', 'failing', True, 'hourly', self.project),
            (found.what, found.state, found.wrong, found.about, found.project_id),
        )
        self.assertIn('Quota exceeded', found.error)
        self.assertIsNone(found.mend)
        shown = [
            one for one in self.admin.ok('GET', '/findings?wrong=true')['findings'] if one['id'] == made['id']
        ]
        self.assertEqual(1, len(shown))
        self.change(made, paused=True)
        self.assertEqual([], self.findings(made))
        self.change(made, paused=False)
        self.set_quota(snapshots=9)
        self.run_once(made)
        self.assertEqual([], self.findings(made))

    def test_the_age_of_the_newest_good_run_is_a_metric(self):
        share = self.user.share()
        made = self.schedule(cron='0 * * * *', share_ids=[share['id']])
        self.assertLess(self.metric('schedule_good_age_seconds', made), 600)  # it is new
        self.come(made, now() - datetime.timedelta(hours=2))
        self.look()
        self.service.settled(made['id'])
        age = self.metric('schedule_good_age_seconds', made)
        self.assertTrue(7200 <= age < 7800, age)
        period = self.metric('schedule_period_seconds', made)
        self.assertTrue(7200 < period <= 10800, period)
        self.change(made, paused=True)
        self.assertIsNone(self.metric('schedule_good_age_seconds', made))
