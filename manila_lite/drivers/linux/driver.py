# SPDX-License-Identifier: Apache-2.0
"""The linux driver: each share of a pool is mounted separately, and exported by one file server or by that of its share
server.

``parts.py`` makes the parts that do the work; the table here gives each call to its part.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from manila_lite import values
from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.backups.backup_jobs_driver import BackupJobsDriver
from manila_lite.drivers.interface import (
    AddsSubnets,
    Backend,
    Clones,
    ConsistentSnapshots,
    ManagesServers,
    ManagesSnapshots,
    MeasuresUsage,
    MigratesServers,
    MigratesShares,
    MountsSnapshots,
    Replicates,
    Resizes,
    Reverts,
    Snapshots,
    SpansSubnets,
)
from manila_lite.drivers.linux.failover import check as failover
from manila_lite.drivers.linux.lifecycle import LinuxLifecycle
from manila_lite.drivers.linux.options import OPTIONS, wants_directory
from manila_lite.drivers.linux.protocols import check
from manila_lite.drivers.linux.replication.network_moves import NetworkMoves
from manila_lite.drivers.linux.replication.share_replicas import TYPES
from manila_lite.drivers.linux.replication.share_server_migration import ServerMigrations
from manila_lite.drivers.passing_on import passes_on

#: Calls whose outcome a loss of power must not undo once they have ended: clients may have written to the new share, and what
#: was deleted or replaced must not come back.
_LASTING = frozenset(
    {
        'create_share',
        'create_share_from_snapshot',
        'revert_to_snapshot',
        'delete_share',
        'manage_share',
        'unmanage_share',
        'create_group_snapshot',
        'delete_snapshot',
        'manage_snapshot',
        'unmanage_snapshot',
        'create_replica',
        'delete_replica',
        'share_migration_cancel',
    }
)


@passes_on(
    {
        'create_share': 'shares.create',
        'delete_share': 'shares.delete',
        'update_access': 'access.update',
        'ensure_shares': 'ensuring.ensure',
        'inspect_shares': 'ensuring.inspect',
        'extend_share': 'shares.extend',
        'shrink_share': 'shares.shrink',
        'measure_usage': 'measuring.usage',
        'manage_share': 'managed_shares.manage',
        'unmanage_share': 'managed_shares.unmanage',
        'create_snapshot': 'snapshots.create',
        'delete_snapshot': 'snapshots.delete',
        'serve_snapshot': 'snapshots.serve',
        'create_share_from_snapshot': 'shares.create_from_snapshot',
        'revert_to_snapshot': 'shares.revert',
        'create_group_snapshot': 'snapshots.create_group',
        'manage_snapshot': 'managed_snapshots.manage',
        'unmanage_snapshot': 'managed_snapshots.unmanage',
        'held_servers': 'share_servers.held',
        'setup_server': 'server_setup.set_up',
        'ensure_servers': 'server_setup.ensure',
        'check_update_share_server_network_allocations': 'server_setup.check_subnet',
        'update_share_server_network_allocations': 'server_setup.add_subnet',
        'find_server': 'server_setup.find',
        'manage_server': 'server_setup.manage',
        'unmanage_server': 'server_setup.unmanage',
        'share_migration_check_compatibility': 'share_migrations.check',
        'share_migration_start': 'share_migrations.start',
        'share_migration_continue': 'share_migrations.proceed',
        'share_migration_get_progress': 'share_migrations.progress',
        'share_migration_complete': 'share_migrations.complete',
        'share_migration_cancel': 'share_migrations.cancel',
        'create_replica': 'replicas.create',
        'update_replica': 'replicas.update',
        'promote_replica': 'replicas.promote',
        'delete_replica': 'replicas.delete',
    },
    then='pool.commit',
    after=_LASTING,
)
class LinuxDriver(
    Resizes,
    MeasuresUsage,
    Snapshots,
    MountsSnapshots,
    Clones,
    Reverts,
    ConsistentSnapshots,
    ManagesSnapshots,
    SpansSubnets,
    AddsSubnets,
    ManagesServers,
    MigratesServers,
    MigratesShares,
    Replicates,
    BackupJobsDriver,
    LinuxLifecycle,
):
    """NFS and CIFS shares of this machine. Only ``manage_share`` has a driver option, ``size`` in GiB.

    NFS clients see the share's size in ``df``, CIFS clients that of the pool. The share's size is enforced (EDQUOT).
    """

    OPTIONS = OPTIONS
    ACCESS_TYPES: ClassVar[Mapping[str, Sequence[str]]] = {'NFS': ('ip',), 'CIFS': ('user',)}
    REPLICATION_TYPES = TYPES

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return missing requirements of this machine, with the package that provides each."""
        return [
            *check.problems(backend, needs_btrfs=not wants_directory(backend.conf)),
            *failover.problems(backend.conf),
        ]

    @property
    def copies(self) -> BackupJobs:
        return self.parts.backups

    def teardown_server(self, server: values.ShareServer) -> None:
        """Tear the server down, and delete the data that a migration of it took."""
        self.parts.server_migrations.clear_source(server.id)
        self.parts.share_servers.drop(server.id, server.security_services)

    # Share servers that come from another backend, or from this one into another share network -----

    def _moves(self, migration: values.ServerMigration) -> ServerMigrations | NetworkMoves:
        is_here = migration.source_host == self.backend.host
        return self.parts.network_moves if is_here else self.parts.server_migrations

    def share_server_migration_check_compatibility(
        self, migration: values.ServerMigration
    ) -> values.MigrationSupport:
        return self._moves(migration).check(migration)

    def share_server_migration_start(self, migration: values.ServerMigration) -> None:
        self._moves(migration).start(migration)

    def share_server_migration_continue(self, migration: values.ServerMigration) -> bool:
        return self._moves(migration).proceed(migration)

    def share_server_migration_get_progress(
        self, migration: values.ServerMigration
    ) -> values.MigrationProgress:
        return self._moves(migration).progress(migration)

    def share_server_migration_complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        return self._moves(migration).complete(migration)

    def share_server_migration_cancel(self, migration: values.ServerMigration) -> None:
        self._moves(migration).cancel(migration)
