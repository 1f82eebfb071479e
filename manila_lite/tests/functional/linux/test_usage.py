# SPDX-License-Identifier: Apache-2.0
"""How full shares are, as the backend says it, and as ``df`` of a client shows it, over NFS and over CIFS."""

import dataclasses
import os

from oslo_utils import units

from manila_lite import values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.tests import smb_client
from manila_lite.tests.functional.linux import base, cifs_base, server_base


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


class _OverCifs:
    """Mixin of real btrfs and real smbd. The kernel's client asks for the same figures: ``in_twin/cifs_moves.py``."""

    server = None

    def measured(self, share):
        return self.driver.measure_usage([values.UsageTarget(share.id)])[share.id]

    def assert_as_df(self, share, size, folder='.'):
        worked, said = self.smb(share, 'alice', f'cd {folder}; du')
        self.assertTrue(worked, said)
        usage, (limit, free) = self.measured(share), smb_client.space(said)
        self.assertEqual((size * units.Gi,) * 2, (limit, usage.limit_bytes))
        self.assertLess(abs(limit - free - usage.used_bytes), units.Mi)

    def test_df_of_a_client_and_the_measurement_agree(self):
        share, other = self.cifs(self.server), self.cifs(self.server)
        for each in (share, other):
            self.allow(each, ('alice', 'rw'))
        self.assert_as_df(share, 1)
        self.assertTrue(self.smb(share, 'alice', 'mkdir d; put local f', text=os.urandom(24 * units.Mi))[0])
        btrfs.sync(self.driver.parts.pool.root)
        self.assertLess(abs(self.measured(share).used_bytes - 24 * units.Mi), units.Mi)
        for each, folder in ((share, '.'), (share, 'd'), (other, '.')):
            self.assert_as_df(each, 1, folder)

    def test_df_of_a_connected_client_shows_another_size_at_once(self):
        share = self.cifs(self.server)
        self.allow(share, ('alice', 'rw'))
        client, seen = self.session(share, 'alice'), []
        for resize, size in (
            (self.driver.extend_share, 3),
            (self.driver.shrink_share, 2),
            (self.driver.extend_share, 9),
        ):
            resize(share, size)
            worked, said = client.call('du')
            self.assertTrue(worked, said)
            seen.append(smb_client.space(said)[0])
        pool = os.statvfs(self.driver.parts.pool.root)
        self.assertEqual([3 * units.Gi, 2 * units.Gi, pool.f_blocks * pool.f_frsize], seen)


@cifs_base.needs_samba
class OverCifs(_OverCifs, cifs_base.Plain):
    """A backend without share servers."""

    def test_df_of_a_mounted_snapshot_shows_the_size_of_then(self):
        share = self.cifs()
        snapshot = values.Snapshot(f'snap-{share.id}', share, share.size)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(lambda: self.driver.delete_snapshot(snapshot))
        self.driver.extend_share(share, 2)
        served = self.driver.serve_snapshot(snapshot, self.rules(('alice', 'ro')))
        mounted = dataclasses.replace(share, export_locations=served.export_locations)
        worked, said = self.smb(mounted, 'alice', 'du')
        self.assertEqual((True, units.Gi), (worked, smb_client.space(said)[0]))


@cifs_base.needs_samba
class OverCifsOfShareServers(_OverCifs, cifs_base.Cifs, server_base.ServerTest):
    """A share server's smbd, in a namespace of its own."""

    @property
    def client(self):
        return self.machine.space('one4')
