# SPDX-License-Identifier: Apache-2.0
"""Runs of schedules are events: the run and its copies, for the project of the schedule only."""

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.scheduler import schedules as runner
from manila_lite.tests.functional.event_streams import status_of
from manila_lite.tests.functional.events.test_events import EventTest
from manila_lite.tests.functional.schedules.scheduling import NEVER


class Runs(EventTest):
    EXTRA = '[scheduler]\nschedule_interval = 86400\n'

    def setUp(self):
        super().setUp()
        self.share = self.owner.share()['id']
        self.schedule = self.owner.ok('POST', '/schedules', {'schedule': {'cron': NEVER}})['schedule']['id']

    def run_now(self):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.schedules.update()
                .where(models.schedules.c.id == self.schedule)
                .values(next_run_at=timeutils.utcnow())
            )
        runner.begin_due(self.service.services)

    def ended(self, state):
        """Return a test for the event of the run that ended so."""
        return lambda event, data: (
            (event, data.get('kind'), data.get('state'), data.get('resource_id'))
            == ('operation', 'schedule.run', state, self.schedule)
        )

    def test_a_run_and_its_snapshot_are_events_of_their_project(self):
        mine, theirs = self.listen(self.owner).begun(), self.listen(self.other).begun()
        self.run_now()
        mine.until(self.ended('done'), 'the run is done')
        [snapshot] = self.owner.ok('GET', '/snapshots')['snapshots']
        mine.until(status_of(snapshot['id'], 'available'), 'its snapshot is there')
        after = self.other.share()['id']
        theirs.until(status_of(after, 'available'), 'an event of its own')
        for one in (self.share, self.schedule, snapshot['id']):
            self.assertNotIn(one, str(theirs.events))

    def test_a_run_that_is_not_good_is_an_event_with_the_reason(self):
        self.admin.ok('PUT', f'/quota-sets/{self.owner.token.split(":")[1]}', {'quota_set': {'snapshots': 0}})
        mine = self.listen(self.owner).begun()
        self.run_now()
        data = mine.until(self.ended('failed'), 'the run has failed')
        self.assertIn('Quota exceeded', data['error'])
