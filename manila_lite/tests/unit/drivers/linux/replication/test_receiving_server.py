# SPDX-License-Identifier: Apache-2.0
import testtools

from manila_lite import errors, values
from manila_lite.drivers.linux.replication import receiving_server
from manila_lite.tests.unit.drivers.linux.replication import base


class VetTest(testtools.TestCase):
    def vet(self, *shares, target='new', snapshots=()):
        receiving_server.vet(
            values.ServerMigration(
                values.ShareServer('old'), base.HOST, values.ShareServer(target), 'pool', shares, snapshots
            ),
            frozenset({'NFS'}),
        )

    def test_members_of_a_domain_do_not_move_with_shares_for_its_users(self):
        service = values.SecurityService('d', 'active_directory')
        source = values.ShareServer('old', security_services=(service,))

        def vet(*shares):
            moved = values.ServerMigration(source, base.HOST, values.ShareServer('new'), 'pool', shares, ())
            receiving_server.vet(moved, frozenset({'NFS', 'CIFS'}))

        vet(base.share())
        refused = self.assertRaises(errors.Final, vet, base.share(), base.share('b', 'CIFS'))
        self.assertIn('active_directory: migrate the shares', str(refused))

    def test_protocols_and_ids(self):
        share = base.share()
        self.vet(share, snapshots=(values.Snapshot('s', share, 1),))
        self.assertIn(
            'serve CIFS', str(self.assertRaises(errors.Final, self.vet, share, base.share('b', 'CIFS')))
        )
        for refused in (
            {'target': ''},
            {'target': '../new'},
            {'snapshots': (values.Snapshot('a/b', share, 1),)},
        ):
            self.assertIn('is not an id', str(self.assertRaises(errors.Final, self.vet, share, **refused)))
