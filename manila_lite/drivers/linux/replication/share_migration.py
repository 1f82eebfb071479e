# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares from other linux backends, with or without share servers. ``copying.py`` copies the data.

No client writes during a migration: the rules are read-only from before the first round until the end. So nothing needs
to be halted at the source, whose share manager goes on serving. A last round at the cut-over makes the copy exact.
"""

from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.interface import MigratesShares
from manila_lite.drivers.linux.ids import SAFE_ID
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.unmanaged import SNAPSHOTS
from manila_lite.drivers.linux.protocols import export_locations
from manila_lite.drivers.linux.replication import peer_session
from manila_lite.drivers.linux.replication.replication import Copy
from manila_lite.drivers.linux.replication.server_migration import LinuxServerMigration

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
    """The part of the driver that receives single shares."""

    def share_migration_check_compatibility(self, migration: values.ShareMigration) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        if reason := self._objection(lambda: self._copy_of(migration), migration.source_host):
            return values.MigrationSupport(False, reason=reason)
        return values.MigrationSupport(True, writable=False, nondisruptive=False, preserve_snapshots=True,
                                      migration_cancel=True, migration_get_progress=True)

    def _copy_of(self, migration: values.ShareMigration) -> Copy:
        """Return the copy of the share.

        :raises errors.Final: the share cannot move to this backend; with the reason.
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
                    peer_session.words(migration.source_host, self.backend.conf), migration.id, {migration.source.id: taken})

    # Phase one --------------------------------------------------------------------------------

    def share_migration_start(self, migration: values.ShareMigration) -> None:
        """Start the copy in the background. No snapshot of the share may exist here yet."""
        copy = self._copy_of(migration)
        if not copy.begun:
            there = [snapshot.id for snapshot in migration.snapshots
                     if isinstance(self._pool, BtrfsPool) and self._pool.snapshot(snapshot.id).exists()]
            if there:
                raise errors.Final(f'This backend has data of {", ".join(there)} from before.')
            copy.begin()
        self._followers.look(migration.id, lambda: copy)

    def share_migration_continue(self, migration: values.ShareMigration) -> bool:
        """Continue the copy."""
        return self._followers.look(migration.id, lambda: self._copy_of(migration))

    def share_migration_get_progress(self, migration: values.ShareMigration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool, where data common to share and snapshots counts once."""
        return self._followers.progress(migration.id)

    def share_migration_cancel(self, migration: values.ShareMigration) -> None:
        """Stop the copy, and remove its data at both sides.

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

    def share_migration_complete(self, migration: values.ShareMigration) -> values.MigratedShare:
        """Bring the changes since the last round, and serve the target."""
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
        found = (export_locations.on(migration.target, migration.target.server) if migration.target.server
                 else export_locations.at(migration.target, map(str, self.backend.conf.linux_export_ips)))
        return values.MigratedShare(tuple(found), {snapshot.id: f'/{SNAPSHOTS}/{snapshot.id}'
                                                  for snapshot in migration.snapshots})
