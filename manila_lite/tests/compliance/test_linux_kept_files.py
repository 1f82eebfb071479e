# SPDX-License-Identifier: Apache-2.0
"""What the linux driver keeps of files in a migration and in a replica, with one set of files: see ``factories/kept.py``."""

import os

from manila_lite.host.commands import CommandFailed
from manila_lite.tests.compliance import test_linux
from manila_lite.tests.factories import files, kept
from manila_lite.tests.functional.linux import copying


class KeptInMigrationTest(test_linux.LinuxShareMigrationBinding):
    def test_migration(self):
        migration = self.a_move()
        [snapshot] = migration.snapshots
        place = self.origin.parts.pool.share(migration.source.id)
        files.plant(place)
        self.driver.share_migration_start(migration)
        self.near(migration)
        (place / 'stranger').write_text('made late')
        self.driver.share_migration_complete(migration)
        self.assertEqual(
            kept.DROPS['driver'],
            kept.lost(kept.look(place), kept.look(self.driver.parts.pool.share(migration.target.id))),
        )
        self.assertEqual(
            kept.DROPS['driver'] - {'flags'},
            kept.lost(
                *(kept.look(driver.parts.pool.snapshot(snapshot.id)) for driver in (self.origin, self.driver))
            ),
        )


class KeptInReplicaTest(test_linux.LinuxReplicationBinding):
    def replica(self):
        """Return a replica, the folder of the active one, and the folder of the replica after a call."""
        replica = self.a_replica()
        self.driver.create_replica(replica)
        return (
            replica,
            self.origin.parts.pool.share(replica.active.id),
            lambda: kept.look(self.driver.parts.pool.share(replica.id)),
        )

    def test_update_and_promotion(self):
        replica, active, look = self.replica()
        files.plant(active)
        self.assertEqual('in_sync', self.driver.update_replica(replica).state)
        self.assertEqual(kept.DROPS['driver'], kept.lost(kept.look(active), look()))
        files.spoil(active)
        (active / 'stranger').write_text('made late')
        self.driver.promote_replica(replica)
        self.assertEqual(kept.DROPS['driver'], kept.lost(kept.look(active), look()))

    def test_replica_with_a_file_that_cannot_be_read_keeps_its_last_complete_copy(self):
        replica, active, look = self.replica()
        (active / 'random').write_bytes(os.urandom(100_000))
        self.assertEqual('in_sync', self.driver.update_replica(replica).state)
        before = look()
        copying.break_on_disk(self.root / 'origin.img', active / 'random')
        self.assertEqual('out_of_sync', self.driver.update_replica(replica).state)
        self.assertEqual(set(), kept.lost(before, look()))
        self.assertRaises(CommandFailed, self.driver.promote_replica, replica)
