# SPDX-License-Identifier: Apache-2.0
"""A shared pool mounts nothing by itself, and nothing that is no block device. functional/linux/test_failover.py mounts."""

from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.failover.fence import Fence
from manila_lite.drivers.linux.failover.keeper import Keeper
from manila_lite.drivers.linux.pool.shared_pool import SharedPool
from manila_lite.host.commands import CommandFailed


class SharedPoolTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.device = self.state / 'device'
        self.device.write_bytes(bytes(64 << 10))
        self.keeper = Keeper(self.device, self.state, 'no-such-fabric', Fence((), 1))
        self.pool = SharedPool(self.state / 'pool', self.device, 1, self.keeper)

    def test_pool_is_not_opened_without_the_lease(self):
        self.assertIn('may not serve', str(self.assertRaises(CommandFailed, self.pool.open)))
        self.keeper.take_up(0.0)  # a lease that is over
        self.assertIn('may not serve', str(self.assertRaises(CommandFailed, self.pool.ensure)))

    def test_pool_is_a_block_device(self):
        self.keeper.take_up(float('inf'))
        self.assertIn('is not a block device', str(self.assertRaises(CommandFailed, self.pool.open)))

    def test_only_the_guard_mounts_the_pool(self):
        self.assertRaises(CommandFailed, self.pool._mount, str(self.device))
