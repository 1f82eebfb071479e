# SPDX-License-Identifier: Apache-2.0
"""When the trash is looked through for directories that kill managers."""

from pathlib import Path

import testtools

from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.volumes import trees


class Trash(trees.Trees):
    """Counts how often the trash is flattened."""

    def __init__(self, cluster):
        super().__init__(cluster, None, Identity(Path('/none'), 'ceph', 'manila'))
        self.flattened, self.fails = 0, False

    def flatten_trash(self, seconds=0.0):
        self.flattened += 1
        if self.fails:
            raise Away('x')
        return 1


class KeepUp(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.told = {'active_gid': 1, 'available': True}
        self.trash = Trash(self)

    def monitor(self, prefix):
        if self.told is None:
            raise Away(prefix)
        return self.told

    def flattened(self):
        self.trash.keep_up()
        return self.trash.flattened

    def test_trash_is_flattened_at_the_start_and_when_another_manager_is_active(self):
        self.assertEqual([1, 1], [self.flattened(), self.flattened()])
        self.told = {'active_gid': 2, 'available': True}
        self.assertEqual([2, 2], [self.flattened(), self.flattened()])
        self.told = {'active_gid': 0, 'available': False}
        self.assertEqual([3, 3], [self.flattened(), self.flattened()])

    def test_it_is_tried_again_after_a_failure(self):
        self.trash.fails = True
        self.assertEqual([1, 2], [self.flattened(), self.flattened()])
        self.assertIn('manila-manage cephfs trash', self.trash.problem)
        self.trash.fails = False
        self.assertEqual(3, self.flattened())
        self.assertIsNone(self.trash.problem)
        self.told = None
        self.assertEqual(3, self.flattened())
        self.assertIsNotNone(self.trash.problem)
