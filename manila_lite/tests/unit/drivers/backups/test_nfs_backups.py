# SPDX-License-Identifier: Apache-2.0
"""Export location that a backup mounts a share from, and the client's address."""

import tempfile
import types
from pathlib import Path

import testtools

from manila_lite import errors, values
from manila_lite.drivers.backups import nfs_backups


def share(*locations, proto='NFS'):
    return values.Share(
        'i',
        's',
        'p',
        1,
        proto,
        'pool',
        export_locations=tuple(
            values.ExportLocation(path, preferred, admin) for path, preferred, admin in locations
        ),
    )


class Locations(testtools.TestCase):
    def test_admin_location_is_chosen_before_the_preferred_one(self):
        some, preferred, admins = ('a:/s', False, False), ('b:/s', True, False), ('c:/s', False, True)
        for locations, chosen in (
            ((some, preferred, admins), 'c:/s'),
            ((some, preferred), 'b:/s'),
            ((some,), 'a:/s'),
            ((some, ('d:/s', False, False)), 'a:/s'),
        ):
            self.assertEqual(chosen, nfs_backups.location_of(share(*locations)))

    def test_what_cannot_be_mounted(self):
        for bad in (share(), share(('//a/s', True, False), proto='CIFS')):
            self.assertRaises(errors.Final, nfs_backups.location_of, bad)

    def test_own_address_towards_the_server_is_found(self):
        for location, address in (
            ('127.0.0.1:/s', '127.0.0.1'),
            ('[::1]:/s/t', '::1'),
            ('localhost:/s', None),
        ):
            self.assertIn(
                nfs_backups.address_towards(location), (address,) if address else ('127.0.0.1', '::1')
            )
        self.assertRaises(OSError, nfs_backups.address_towards, 'no.such.host.invalid:/s')

    def test_configured_client_address_is_used(self):
        section = types.SimpleNamespace(backup_share_mount_options='', backup_client_ip='192.0.2.7')
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual('192.0.2.7', nfs_backups.NfsBackups(Path(folder), section).client_of(share()))
