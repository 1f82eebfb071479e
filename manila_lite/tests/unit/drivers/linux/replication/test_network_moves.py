# SPDX-License-Identifier: Apache-2.0
import types

from manila_lite import errors, values
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.replication.network_moves import NetworkMoves
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.tests.unit.drivers.linux.replication import base


class NetworkMovesTest(base.ReplicationTest):
    def use(self, pool):
        super().use(pool)
        servers = ShareServers(self.root, types.SimpleNamespace(linux_fabric_netns='none'), lambda _: None)
        exports = ShareExports(frozenset({'NFS'}), list, None, {'NFS': 2049}, servers)
        self.moves = NetworkMoves(
            storage=Storage(pool), exports=exports, access=None, servers=servers, setup=None
        )
        self.home = servers.folder('old')

    def migration(self, *shares, keeps_addresses=False):
        return values.ServerMigration(
            values.ShareServer('old'),
            base.HOST,
            values.ShareServer('new'),
            'pool',
            shares,
            keeps_addresses=keeps_addresses,
        )

    def test_impossible_moves_are_refused_with_a_reason(self):
        self.assertIn('not on this backend', self.objection(self.moves, self.migration()))
        self.home.mkdir(parents=True)
        for migration, why in (
            (self.migration(keeps_addresses=True), 'on this backend already, in the same share network'),
            (self.migration(base.share(proto='CIFS')), 'serve CIFS'),
            (self.migration(base.share('../a')), 'not an id'),
            (self.migration(base.share()), 'its data is not in the pool'),
        ):
            self.assertIn(why, self.objection(self.moves, migration))
            self.assertRaises(errors.Final, self.moves.start, migration)
        self.assertTrue(self.moves.check(self.migration()).compatible)
        fencing.note(self.home, 'another')
        self.assertIn('moved away by migration another', self.objection(self.moves, self.migration()))

    def test_nothing_is_removed_once_the_cut_over_has_begun(self):
        self.home.mkdir(parents=True)
        fencing.note(self.home, 'new')
        target = self.home.with_name('new')
        target.mkdir()
        self.assertRaises(errors.Final, self.moves.cancel, self.migration())
        self.assertTrue(target.exists())
