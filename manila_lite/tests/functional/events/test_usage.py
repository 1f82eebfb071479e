# SPDX-License-Identifier: Apache-2.0
"""Shares that fill up are events: once for each threshold, and for their own project only."""

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests.functional.event_streams import status_of
from manila_lite.tests.functional.events.test_events import EventTest


class Thresholds(EventTest):
    """A share of 20 GiB, measured when the test says so."""

    EXTRA = 'share_usage_interval = 0\n'

    def setUp(self):
        super().setUp()
        manager = self.service.managers['alpha']
        self.driver = manager.driver
        self.collector = UsageCollector(self.service.services, manager.host, manager.driver)
        self.share = self.owner.share(size=20)['id']
        self.addCleanup(self.admin.call, 'DELETE', f'/shares/{self.share}')

    def measured(self, gib):
        with self.service.services.db.reader() as conn:
            instances = models.share_instances.c
            instance = conn.execute(
                sa.select(instances.id).where(instances.share_id == self.share)
            ).scalar_one()
        self.driver.write(instance, 'words', used=gib)
        self.collector.collect()

    def told(self, stream):
        return [data['threshold'] for event, data in stream.events if event == 'usage']

    def full(self, threshold):
        return lambda event, data: event == 'usage' and data['threshold'] == threshold

    def test_each_crossing_is_one_event_for_the_project_of_the_share(self):
        mine, other = self.listen(self.owner).begun(), self.listen(self.other).begun()
        begin = mine.position
        self.measured(17)
        data = mine.until(self.full(80), 'the share is 85 % full')
        self.assertEqual(
            ('share', self.share, 85.0, 17 << 30, 20 << 30),
            tuple(
                data[name]
                for name in ('resource_type', 'resource_id', 'percent_full', 'used_bytes', 'limit_bytes')
            ),
        )
        self.measured(17.4)  # above the same threshold
        self.measured(18.5)
        mine.until(self.full(90), 'the share is 92 % full')
        self.measured(15)  # well below both
        self.measured(16.5)
        mine.until(lambda event, data: len(self.told(mine)) == 3, 'the share crossed 80 % once more')
        self.assertEqual([80, 90, 80], self.told(mine))
        late = self.listen(self.owner, position=begin)
        late.until(self.full(80), 'the last one is told to who comes back')
        after = self.other.share()['id']
        other.until(status_of(after, 'available'), 'no event of its own')
        self.assertEqual([], self.told(other))
