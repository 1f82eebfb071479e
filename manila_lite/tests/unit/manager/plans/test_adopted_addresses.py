# SPDX-License-Identifier: Apache-2.0
"""Which of the addresses of a share server are in its share network, and which in the network of administrators."""

import dataclasses

import testscenarios
import testtools

from manila_lite import errors
from manila_lite.manager.plans import adopted_addresses
from manila_lite.manager.plans.admin_network import AdminSubnet
from manila_lite.network.interface import Subnet

_USERS, _ADMINS = '10.1.0.0/24', '172.16.0.0/24'


@dataclasses.dataclass(frozen=True)
class _Row(Subnet):
    """A row of a subnet, as far as it matters."""

    id: str = 'subnet'


def _scenario(addresses, expected, *, admins=_ADMINS, needs=(1, 1)):
    return f'{addresses or "none"} with {admins} for {needs}', {
        'addresses': addresses.split(),
        'expected': expected,
        'admins': admins,
        'needs': needs,
    }


class ByPlace(testscenarios.WithScenarios, testtools.TestCase):
    """Addresses as the driver names them, those for administrators last."""

    scenarios = [
        _scenario('10.1.0.5 172.16.0.5', (['10.1.0.5'], ['172.16.0.5'])),
        _scenario('172.16.0.5 10.1.0.5', (['10.1.0.5'], ['172.16.0.5'])),
        _scenario('10.1.0.5 10.1.0.6', (['10.1.0.5', '10.1.0.6'], [])),
        _scenario('10.1.0.5', (['10.1.0.5'], []), admins=None),
        _scenario('10.1.0.5 FD00::5', (['10.1.0.5'], ['fd00::5']), admins='fd00::/64'),
        # The two networks overlap, or are the same.
        _scenario('10.1.0.5 10.1.0.6', (['10.1.0.5'], ['10.1.0.6']), admins=_USERS),
        _scenario(
            '10.1.0.5 10.1.0.6 10.1.0.7',
            (['10.1.0.5', '10.1.0.6'], ['10.1.0.7']),
            admins='10.1.0.0/16',
            needs=(2, 1),
        ),
        _scenario(
            '10.1.0.5 10.1.9.6 10.1.0.7', (['10.1.0.5', '10.1.0.7'], ['10.1.9.6']), admins='10.1.0.0/16'
        ),
        _scenario('10.1.0.5 10.1.0.6', (['10.1.0.5', '10.1.0.6'], []), admins=_USERS, needs=(1, 0)),
        # Refused.
        _scenario('', 'has 0 addresses in subnet subnet; it needs 1'),
        _scenario('172.16.0.5', 'has 0 addresses in subnet subnet; it needs 1'),
        _scenario(
            '10.1.0.5 192.0.2.1 192.0.2.2',
            f'192.0.2.1, 192.0.2.2, which are not in subnet subnet ({_USERS}), nor in the network of administrators '
            f'({_ADMINS}).',
        ),
        _scenario(
            '10.1.0.5 172.16.0.5',
            'Its backend has no network of administrators (admin_network_id)',
            admins=None,
        ),
    ]

    def test_49_7_each_address_is_in_its_network(self):
        row = _Row('net', 'four', _USERS, 4)
        admins = AdminSubnet('net', 'admins', self.admins, 4) if self.admins else None
        arguments = self.addresses, row, admins, self.needs
        if isinstance(self.expected, str):
            self.assertIn(
                self.expected, str(self.assertRaises(errors.Final, adopted_addresses.by_network, *arguments))
            )
        else:
            self.assertEqual(self.expected, adopted_addresses.by_network(*arguments))
