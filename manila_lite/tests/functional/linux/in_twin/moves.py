# SPDX-License-Identifier: Apache-2.0
"""A migration by the host of the destination, which mounts both sides with the kernel's NFS client."""

import os
from pathlib import Path

import fixtures

from manila_lite.tests import process
from manila_lite.tests.functional.linux import test_host_assisted
from manila_lite.tests.functional.linux.in_twin import backups

#: The copy is slow enough to be seen.
_MOUNTS = (
    '[DEFAULT]\ndata_copy_bandwidth_limit = 0.5\ndata_node_mount_options = nfs:"vers=4.2,soft,timeo=300"\n'
)


class KernelNfs(test_host_assisted.HostAssisted):
    """``alpha`` and ``beta`` admit this host, at the address of its route to them."""

    BACKEND = (
        test_host_assisted.HostAssisted.BACKEND.partition('[DEFAULT]')[0].replace(
            'continue_update_interval = 0.2', 'continue_update_interval = 2'
        )
        + _MOUNTS
        + backups.RARE_LOOKS
    )
    ATTRIBUTES = ()

    def setUp(self):
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.tests.waiting.LONGEST', backups.SECONDS_BETWEEN_LOOKS)
        )
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.waiting.LIMIT', backups.SECONDS_OF_WAITS))
        super().setUp()
        backups.KernelNfs.reach_backends(self)

    def fill(self, place):
        """Fill as in the base class, without extended attributes: NFS-Ganesha 4.3 does not serve them."""
        copy = super().fill(place)
        os.removexattr(place / 'same', 'user.colour')
        return copy

    def test_a_share_moves_through_mounts_of_both_sides(self):
        share = self.granted()
        copy = self.fill(self.place('alpha', share))
        self.start(share)
        mounts = process.until(self.both_mounts, 'both sides are mounted', self.lite.tail)
        self.assertEqual({'nfs4'}, {mount[2] for mount in mounts})
        for mount in mounts:
            self.assertLessEqual(
                {'nosuid', 'nodev', 'noexec', f'clientaddr={backups.ME}'}, set(mount[3].split(','))
            )
        listed = self.lite.ok('GET', f'/share-access-rules?share_id={share}')['access_list']
        self.assertEqual([self.fabric.v4('one')], [rule['access_to'] for rule in listed])
        self.task_is(share, test_host_assisted.READY)
        self.complete(share)
        self.has_moved(share)
        self.assert_as(copy, self.place('beta', share))
        with backups.KernelNfs.mounted(self, share) as place:
            self.assertIsNone(place)

    def both_mounts(self):
        mounts = [
            line.split() for line in Path('/proc/mounts').read_text().splitlines() if '/beta/moves/' in line
        ]
        return mounts if len(mounts) == 2 else None

    location = backups.KernelNfs.location
