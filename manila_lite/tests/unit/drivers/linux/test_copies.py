# SPDX-License-Identifier: Apache-2.0
"""What a mount that fails says."""

import tempfile
from pathlib import Path

import testtools

from manila_lite.drivers.linux import copies
from manila_lite.drivers.linux.run import CommandFailed


class Failed(testtools.TestCase):

    def test_without_the_options(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, 'place')
            bad = self.assertRaises(CommandFailed, copies.Copies.mount, '/no/such/place', place, 'none', 'bind,password=sesame')
            self.assertNotIn('sesame', str(bad))
            self.assertIn('/no/such/place', str(bad))
            self.assertIsNone(bad.__cause__)
            copies.Copies.unmount(place)
            self.assertFalse(place.exists())
