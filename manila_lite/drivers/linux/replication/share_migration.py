# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares from other linux backends, with or without share servers.

No client writes during a migration: the rules are read-only from before the first round until the end. So nothing needs
to be halted at the source, whose share manager goes on serving. A last round at the cut-over makes the copy exact.
"""

from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import migrations
from manila_lite.drivers.linux.shares.exports import POOL
from manila_lite.drivers.linux.shares.snapshots import provider_location


class _Renamed(BtrfsPool):
    """A pool in which one share has another name than at its source."""

    def __init__(self, pool: BtrfsPool, source: str, target: str):
        vars(self).update(vars(pool))
        self._names = {source: target}

    def share(self, share_id: str) -> Path:
        return super().share(self._names.get(share_id, share_id))

    def keep(self, share_id: str, source: Path, size: int) -> None:
        super().keep(self._names.get(share_id, share_id), source, size)


class ShareMigrations(migrations.Migrations[values.ShareMigration]):
    """The migrations of single shares to one backend."""

    WRITABLE = False

    def _pool_for(self, migration: values.ShareMigration) -> BtrfsPool:
        if not isinstance(self._storage.pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        if migration.source_host == self._host:
            raise errors.Final('The share is on this backend already, which has one pool.')
        if migration.target.pool != POOL or migration.target.proto not in self._exports.protocols:
            raise errors.Final(
                f'This backend has no pool {migration.target.pool} for {migration.target.proto}.'
            )
        return _Renamed(self._storage.pool, migration.source.id, migration.id)

    def _moving(self, migration: values.ShareMigration) -> dict[str, list[str]]:
        return {migration.source.id: [snapshot.id for snapshot in migration.snapshots]}

    def complete(self, migration: values.ShareMigration) -> values.MigratedShare:
        """Bring the changes since the last round, and serve the target."""
        self._copies.end(migration.id)
        copy, source = self._copy(migration), migration.source
        if not copy.landed(source.id):
            copy.begin()
            with copy.session() as session:
                copy.round(session)
            copy.land({source.id: source.size})
        btrfs.sync(self._storage.pool.root)  # before clients work with it, and the source may go
        self._access.update(migration.target, migration.rules)
        migrations.tidy(copy)
        return values.MigratedShare(
            tuple(self._exports.locations(migration.target)),
            {snapshot.id: provider_location(snapshot.id) for snapshot in migration.snapshots},
        )
