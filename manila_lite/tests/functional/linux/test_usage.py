# SPDX-License-Identifier: Apache-2.0
"""How full shares are, as the backend says it, as ``df`` of an NFS client shows it, and as a CIFS client counts it."""

import os
import re

from oslo_utils import units

from manila_lite import values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.tests.functional.linux import base, cifs_base


class Usage(base.ShareTest):
    """Real btrfs, real NFS-Ganesha."""

    def measured(self, *snapshots):
        return self.driver.measure_usage([values.UsageTarget(self.made.id, snapshots=snapshots)])[
            self.made.id
        ]

    def assert_as_df(self, usage):
        size, used = map(int, self.works('one', self.made, 'space').split())
        self.assertLess(abs(size - usage.limit_bytes), units.Mi)
        self.assertLess(abs(used - usage.used_bytes), units.Mi)

    def test_df_of_a_client_and_the_measurement_agree(self):
        root = self.driver.parts.pool.root
        self.assert_as_df(self.measured())
        self.works('one', self.made, 'fill', 'f', '24')
        btrfs.sync(root)  # which both wait for otherwise
        usage = self.measured()
        self.assertLess(abs(usage.used_bytes - 24 * units.Mi), units.Mi)
        self.assertEqual((units.Gi, 0), (usage.limit_bytes, usage.snapshot_bytes))
        self.assert_as_df(usage)
        snapshot = self.snapshot(self.made)
        self.works('one', self.made, 'unlink', 'f')
        btrfs.sync(root)
        usage = self.measured(snapshot.id)
        self.assertLess(usage.used_bytes, units.Mi)
        self.assertLess(abs(usage.snapshot_bytes - 24 * units.Mi), units.Mi)
        self.assert_as_df(usage)
        self.driver.delete_snapshot(snapshot)
        self.assertEqual(0, self.measured(snapshot.id).snapshot_bytes)

    def test_measurement_of_many_shares_is_one_look(self):
        shares = [self.share() for _ in range(70)]  # more than one answer of the kernel has
        found = self.driver.measure_usage([values.UsageTarget(share.id) for share in (*shares, self.made)])
        self.assertEqual({self.made.id, *(share.id for share in shares)}, set(found))
        self.assertEqual({units.Gi}, {usage.limit_bytes for usage in found.values()})


@cifs_base.needs_samba
class OverCifs(cifs_base.Plain):
    """Real btrfs, real smbd: ``df`` shows the pool, and the files of the share are what the measurement says."""

    _SPACE = re.compile(r'(\d+) blocks of size (\d+)\. (\d+) blocks available')
    _FILES = re.compile(r'Total number of bytes: (\d+)')

    def test_files_of_a_client_and_the_measurement_agree_and_df_shows_the_pool(self):
        share, root = self.cifs(), self.driver.parts.pool.root
        self.allow(share, ('alice', 'rw'))
        self.assertTrue(self.smb(share, 'alice', 'put local f', text=os.urandom(24 * units.Mi))[0])
        btrfs.sync(root)
        worked, said = self.smb(share, 'alice', 'du')
        self.assertTrue(worked, said)
        usage = self.driver.measure_usage([values.UsageTarget(share.id)])[share.id]
        self.assertEqual(units.Gi, usage.limit_bytes)
        self.assertLess(abs(int(self._FILES.search(said)[1]) - usage.used_bytes), units.Mi)
        blocks, size, available = map(int, self._SPACE.search(said).groups())
        pool = os.statvfs(root)
        self.assertEqual(pool.f_blocks * pool.f_frsize, blocks * size)
        self.assertLess(abs(pool.f_bavail * pool.f_frsize - available * size), units.Mi)
