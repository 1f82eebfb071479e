# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers from other linux backends. ``replication.py`` copies their data; this module does the rest.

It reaches the source through a peer, not its share manager.
"""

import dataclasses
import time

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import (
    migration_source,
    peer_session,
    receiving_server,
    transfer_folder,
)
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.peer_session import PeerSession
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage

LOG = log.getLogger(__name__)


class ServerMigrations:
    """The migrations of share servers to one backend from others. Those within the backend are ``NetworkMoves``."""

    def __init__(
        self,
        conf: LinuxOptions,
        *,
        storage: Storage,
        exports: ShareExports,
        access: ShareAccess,
        servers: ShareServers,
        setup: ServerSetup,
        copies: CopySupervisor,
    ):
        self._conf = conf
        self._storage = storage
        self._exports = exports
        self._access = access
        self._servers = servers
        self._setup = setup
        self._copies = copies

    def check(self, migration: values.ServerMigration) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        # The target may have no id yet, so the source's id is used; nothing is created under it.
        planned = dataclasses.replace(migration, target=migration.source)
        if reason := migration_source.objection(
            self._storage.pool, lambda: self._copy(planned), migration.source_host
        ):
            return values.MigrationSupport(False, reason=reason)
        return values.MigrationSupport(
            True,
            writable=True,
            nondisruptive=False,
            preserve_snapshots=True,
            migration_cancel=True,
            migration_get_progress=True,
        )

    def _pool_for(self, migration: values.ServerMigration) -> BtrfsPool:
        """Return the destination pool of the migration.

        :raises errors.Final: the server cannot move to this backend; with the reason.
        """
        pool = self._storage.pool
        if not isinstance(pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        receiving_server.vet(migration, self._exports.protocols)
        return pool

    def _copy(self, migration: values.ServerMigration) -> BtrfsCopy:
        snapshot_ids: dict[str, list[str]] = {share.id: [] for share in migration.shares}
        for snapshot in migration.snapshots:
            snapshot_ids[snapshot.share.id].append(snapshot.id)
        return BtrfsCopy(
            self._pool_for(migration),
            peer_session.command(migration.source_host, self._conf),
            migration.id,
            snapshot_ids,
        )

    # Phase one --------------------------------------------------------------------------------

    def start(self, migration: values.ServerMigration) -> None:
        """Start the copy in the background. No share of the migration may exist here yet."""
        copy = self._copy(migration)
        if not copy.begun:
            self._must_be_free(self._pool_for(migration), migration)
            copy.begin()
        self._copies.poll(migration.id, lambda: copy)

    def _must_be_free(self, pool: BtrfsPool, migration: values.ServerMigration) -> None:
        """Refuse to start if the pool has old data of these shares or snapshots, which would be taken for copied data."""
        existing = [share.id for share in migration.shares if pool.share(share.id).exists()]
        existing += [snapshot.id for snapshot in migration.snapshots if pool.snapshot(snapshot.id).exists()]
        if existing:
            raise errors.Final(f'This backend has old data of {", ".join(existing)}.')

    def proceed(self, migration: values.ServerMigration) -> bool:
        """Continue the copy. When it is close to the source, start the target's file servers, still unreachable for
        clients. Returns whether it is.
        """
        if not self._copies.poll(migration.id, lambda: self._copy(migration)):
            return False
        self._servers.prepare(migration.target.id)
        return True

    def progress(self, migration: values.ServerMigration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool, where data common to shares and snapshots counts once."""
        return self._copies.progress(migration.id)

    def cancel(self, migration: values.ServerMigration) -> None:
        """Stop the copy, and remove its data at both sides.

        :raises errors.Final: the cut-over has begun: the data here may be the only valid one.
        """
        self._copies.end(migration.id)
        copy = self._copy(migration)
        if any(copy.landed(share.id) for share in migration.shares):
            raise errors.Final(f'Migration {migration.id} can no longer be cancelled.')
        self._servers.drop(migration.target.id)
        copy.clear_here()
        with copy.session() as session:
            copy.clear(session)

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
        btrfs.sync(self._pool_for(migration).root)  # before clients work with it, and the source may go
        moved = receiving_server.serve(migration, self._access, self._setup)
        LOG.info(
            'Migration %s: the shares were not served for %.2f s', migration.id, time.monotonic() - began
        )
        migration_source.tidy(copy)
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
            self._bring_last_round(migration, copy, session)
        return began

    def _bring_last_round(
        self, migration: values.ServerMigration, copy: BtrfsCopy, session: PeerSession
    ) -> None:
        if not all(copy.landed(share.id) for share in migration.shares):
            copy.round(session)
            copy.land({share.id: share.size for share in migration.shares})

    # At the source ----------------------------------------------------------------------------

    def clear_source(self, server_id: str) -> None:
        """Delete the data that a migration of this server took here, if there was one."""
        if migration_id := fencing.by(self._servers.folder(server_id)):
            transfer_folder.Folder(self._storage.pool.root, migration_id).clear()
