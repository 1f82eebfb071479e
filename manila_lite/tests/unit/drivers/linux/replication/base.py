# SPDX-License-Identifier: Apache-2.0
"""Replication services on a pool that is never opened: no driver, no root."""

import types
from pathlib import Path

import fixtures
import testtools

from manila_lite import values
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.share_migration import ShareMigrations
from manila_lite.drivers.linux.replication.share_replicas import ShareReplicas
from manila_lite.drivers.linux.replication.share_server_migration import ServerMigrations
from manila_lite.drivers.linux.servers.qos import ShareQos
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.shares import Shares
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.drivers.recent_sizes import RecentSizes

HOST, PEERS = 'here@linux', types.SimpleNamespace(linux_peers={})


def share(share_id='a', proto='NFS', pool='pool'):
    return values.Share(share_id, share_id, 'p', 1, proto, pool)


class ReplicationTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.use(BtrfsPool(self.root / 'pool', self.root / 'image', 1))

    def use(self, pool):
        """Make the services on this pool."""
        storage, exports = (
            Storage(pool),
            ShareExports(frozenset({'NFS'}), lambda: ['10.0.0.1'], None, {'NFS': 2049}),
        )
        qos, sizes, copies = ShareQos(pool, None, is_supported=False), RecentSizes(), CopySupervisor()
        access = ShareAccess(storage, exports, qos, sizes)
        self.replicas = ShareReplicas(
            HOST,
            PEERS,
            storage=storage,
            exports=exports,
            access=access,
            sizes=sizes,
            shares=Shares(storage, exports, qos, sizes),
        )
        self.share_migrations = ShareMigrations(
            HOST, PEERS, storage=storage, exports=exports, access=access, copies=copies
        )
        self.server_migrations = ServerMigrations(
            HOST,
            PEERS,
            storage=storage,
            exports=exports,
            access=access,
            servers=None,
            setup=ServerSetup(None, {'NFS': 2049}),
            copies=copies,
        )

    def objection(self, migrations, migration):
        """Return the reason why the migration is not possible."""
        support = migrations.check(migration)
        self.assertFalse(support.compatible)
        return support.reason
