# SPDX-License-Identifier: Apache-2.0
"""Folders for copies of shares. Tests of their contents: ``tests/security/test_copies_backups.py``."""

from pathlib import Path
from unittest import mock

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.backups import private_copies
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool


class Beside(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.pool = BtrfsPool(self.root, self.root / 'img', 1)

    def test_backups_are_beside_the_shares(self):
        self.assertEqual(self.root / 'backups' / 'b', private_copies.at(self.pool, 'b'))

    def test_backup_that_uses_more_than_the_size_is_refused(self):
        for used, size, fits in (
            (None, 1, True),
            (1 << 30, 1, True),
            (2 << 30, 1, False),
            (2 << 30, 2, True),
        ):
            with mock.patch.object(self.pool, 'measure', return_value=(None, used)):
                if fits:
                    private_copies.vet(self.pool, 'b', size)
                else:
                    self.assertRaises(errors.Final, private_copies.vet, self.pool, 'b', size)
