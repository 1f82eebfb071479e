# SPDX-License-Identifier: Apache-2.0
"""A share manager that is killed at any point of warning and growth: no growth twice, none without its reason, true quotas."""

import os
import signal

from manila_lite.db.queries.messages import Detail
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests import forks
from manila_lite.tests.functional.shares.growth_victim import UNHEARD, Full
from manila_lite.tests.functional.shares.test_full_shares import GROWING, FullTest
from manila_lite.tests.functional.shares.test_share_usage import HOST


class Kills(FullTest):
    def setUp(self):
        super().setUp()
        self.collector = UsageCollector(self.service.services, HOST, Full())

    def killed(self, point):
        """Measure in another process, which is to die at this point; say whether it did."""
        done = forks.run(
            'manila_lite.tests.functional.shares.growth_victim:main',
            self.service.state / 'manila_lite.conf',
            HOST,
            point,
            env=dict(os.environ),
        )
        self.assertIn(done.returncode, (0, -signal.SIGKILL), done.stdout + done.stderr)
        return done.returncode != 0

    def tried(self, number, point):
        """Kill it there; check what the next manager makes of it, and return whether it died."""
        caller = self.caller(f'grows{number}')
        share = self.made(caller, 0, size=2, metadata=GROWING)
        died = self.killed(point)
        for _ in range(3):
            self.collector.collect()
            self.assertIn(self.size(share), (2, 4), point)
        self.assertEqual(4, self.size(share), point)
        done = caller.ok('GET', f'/operations?resource_id={share}&kind=share.extend')['operations']
        self.assertEqual(['done'], [operation['state'] for operation in done], point)
        [reason] = self.told(caller, share, Detail.SHARE_GROWS)
        self.assertEqual(done[0]['request_id'], reason['request_id'], point)
        self.assertEqual(1, len(self.told(caller, share, Detail.SHARE_NEARLY_FULL)), point)
        used = self.admin.ok('GET', f'/quota-sets/grows{number}/detail')['quota_set']['gigabytes']
        self.assertEqual((4, 0), (used['in_use'], used['reserved']), point)
        return died

    def test_kill_at_each_point_heals_and_lets_the_share_grow_once(self):
        points = 1
        while self.tried(points, str(points)):
            points += 1
        self.assertGreater(points, 5)  # figures, sums, old sums, warning, growth
        self.assertTrue(self.tried(0, UNHEARD))
