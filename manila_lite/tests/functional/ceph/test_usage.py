# SPDX-License-Identifier: Apache-2.0
"""How full shares are, as the calls say it, as a native client sees it, and how often the cluster is asked for it."""

import json
import os
import time
import unittest
from pathlib import Path

import fixtures
import testtools
from oslo_utils import units, uuidutils

from manila_lite import values
from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import base, worlds
from manila_lite.tests.functional.ceph.test_native import write
from manila_lite.tests.services import ceph
from manila_lite.tests.services.daemon import Missing

#: ``df`` of CephFS shows multiples of it.
_BLOCK = 4 * units.Mi


class Usage(base.CephTest):
    MORE = '[DEFAULT]\nshare_usage_interval = 1'

    def usage(self, share):
        """Return the document of the call, or None before the first measurement."""
        status, document = self.lite.call('GET', f'/share-usage/{share}')
        return document['share_usage'] if status == 200 else None

    def agreed(self, share, place, size, files):
        """Wait until call, ``df`` and the directory of a client have so many bytes and files, and return the call's answer."""
        seen = []

        def agree():
            told, shown = self.usage(share), os.statvfs(place)
            used = (shown.f_blocks - shown.f_bfree) * shown.f_frsize
            held = int(os.getxattr(place, 'ceph.dir.rbytes'))
            seen[:] = told, used, held
            return (
                told
                and told['limit_bytes'] == shown.f_blocks * shown.f_frsize
                and abs(used - told['used_bytes']) < (_BLOCK if size % _BLOCK else units.Mi)
                and max(abs(held - told['used_bytes']), abs(size - told['used_bytes'])) < units.Mi
                and told['files'] == files
                and told
            )

        return waiting.until(agree, lambda: f'{size} bytes in {files} files: {seen}')

    def test_df_of_a_client_and_the_call_agree(self):
        share = self.share(2)
        place = self.mount(share, self.grant(share, self.ident()))
        self.agreed(share, place, 0, 0)
        (place / 'd').mkdir()
        self.assertEqual((24, None), write(place / 'd' / 'f', 24))
        self.assertEqual((2 * units.Gi, None), self.figures(self.agreed(share, place, 24 * units.Mi, 1)))
        self.assertEqual(
            (5, None), write(place / 'g', 5)
        )  # no multiple: df shows it with up to 4 MiB of difference
        self.agreed(share, place, 29 * units.Mi, 2)

    @staticmethod
    def figures(told):
        return told['limit_bytes'], told['snapshot_bytes']

    def test_bytes_that_only_a_snapshot_holds_are_in_no_figure(self):
        share = self.share()
        place = self.mount(share, self.grant(share, self.ident()))
        self.assertEqual((8, None), write(place / 'f', 8))
        self.agreed(share, place, 8 * units.Mi, 1)
        self.snapshot(share)
        (place / 'f').unlink()
        self.assertEqual((units.Gi, None), self.figures(self.agreed(share, place, 0, 0)))

    def test_shares_are_listed_by_fullness(self):
        shares = [self.share() for _ in range(3)]
        for mib, share in zip((8, 24, 16), shares, strict=True):
            place = self.mount(share, self.grant(share, self.ident()))
            self.assertEqual((mib, None), write(place / 'f', mib))
            self.agreed(share, place, mib * units.Mi, 1)
        found = self.lite.ok('GET', '/share-usage')['share_usage']
        order = [one['share_id'] for one in found if one['share_id'] in shares]
        self.assertEqual([shares[1], shares[2], shares[0]], order)


class Costs(testtools.TestCase):
    """The number of requests that a measurement sends to the cluster."""

    TOGETHER = ceph.TOGETHER
    SHARES = 12

    def setUp(self):
        super().setUp()
        try:
            self.cluster = ceph.shared()
        except Missing as lacking:
            raise unittest.SkipTest(str(lacking)) from None
        folder = self.useFixture(fixtures.TempDir())
        self.world = worlds.World(Path(folder.path) / 'backend')
        self.addCleanup(self.world.close)
        self.driver = self.world.common

    def requests(self):
        """Return how many requests of clients the metadata server has handled, and how many clients it has."""
        server = json.loads(worlds.admin().metadata_server('a:0', 'perf dump'))
        return server['mds_server']['handle_client_request'], server['mds_sessions']['session_count']

    def test_measurement_of_many_shares_needs_one_mount_and_no_command(self):
        shares = [self.world.share() for _ in range(self.SHARES)]
        targets = []
        for share in shares:
            [location, *_] = self.driver.create_share(share)
            self.addCleanup(self.driver.delete_share, share)
            targets.append(values.UsageTarget(share.id, location.path))
        missing = values.UsageTarget(uuidutils.generate_uuid())
        known = {share.id for share in shares}
        self.assertEqual(known, set(self.driver.measure_usage([*targets, missing])))
        before, sessions = self.requests()
        began = time.monotonic()
        found = self.driver.measure_usage(targets)
        took = time.monotonic() - began
        after, mounts = self.requests()
        self.assertEqual(known, set(found))
        self.assertEqual(sessions, mounts, 'a measurement has mounted once more')
        # One for each of the two sums, which the library asks for anew; and a name on the way that it has forgotten.
        self.assertLessEqual(after - before, 3 * self.SHARES, f'{took:.3f} s')
