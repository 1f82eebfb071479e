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
