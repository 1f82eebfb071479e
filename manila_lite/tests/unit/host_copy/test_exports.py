# SPDX-License-Identifier: Apache-2.0
"""Servers of export locations. For the choice of a location see ``drivers/backups/test_nfs_backups.py``."""

import tempfile
from pathlib import Path

import testtools

from manila_lite.host_copy import exports


class Servers(testtools.TestCase):
    def test_server_of_a_location(self):
        for location, server in (
            ('192.0.2.7:/shares/s', '192.0.2.7'),
            ('[2001:db8::1]:/s', '2001:db8::1'),
            ('nas.example.org:/a:/b', 'nas.example.org'),
        ):
            self.assertEqual(server, exports.server_of(location))

    def test_file_systems_without_extended_attributes_are_recognized(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(exports.shows_attributes(Path(folder)))
        self.assertFalse(exports.shows_attributes(Path('/proc/self')))
        self.assertEqual(('extended attributes',), exports.losses(Path('/proc/self')))
