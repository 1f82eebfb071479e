# SPDX-License-Identifier: Apache-2.0
"""Export locations of shares: IPv4 first, one preferred, administrators' last."""

import dataclasses

import testtools

from manila_lite import values
from manila_lite.drivers.file_servers import export_locations

PORTS = {'NFS': 2049, 'CIFS': 445}
SHARE = values.Share('s', 'share', 'p', 1, 'NFS', 'pool')


def allocation(address: str) -> values.Allocation:
    return values.Allocation(
        f'of-{address}', address, '::/0' if ':' in address else '0.0.0.0/0', 6 if ':' in address else 4
    )


def subnet(*addresses: str) -> values.ServerNetwork:
    return values.ServerNetwork(f'with-{addresses}', '', 4, tuple(map(allocation, addresses)))


class LocationsTest(testtools.TestCase):
    def test_ipv4_location_of_the_options_is_first_and_preferred(self):
        locations = export_locations.at(SHARE, ['fd00::1', '10.0.0.1'], PORTS)
        self.assertEqual(
            [('10.0.0.1:/shares/s', True, '4'), ('[fd00::1]:/shares/s', False, '6')],
            [(location.path, location.preferred, location.metadata['ip_version']) for location in locations],
        )

    def test_cifs_locations_are_unc_paths(self):
        locations = export_locations.at(
            dataclasses.replace(SHARE, proto='CIFS'), ['fd00::1', '10.0.0.1'], PORTS
        )
        self.assertEqual(
            [(r'\\10.0.0.1\s', True), (r'\\fd00::1\s', False)],
            [(location.path, location.preferred) for location in locations],
        )

    def test_mount_point_name_is_used_in_the_path(self):
        named = dataclasses.replace(SHARE, mount_point_name='team_music')
        self.assertEqual(
            ['10.0.0.1:/shares/team_music'],
            [location.path for location in export_locations.at(named, ['10.0.0.1'], PORTS)],
        )

    def test_ipv4_of_a_share_server_is_first_and_the_admin_location_last(self):
        server = values.ShareServer(
            'x', (subnet('fd00::1'), subnet('10.0.0.1', '10.0.0.2')), (allocation('10.9.0.1'),)
        )
        self.assertEqual(
            [
                ('10.0.0.1:/shares/s', True, False),
                ('10.0.0.2:/shares/s', False, False),
                ('[fd00::1]:/shares/s', False, False),
                ('10.9.0.1:/shares/s', False, True),
            ],
            [
                (location.path, location.preferred, location.is_admin_only)
                for location in export_locations.on(SHARE, server, PORTS)
            ],
        )

    def test_ipv6_alone_is_preferred(self):
        self.assertTrue(
            export_locations.on(SHARE, values.ShareServer('x', (subnet('fd00::1'),)), PORTS)[0].preferred
        )

    def test_49_14_ports_that_clients_do_not_use_by_themselves_are_mount_options(self):
        server = values.ShareServer('x', (subnet('10.0.0.1'),), (allocation('10.9.0.1'),))
        for proto, port, wanted in (
            ('NFS', 2050, 'port=2050'),
            ('NFS', 2049, ''),
            ('CIFS', 2049, 'port=2049'),
            ('CIFS', 445, ''),
        ):
            share = dataclasses.replace(SHARE, proto=proto)
            found = [
                *export_locations.at(share, ['10.0.0.1', 'fd00::1'], {proto: port}),
                *export_locations.on(share, server, {proto: port}),
            ]
            self.assertEqual([wanted] * 4, [location.mount_options for location in found])
