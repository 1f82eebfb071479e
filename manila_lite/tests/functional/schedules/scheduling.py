# SPDX-License-Identifier: Apache-2.0
"""Helpers to make schedules and to let their times come."""

import datetime
import uuid

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.scheduler import schedules as runner
from manila_lite.tests.functional import base

#: A time that never comes in a test by itself.
NEVER = '0 0 1 1 *'
_LONG_AGO = datetime.datetime.fromisoformat('2026-01-01T00:00')


class SchedulesTest(base.ServiceTest):
    """A service whose timer looks for due schedules once, before there are any: tests look themselves."""

    EXTRA = '[scheduler]\nschedule_interval = 86400\n[quota]\nshares = -1\nsnapshots = -1\ngigabytes = -1\n'

    def setUp(self):
        super().setUp()
        self.project = uuid.uuid4().hex
        self.user = self.caller(self.project)
        self.addCleanup(self.service.knob, 'alpha')
        self.runs = 0

    def schedule(self, caller=None, **values):
        """Create a schedule; return it."""
        body = {'schedule': {'cron': NEVER, **values}}
        return (caller or self.user).ok('POST', '/schedules', body)['schedule']

    def show(self, schedule, caller=None):
        return (caller or self.user).ok('GET', f'/schedules/{schedule["id"]}')['schedule']

    def change(self, schedule, **values):
        return self.user.ok('PUT', f'/schedules/{schedule["id"]}', {'schedule': values})['schedule']

    def come(self, schedule, at):
        """Let this be the next time of the schedule."""
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.schedules.update()
                .where(models.schedules.c.id == schedule['id'])
                .values(next_run_at=at)
            )

    def look(self):
        runner.begin_due(self.service.services)

    def run_once(self, schedule, at=None):
        """Let a time come, one hour after that of the last run, and wait for the end of the run. Return the schedule."""
        self.come(schedule, at or self.time())
        self.look()
        self.service.settled(schedule['id'])
        return self.show(schedule)

    def time(self):
        """Return the time of another run."""
        self.runs += 1
        return _LONG_AGO + datetime.timedelta(hours=self.runs)

    def operations(self, schedule):
        query = f'/operations?resource_id={schedule["id"]}&kind=schedule.run&sort_dir=asc'
        return self.user.ok('GET', query)['operations']

    def snapshots(self, share=None, caller=None):
        """Return the snapshots of a share, or of the project, the oldest first."""
        query = f'&share_id={share["id"]}' if share else ''
        return (caller or self.user).ok('GET', f'/snapshots/detail?sort_dir=asc{query}')['snapshots']

    def left(self, share):
        """Wait for the end of deletions. Return the last words of the names of the copies that a share still has."""
        for snapshot in self.snapshots(share):
            self.service.settled(snapshot['id'])
        return [one['name'].removeprefix('scheduled-2026-01-01-') for one in self.snapshots(share)]

    def messages(self, schedule):
        return self.user.ok('GET', f'/messages?resource_id={schedule["id"]}')['messages']

    def set_quota(self, **values):
        self.admin.ok('PUT', f'/quota-sets/{self.project}', {'quota_set': values})

    def refused(self, status, words, method, path, values=None, caller=None):
        """Check that the request is refused with this status, and that the message has these words."""
        body = None if values is None else {'schedule': values}
        got, document, _ = (caller or self.user).call(method, path, body)
        [fault] = document.values()
        self.assertEqual(status, got, document)
        self.assertIn(words, fault['message'])


def now():
    return timeutils.utcnow()


def hourly():
    """Return the cron expression of a time of each hour that does not come in a test by itself: half an hour from now."""
    return f'{(now().minute + 30) % 60} * * * *'
