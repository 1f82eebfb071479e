# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers from other linux backends."""

import dataclasses
import time
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import migrations, receiving_server, transfer_folder
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.servers.share_servers import ShareServers

LOG = log.getLogger(__name__)


class ServerMigrations(migrations.Migrations[values.ServerMigration]):
    """The migrations of share servers to one backend from others. Those within the backend are ``NetworkMoves``."""

    WRITABLE = True

    def __init__(self, *backend: Any, servers: ShareServers, setup: ServerSetup, **services: Any):
        super().__init__(*backend, **services)
        self._servers = servers
        self._setup = setup

    def check(self, migration: values.ServerMigration) -> values.MigrationSupport:
        # The target may have no id yet, so the source's id is used; nothing is created under it.
        return super().check(dataclasses.replace(migration, target=migration.source))

    def _pool_for(self, migration: values.ServerMigration) -> BtrfsPool:
        if not isinstance(self._storage.pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        receiving_server.vet(migration, self._exports.protocols)
        return self._storage.pool

    def _moving(self, migration: values.ServerMigration) -> dict[str, list[str]]:
        snapshot_ids: dict[str, list[str]] = {share.id: [] for share in migration.shares}
        for snapshot in migration.snapshots:
            snapshot_ids[snapshot.share.id].append(snapshot.id)
        return snapshot_ids

    def proceed(self, migration: values.ServerMigration) -> bool:
        """Continue the copy. When it is close to the source, start the target's file servers, still unreachable for
        clients. Returns whether it is.
        """
        is_near = super().proceed(migration)
        if is_near:
            self._servers.prepare(migration.target.id)
        return is_near

    def _drop_target(self, migration: values.ServerMigration) -> None:
        self._servers.drop(migration.target.id)

    # Phase two --------------------------------------------------------------------------------

    def complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        """Halt the source, bring its last changes, and serve from the target, which gets its addresses last."""
        self._copies.end(migration.id)
        copy = self._copy(migration)
        landed = [copy.landed(share.id) for share in migration.shares]
        began = time.monotonic()
        if not all(landed) or copy.begun:
            began = self._bring(migration, copy, any(landed))
        self._servers.prepare(migration.target.id)
        btrfs.sync(self._storage.pool.root)  # before clients work with it, and the source may go
        moved = receiving_server.serve(migration, self._access, self._setup)
        LOG.info(
            'Migration %s: the shares were not served for %.2f s', migration.id, time.monotonic() - began
        )
        migrations.tidy(copy)
        return moved

    def _bring(self, migration: values.ServerMigration, copy: BtrfsCopy, landed: bool) -> float:
        """Bring all data to its place here, as it was when the source was halted. Returns the time of the halt."""
        copy.begin()
        if not landed:
            copy.approach()  # the first phase may have ended days ago
        self._servers.prepare(migration.target.id)
        with copy.session() as session:
            copy.inspect_source(session)  # connects to the peer before clients have to wait for it
            began = time.monotonic()
            before = session.ask('halt', migration=migration.id, server=migration.source.id)['before']
            if landed and not before:
                copy.take_back()  # an operator resumed the source, and clients wrote there since
            if not all(copy.landed(share.id) for share in migration.shares):
                copy.round(session)
                copy.land({share.id: share.size for share in migration.shares})
        return began

    # At the source ----------------------------------------------------------------------------

    def clear_source(self, server_id: str) -> None:
        """Delete the data that a migration of this server took here, if there was one."""
        if migration_id := fencing.by(self._servers.folder(server_id)):
            transfer_folder.Folder(self._storage.pool.root, migration_id).clear()
