# SPDX-License-Identifier: Apache-2.0
"""Migration of share servers from other linux backends. ``copying.py`` copies their data; this module does the rest."""

import dataclasses
import time
from collections.abc import Callable

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.interface import Backend, MigratesServers, ShareDriver
from manila_lite.drivers.linux.ids import SAFE_ID
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.base import GIB, Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.protocols import export_locations, fencing
from manila_lite.drivers.linux.replication import peer_session, transfer_folder
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.peer_session import PeerSession
from manila_lite.drivers.linux.replication.replication import Copy
from manila_lite.drivers.linux.servers.share_servers import LinuxServers
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class LinuxServerMigration(LinuxServers, MigratesServers, ShareDriver):
    """The part of the driver that receives share servers. It reaches the source through a peer, not its share manager."""

    backend: Backend
    _pool: Pool
    _followers: CopySupervisor

    def share_server_migration_check_compatibility(self, migration: values.ServerMigration) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        # The target may have no id yet, so the source's id is used; nothing is created under it.
        planned = dataclasses.replace(migration, target=migration.source)
        if reason := self._objection(lambda: self._copy(planned), migration.source_host):
            return values.MigrationSupport(False, reason=reason)
        return values.MigrationSupport(True, writable=True, nondisruptive=False, preserve_snapshots=True,
                                      migration_cancel=True, migration_get_progress=True)

    def _objection(self, make: Callable[[], Copy], source_host: str) -> str:
        """Return the reason why the copy cannot be made, as far as is known now, or ''."""
        try:
            copy = make()
            with copy.talk() as talk:
                copy.look(talk)
        except (errors.Final, CommandFailed, OSError) as bad:
            return f'{source_host}: {bad}'
        free = self._pool.capacity()[1]
        if copy.total > free * GIB:
            return f'There are {copy.total / GIB:.2f} GiB to copy, and {free:.2f} free.'
        return ''

    def _vet_migration(self, migration: values.ServerMigration) -> BtrfsPool:
        """Return the destination pool of the migration.

        :raises errors.Final: the server cannot move to this backend; with the reason.
        """
        if not isinstance(self._pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        if migration.source_host == self.backend.host:
            raise errors.Final('The share server is on this backend already.')
        if unserved := sorted({share.proto for share in migration.shares} - self.PROTOCOLS):
            raise errors.Final(f'This backend does not serve {", ".join(unserved)}.')
        for ident in (migration.id, migration.source.id, *(share.id for share in migration.shares),
                      *(snapshot.id for snapshot in migration.snapshots)):
            if not SAFE_ID.fullmatch(ident):
                raise errors.Final(f'{ident!r} is no id.')
        return self._pool

    def _copy(self, migration: values.ServerMigration) -> Copy:
        shares: dict[str, list[str]] = {share.id: [] for share in migration.shares}
        for snapshot in migration.snapshots:
            shares[snapshot.share.id].append(snapshot.id)
        return Copy(self._vet_migration(migration), peer_session.words(migration.source_host, self.backend.conf), migration.id,
                    shares)

    # Phase one --------------------------------------------------------------------------------

    def share_server_migration_start(self, migration: values.ServerMigration) -> None:
        """Start the copy in the background. No share of the migration may exist here yet."""
        copy = self._copy(migration)
        if not copy.begun:
            self._must_be_free(self._vet_migration(migration), migration)
            copy.begin()
        self._followers.look(migration.id, lambda: copy)

    def _must_be_free(self, pool: BtrfsPool, migration: values.ServerMigration) -> None:
        """Refuse to start if the pool has old data of these shares or snapshots, which would be taken for copied data."""
        there = [share.id for share in migration.shares if pool.share(share.id).exists()]
        there += [snapshot.id for snapshot in migration.snapshots if pool.snapshot(snapshot.id).exists()]
        if there:
            raise errors.Final(f'This backend has data of {", ".join(there)} from before.')

    def share_server_migration_continue(self, migration: values.ServerMigration) -> bool:
        """Continue the copy. When it is close to the source, start the target's file servers, still unreachable for
        clients.
        """
        if not self._followers.look(migration.id, lambda: self._copy(migration)):
            return False
        self._servers.prepare(migration.target.id)
        return True

    def share_server_migration_get_progress(self, migration: values.ServerMigration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool, where data common to shares and snapshots counts once."""
        return self._followers.progress(migration.id)

    def share_server_migration_cancel(self, migration: values.ServerMigration) -> None:
        """Stop the copy, and remove its data at both sides.

        :raises errors.Final: the cut-over has begun: the data here may be the only valid one.
        """
        self._followers.end(migration.id)
        copy = self._copy(migration)
        if any(copy.landed(share.id) for share in migration.shares):
            raise errors.Final(f'Migration {migration.id} is past the point where it can be called off.')
        self._servers.drop(migration.target.id)
        copy.clear_here()
        with copy.talk() as talk:
            copy.clear(talk)

    # Phase two --------------------------------------------------------------------------------

    def share_server_migration_complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        """Halt the source, bring its last changes, and serve from the target, which gets its addresses last."""
        self._followers.end(migration.id)
        copy = self._copy(migration)
        landed = [copy.landed(share.id) for share in migration.shares]
        began = time.monotonic()
        if not all(landed) or copy.begun:
            began = self._bring(migration, copy, any(landed))
        self._servers.prepare(migration.target.id)
        for share in migration.shares:
            here = dataclasses.replace(share, pool=migration.pool, server=migration.target)
            self.update_access(here, migration.rules.get(share.id, ()))
        details = self.setup_server(migration.target)
        LOG.info('Migration %s: nobody served for %.2f s', migration.id, time.monotonic() - began)
        btrfs.sync(self._vet_migration(migration).root)
        self._tidy(copy)
        return values.MigratedServer(
            details, {share.id: tuple(export_locations.on(share, migration.target)) for share in migration.shares},
            {snapshot.id: f'/{SNAPSHOTS}/{snapshot.id}' for snapshot in migration.snapshots})

    def _bring(self, migration: values.ServerMigration, copy: Copy, landed: bool) -> float:
        """Bring all data to its place here, as it was when the source was halted. Returns the time of the halt."""
        copy.begin()
        if not landed:
            copy.approach()     # the first phase may have ended days ago
        self._servers.prepare(migration.target.id)
        with copy.talk() as talk:
            copy.look(talk)     # connects to the peer before clients have to wait for it
            began = time.monotonic()
            before = talk.ask('halt', migration=migration.id, server=migration.source.id)['before']
            if landed and not before:
                copy.take_back()    # an operator resumed the source, and clients wrote there since
            self._last_words(migration, copy, talk)
        return began

    def _last_words(self, migration: values.ServerMigration, copy: Copy, talk: PeerSession) -> None:
        if not all(copy.landed(share.id) for share in migration.shares):
            copy.round(talk)
            copy.land({share.id: share.size for share in migration.shares})

    def _tidy(self, copy: Copy) -> None:
        """Delete the copy's data. If the source cannot be reached, its part goes when the server there is torn down."""
        if not copy.begun:
            return
        try:
            with copy.talk() as talk:
                copy.clear(talk)
        except (errors.Final, CommandFailed, OSError) as bad:
            LOG.warning('What was copied stays at the source until the share server there is torn down: %s', bad)
        copy.clear_here()

    def teardown_server(self, server: values.ShareServer) -> None:
        """Tear the server down, and delete the data that a migration of it took."""
        migration = fencing.by(self._servers.folder(server.id))
        if migration:
            transfer_folder.Folder(self._pool.root, migration).clear()
        super().teardown_server(server)

    def shutdown(self) -> None:
        """Stop all copies."""
        self._followers.end_all()
