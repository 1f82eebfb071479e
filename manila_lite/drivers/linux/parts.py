# SPDX-License-Identifier: Apache-2.0
"""The parts of a backend, each made from those that it uses. A driver has one set of them."""

import contextlib

from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux.backups.share_backups import ShareBackups
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool.make_pool import make_keeper, make_pool
from manila_lite.drivers.linux.protocols.protocol_servers import ProtocolServers, exported, protocols
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.network_moves import NetworkMoves
from manila_lite.drivers.linux.replication.share_migration import ShareMigrations
from manila_lite.drivers.linux.replication.share_replicas import ShareReplicas
from manila_lite.drivers.linux.replication.share_server_migration import ServerMigrations
from manila_lite.drivers.linux.servers.qos import ShareQos
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.ensure import Ensuring
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.manage_shares import ManagedShares
from manila_lite.drivers.linux.shares.manage_snapshots import ManagedSnapshots
from manila_lite.drivers.linux.shares.shares import Shares
from manila_lite.drivers.linux.shares.snapshots import Snapshots
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.drivers.linux.shares.usage import Measuring
from manila_lite.drivers.recent_sizes import RecentSizes


class Parts:
    """All parts of one backend."""

    def __init__(self, backend: Backend):
        conf: LinuxOptions = backend.conf
        host, has_servers = backend.host, conf.driver_handles_share_servers
        # The kernel lists mounts by their real paths. By other paths, NFS-Ganesha and ``mounts`` would not find them.
        self.state_dir = state_dir = backend.state_dir.resolve()

        self.keeper = make_keeper(state_dir, conf)
        self.pool = make_pool(state_dir, conf, self.keeper)
        self.storage = storage = Storage(self.pool)
        sizes, self.copies = RecentSizes(), CopySupervisor()

        self.protocol_servers = ProtocolServers(state_dir, conf, conf.linux_netns, storage.exported_path)
        self.share_servers = servers = ShareServers(
            state_dir,
            conf,
            storage.exported_path,
            self.keeper.change if self.keeper else contextlib.nullcontext,
        )
        ports = {'NFS': conf.linux_nfs_port, 'CIFS': conf.linux_cifs_port}
        self.server_setup = ServerSetup(servers, ports)
        self.exports = exports = ShareExports(
            protocols(conf),
            lambda: [str(address) for address in conf.linux_export_ips],
            self.protocol_servers,
            ports,
            servers if has_servers else None,
        )
        self.qos = qos = ShareQos(
            self.pool, servers, is_supported=has_servers and conf.max_shares_per_share_server == 1
        )

        used = (storage, exports, qos, sizes)
        self.shares = Shares(*used)
        self.access = ShareAccess(*used)
        self.ensuring = Ensuring(*used)
        self.snapshots = Snapshots(*used)
        self.managed_shares = ManagedShares(
            *used, is_exported=lambda share_id: share_id in exported([state_dir, *servers.folders()])
        )
        self.managed_snapshots = ManagedSnapshots(*used)
        self.measuring = Measuring(self.pool)

        self.backups = ShareBackups(state_dir, storage, self.shares)
        self.replicas = ShareReplicas(
            host, conf, storage=storage, exports=exports, access=self.access, shares=self.shares, sizes=sizes
        )
        self.share_migrations = ShareMigrations(
            host, conf, storage=storage, exports=exports, access=self.access, copies=self.copies
        )
        self.server_migrations = ServerMigrations(
            host,
            conf,
            storage=storage,
            exports=exports,
            access=self.access,
            servers=servers,
            setup=self.server_setup,
            copies=self.copies,
        )
        self.network_moves = NetworkMoves(
            storage=storage, exports=exports, access=self.access, servers=servers, setup=self.server_setup
        )
