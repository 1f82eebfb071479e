# SPDX-License-Identifier: Apache-2.0
"""A default ACL that was set aside comes back, or goes; a directory of which none was set aside stays as it is."""

import os
import unittest
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.pool import default_acl
from manila_lite.tests.factories import files


@unittest.skipIf(os.geteuid(), 'only root may set trusted attributes')
class GivenBack(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.place = Path(self.useFixture(fixtures.TempDir()).path)

    def given_back(self, aside):
        if aside is not None:
            os.setxattr(self.place, default_acl.ASIDE, aside)
        default_acl.give_back(self.place)
        default_acl.give_back(self.place)
        return {name: os.getxattr(self.place, name) for name in os.listxattr(self.place)}

    def test_acl_comes_back_goes_and_stays(self):
        one, other = files.acl((0x02, 5, 1234)), files.acl((0x02, 4, 5678))
        for aside, expected in (
            (None, {}),
            (one, {files.DEFAULT: one}),
            (None, {files.DEFAULT: one}),
            (other, {files.DEFAULT: other}),
            (b'', {}),
            (b'', {}),
        ):
            self.assertEqual(expected, self.given_back(aside))

    def test_other_errors_are_raised(self):
        self.assertRaises(FileNotFoundError, default_acl.give_back, self.place / 'missing')
