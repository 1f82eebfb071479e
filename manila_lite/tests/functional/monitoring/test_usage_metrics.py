# SPDX-License-Identifier: Apache-2.0
"""Metrics of how full shares are: sums, and single shares only where an option asks for them."""

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.cmd import metrics_collector
from manila_lite.db import models
from manila_lite.db.queries import share_usage
from manila_lite.db.queries.share_usage import Measured
from manila_lite.tests.factories import shares
from manila_lite.tests.functional import base


class UsageMetrics(base.ServiceTest):
    PARTS = ()
    EXTRA = '[metrics]\ncache_seconds = 1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        now = timeutils.utcnow()
        with cls.service.services.db.writer() as conn:
            type_id = conn.execute(sa.select(models.share_types.c.id)).scalar_one()
            cls.made = [
                share
                for project, pool in (('p', 'one'), ('q', 'two'))
                for share, _ in shares.make(
                    conn, 3, type_id=type_id, project=project, host=f'test@alpha#{pool}'
                )
            ]
            percents = dict(zip(cls.made, (10, 95, 96, 20, 30, 94.9), strict=True))
            rows = [Measured(share, now, int(part), 100, 0, None, part) for share, part in percents.items()]
            share_usage.store(conn, sorted(rows), ())

    def samples(self, **options):
        """Return the values of all samples by the name of the metric and the labels."""
        for name, value in options.items():
            self.service.conf.set_override(name, value, 'metrics')
            self.addCleanup(self.service.conf.clear_override, name, 'metrics')
        collector = metrics_collector.FromDatabase(self.service.conf, self.service.services.db)
        self.addCleanup(collector.close)
        return {
            (sample.name.removeprefix('manila_lite_'), *sample.labels.values()): sample.value
            for family in collector.collect()
            for sample in family.samples
        }

    def test_pools_have_sums(self):
        found = self.samples()
        self.assertEqual(
            [201, 144], [found['pool_shares_used_bytes', f'test@alpha#{pool}'] for pool in ('one', 'two')]
        )
        self.assertEqual(
            [2, 0], [found['pool_shares_nearly_full', f'test@alpha#{pool}'] for pool in ('one', 'two')]
        )
        self.assertEqual([], [key for key in found if {*key} & {*self.made, 'p', 'q'}])

    def test_fullest_shares_and_projects_are_shown_on_request(self):
        found = self.samples(fullest_shares=2, projects=1)
        shown = {key[2]: value for key, value in found.items() if key[0] == 'share_percent_full'}
        self.assertEqual({self.made[1]: 95, self.made[2]: 96, self.made[4]: 30, self.made[5]: 94.9}, shown)
        self.assertEqual(201, found['project_shares_used_bytes', 'p'])
        self.assertNotIn(('project_shares_used_bytes', 'q'), found)
