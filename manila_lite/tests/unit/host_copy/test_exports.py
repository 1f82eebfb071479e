# SPDX-License-Identifier: Apache-2.0
"""Servers of export locations. For the choice of a location see ``drivers/backups/test_nfs_backups.py``."""

import tempfile
from pathlib import Path

import testtools

from manila_lite import errors, values
from manila_lite.host_copy import exports


def located(options):
    location = values.ExportLocation('nas:/s', metadata={'mount_options': options})
    return values.Share('s', 's', 'p', 1, 'NFS', 'pool', export_locations=(location,))


class Options(testtools.TestCase):
    def test_options_that_a_file_server_needs_are_given(self):
        for options in ('', 'port=2050', 'vers=4.1,proto=tcp6,sec=krb5p,nolock'):
            self.assertEqual(options, exports.options_of(located(options)))

    def test_options_that_turn_the_host_elsewhere_are_refused(self):
        for word in (
            'ip=192.0.2.66',
            'credentials=/etc/shadow',
            'mountaddr=192.0.2.66',
            'bg',
            'addr=::1',
            'port=1 -o suid',
        ):
            refused = self.assertRaises(errors.Final, exports.options_of, located(f'port=2050,{word}'))
            self.assertIn(repr(word), str(refused))


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
