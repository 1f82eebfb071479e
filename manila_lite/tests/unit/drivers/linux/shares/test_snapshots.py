# SPDX-License-Identifier: Apache-2.0
from manila_lite import errors, values
from manila_lite.drivers.linux.shares.manage_snapshots import ManagedSnapshots
from manila_lite.drivers.linux.shares.snapshots import Snapshots, provider_location
from manila_lite.tests.unit.drivers.linux.shares import base


class OnDirectoryTest(base.ServiceTest):
    """A plain directory refuses all calls for snapshots. functional/linux and the compliance tests have btrfs."""

    def setUp(self):
        super().setUp()
        self.pool.create('a', 1)
        self.snapshot = values.Snapshot('s', base.share(), 1, provider_location=provider_location('s'))

    def test_snapshots_are_neither_taken_nor_served(self):
        snapshots = Snapshots(self.storage, self.exports, self.qos, self.sizes)
        self.assertRaisesRegex(errors.Final, 'plain directory', snapshots.create, self.snapshot)
        self.assertRaisesRegex(errors.Final, 'not in the pool', snapshots.serve, self.snapshot, [])
        self.assertRaisesRegex(errors.Final, 'plain directory', snapshots.create_group, [self.snapshot])
        self.assertEqual([], self.server.calls)

    def test_managing_a_snapshot_is_refused(self):
        managed = ManagedSnapshots(self.storage, self.exports, self.qos, self.sizes)
        self.assertRaisesRegex(errors.Final, 'plain directory', managed.manage, self.snapshot, {})
        self.assertRaisesRegex(
            errors.Final, 'no driver option size', managed.manage, self.snapshot, {'size': '1'}
        )
        self.assertRaisesRegex(
            errors.Final, 'not an id', managed.manage, values.Snapshot('../s', base.share(), 1), {}
        )
