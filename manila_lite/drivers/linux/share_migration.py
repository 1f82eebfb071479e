# SPDX-License-Identifier: Apache-2.0
"""Single shares come here from other linux backends, with or without share servers. The data: ``copying.py``.

Nobody writes meanwhile: the rules are read-only from before the first round until the end. So nothing needs to be halted
at the source, whose share manager goes on serving, and a last round at the cut-over makes the copy exact.
"""

from pathlib import Path

from manila_lite import errors, kinds
from manila_lite.drivers.interface import MigratesShares
from manila_lite.drivers.linux import btrfs, locations, peers
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.copying import Copy
from manila_lite.drivers.linux.left import SNAPSHOTS
from manila_lite.drivers.linux.server_migration import LinuxServerMigration
from manila_lite.drivers.linux.servers import SAFE_ID

_POOL = 'pool'


class _Renamed(BtrfsPool):
    """A pool in which one share has another name than at its source."""

    def __init__(self, pool: BtrfsPool, source: str, target: str):
        vars(self).update(vars(pool))
        self._names = {source: target}

    def share(self, ident: str) -> Path:
        return super().share(self._names.get(ident, ident))

    def keep(self, ident: str, source: Path, size: int) -> None:
        super().keep(self._names.get(ident, ident), source, size)


class LinuxShareMigration(LinuxServerMigration, MigratesShares):
    """The part of the driver that takes over single shares."""

    def share_migration_check_compatibility(self, migration: kinds.ShareMigration) -> kinds.MigrationSupport:
        """The source is asked what there is to copy, and whether there is room for it is seen."""
        if reason := self._objection(lambda: self._copy_of(migration), migration.source_host):
            return kinds.MigrationSupport(False, reason=reason)
        return kinds.MigrationSupport(True, writable=False, nondisruptive=False, preserve_snapshots=True,
                                      migration_cancel=True, migration_get_progress=True)

    def _copy_of(self, migration: kinds.ShareMigration) -> Copy:
        """Return the copy.

        :raises errors.Final: the share cannot come here; with the reason.
        """
        if not isinstance(self._pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        if migration.source_host == self.backend.host:
            raise errors.Final('The share is on this backend already, which has one pool.')
        if migration.target.pool != _POOL or migration.target.proto not in self.PROTOCOLS:
            raise errors.Final(f'This backend has no pool {migration.target.pool} for {migration.target.proto}.')
        taken = [snapshot.id for snapshot in migration.snapshots]
        for ident in (migration.id, migration.source.id, *taken):
            if not SAFE_ID.fullmatch(ident):
                raise errors.Final(f'{ident!r} is no id.')
        return Copy(_Renamed(self._pool, migration.source.id, migration.id),
                    peers.words(migration.source_host, self.backend.conf), migration.id, {migration.source.id: taken})

    # Phase one --------------------------------------------------------------------------------

    def share_migration_start(self, migration: kinds.ShareMigration) -> None:
        """The copy goes on by itself; there is nothing here yet that has the name of a snapshot of the share."""
        copy = self._copy_of(migration)
        if not copy.begun:
            there = [snapshot.id for snapshot in migration.snapshots
                     if isinstance(self._pool, BtrfsPool) and self._pool.snapshot(snapshot.id).exists()]
            if there:
                raise errors.Final(f'This backend has data of {", ".join(there)} from before.')
            copy.begin()
        self._followers.look(migration.id, lambda: copy)

    def share_migration_continue(self, migration: kinds.ShareMigration) -> bool:
        """The copy goes on."""
        return self._followers.look(migration.id, lambda: self._copy_of(migration))

    def share_migration_get_progress(self, migration: kinds.ShareMigration) -> kinds.MigrationProgress:
        """Bytes are those of the pool at the source, where what share and snapshots have in common counts once."""
        return self._followers.progress(migration.id)

    def share_migration_cancel(self, migration: kinds.ShareMigration) -> None:
        """No stream runs, and neither side has anything that was made for it.

        :raises errors.Final: the cut-over has begun.
        """
        self._followers.end(migration.id)
        copy = self._copy_of(migration)
        if copy.landed(migration.source.id):
            raise errors.Final(f'Migration {migration.id} is past the point where it can be called off.')
        copy.clear_here()
        with copy.talk() as talk:
            copy.clear(talk)

    # Phase two --------------------------------------------------------------------------------

    def share_migration_complete(self, migration: kinds.ShareMigration) -> kinds.MigratedShare:
        """What is new since the last round comes over, and the target is served."""
        self._followers.end(migration.id)
        copy, source = self._copy_of(migration), migration.source
        if not copy.landed(source.id):
            copy.begin()
            with copy.talk() as talk:
                copy.round(talk)
            copy.land({source.id: source.size})
        self.update_access(migration.target, migration.rules)
        if isinstance(self._pool, BtrfsPool):
            btrfs.sync(self._pool.root)
        self._tidy(copy)
        found = (locations.on(migration.target, migration.target.server) if migration.target.server
                 else locations.at(migration.target, map(str, self.backend.conf.linux_export_ips)))
        return kinds.MigratedShare(tuple(found), {snapshot.id: f'/{SNAPSHOTS}/{snapshot.id}'
                                                  for snapshot in migration.snapshots})
