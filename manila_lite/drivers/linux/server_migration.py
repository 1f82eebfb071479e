# SPDX-License-Identifier: Apache-2.0
"""Share servers come here from other linux backends. What is about their data is in ``copying.py``; here is the rest."""

import dataclasses
import time
from collections.abc import Callable

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.interface import Backend, MigratesServers, ShareDriver
from manila_lite.drivers.linux import btrfs, halting, locations, moving, peers
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.copying import Copy
from manila_lite.drivers.linux.following import Followers
from manila_lite.drivers.linux.left import SNAPSHOTS
from manila_lite.drivers.linux.peers import Talk
from manila_lite.drivers.linux.pool import GIB, Pool
from manila_lite.drivers.linux.run import CommandFailed
from manila_lite.drivers.linux.servers import SAFE_ID, LinuxServers

LOG = log.getLogger(__name__)


class LinuxServerMigration(LinuxServers, MigratesServers, ShareDriver):
    """The part of the driver that takes over servers. The source is reached through a peer, not its share manager."""

    backend: Backend
    _pool: Pool
    _followers: Followers

    def share_server_migration_check_compatibility(self, migration: kinds.ServerMigration) -> kinds.MigrationSupport:
        """The source is asked what there is to copy, and whether there is room for it is seen."""
        # The target may have no id yet; nothing is made under that of the source.
        planned = dataclasses.replace(migration, target=migration.source)
        if reason := self._objection(lambda: self._copy(planned), migration.source_host):
            return kinds.MigrationSupport(False, reason=reason)
        return kinds.MigrationSupport(True, writable=True, nondisruptive=False, preserve_snapshots=True,
                                      migration_cancel=True, migration_get_progress=True)

    def _objection(self, make: Callable[[], Copy], source_host: str) -> str:
        """Return why the copy cannot be made, as far as can be seen now, or nothing."""
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

    def _vet_migration(self, migration: kinds.ServerMigration) -> BtrfsPool:
        """Return the pool that the migration goes to.

        :raises errors.Final: it cannot go there; with the reason.
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

    def _copy(self, migration: kinds.ServerMigration) -> Copy:
        shares: dict[str, list[str]] = {share.id: [] for share in migration.shares}
        for snapshot in migration.snapshots:
            shares[snapshot.share.id].append(snapshot.id)
        return Copy(self._vet_migration(migration), peers.words(migration.source_host, self.backend.conf), migration.id, shares)

    # Phase one --------------------------------------------------------------------------------

    def share_server_migration_start(self, migration: kinds.ServerMigration) -> None:
        """The copy goes on by itself; there is nothing here yet that has the name of a share of the migration."""
        copy = self._copy(migration)
        if not copy.begun:
            self._must_be_free(self._vet_migration(migration), migration)
            copy.begin()
        self._followers.look(migration.id, lambda: copy)

    def _must_be_free(self, pool: BtrfsPool, migration: kinds.ServerMigration) -> None:
        """Leftovers of an earlier stay would be taken for what was copied."""
        there = [share.id for share in migration.shares if pool.share(share.id).exists()]
        there += [snapshot.id for snapshot in migration.snapshots if pool.snapshot(snapshot.id).exists()]
        if there:
            raise errors.Final(f'This backend has data of {", ".join(there)} from before.')

    def share_server_migration_continue(self, migration: kinds.ServerMigration) -> bool:
        """The copy goes on. Once it is near, the NFS server that is to take over runs already, where nobody reaches it."""
        if not self._followers.look(migration.id, lambda: self._copy(migration)):
            return False
        self._servers.prepare(migration.target.id)
        return True

    def share_server_migration_get_progress(self, migration: kinds.ServerMigration) -> kinds.MigrationProgress:
        """Bytes are those of the pool at the source, where what shares and snapshots have in common counts once."""
        return self._followers.progress(migration.id)

    def share_server_migration_cancel(self, migration: kinds.ServerMigration) -> None:
        """No stream runs, and neither side has anything that was made for it.

        :raises errors.Final: the cut-over has begun: what is here may be all that there is.
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

    def share_server_migration_complete(self, migration: kinds.ServerMigration) -> kinds.MigratedServer:
        """The source is halted, the last words come over, and the target serves; its addresses come last."""
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
        return kinds.MigratedServer(
            details, {share.id: tuple(locations.on(share, migration.target)) for share in migration.shares},
            {snapshot.id: f'/{SNAPSHOTS}/{snapshot.id}' for snapshot in migration.snapshots})

    def _bring(self, migration: kinds.ServerMigration, copy: Copy, landed: bool) -> float:
        """All data is here, in its place, as it was when the source was halted. Returns when that was begun."""
        copy.begin()
        if not landed:
            copy.approach()     # the operator may have waited for days
        self._servers.prepare(migration.target.id)
        with copy.talk() as talk:
            copy.look(talk)     # the other end is there before anybody has to wait for it
            began = time.monotonic()
            before = talk.ask('halt', migration=migration.id, server=migration.source.id)['before']
            if landed and not before:
                copy.take_back()    # clients wrote at the source since: an operator had resumed it
            self._last_words(migration, copy, talk)
        return began

    def _last_words(self, migration: kinds.ServerMigration, copy: Copy, talk: Talk) -> None:
        if not all(copy.landed(share.id) for share in migration.shares):
            copy.round(talk)
            copy.land({share.id: share.size for share in migration.shares})

    def _tidy(self, copy: Copy) -> None:
        """What only the copy needed is gone; at a source that is not there, it goes when the server is torn down."""
        if not copy.begun:
            return
        try:
            with copy.talk() as talk:
                copy.clear(talk)
        except (errors.Final, CommandFailed, OSError) as bad:
            LOG.warning('What was copied stays at the source until the share server there is torn down: %s', bad)
        copy.clear_here()

    def teardown_server(self, server: kinds.ShareServer) -> None:
        """Also what was taken when the server went away is gone."""
        migration = halting.by(self._servers.folder(server.id))
        if migration:
            moving.Folder(self._pool.root, migration).clear()
        super().teardown_server(server)

    def shutdown(self) -> None:
        """No copy goes on."""
        self._followers.end_all()
