# SPDX-License-Identifier: Apache-2.0
"""Migration of single shares from other linux backends, with or without share servers. ``replication.py`` copies the
data.

No client writes during a migration: the rules are read-only from before the first round until the end. So nothing needs
to be halted at the source, whose share manager goes on serving. A last round at the cut-over makes the copy exact.
"""

from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import migration_source, peer_session
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import POOL, ShareExports
from manila_lite.drivers.linux.shares.snapshots import provider_location
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.host.ids import SAFE_ID


class _Renamed(BtrfsPool):
    """A pool in which one share has another name than at its source."""

    def __init__(self, pool: BtrfsPool, source: str, target: str):
        vars(self).update(vars(pool))
        self._names = {source: target}

    def share(self, share_id: str) -> Path:
        return super().share(self._names.get(share_id, share_id))

    def keep(self, share_id: str, source: Path, size: int) -> None:
        super().keep(self._names.get(share_id, share_id), source, size)


class ShareMigrations:
    """The migrations of single shares to one backend. ``host``: the backend, as ``host@backend``."""

    def __init__(
        self,
        host: str,
        conf: LinuxOptions,
        *,
        storage: Storage,
        exports: ShareExports,
        access: ShareAccess,
        copies: CopySupervisor,
    ):
        self._host = host
        self._conf = conf
        self._storage = storage
        self._exports = exports
        self._access = access
        self._copies = copies

    def check(self, migration: values.ShareMigration) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        if reason := migration_source.objection(
            self._storage.pool, lambda: self._copy(migration), migration.source_host
        ):
            return values.MigrationSupport(False, reason=reason)
        return values.MigrationSupport(
            True,
            writable=False,
            nondisruptive=False,
            preserve_snapshots=True,
            migration_cancel=True,
            migration_get_progress=True,
        )

    def _copy(self, migration: values.ShareMigration) -> BtrfsCopy:
        """Return the copy of the share.

        :raises errors.Final: the share cannot move to this backend; with the reason.
        """
        pool = self._storage.pool
        if not isinstance(pool, BtrfsPool):
            raise errors.Final('The pool of this backend is a plain directory.')
        if migration.source_host == self._host:
            raise errors.Final('The share is on this backend already, which has one pool.')
        if migration.target.pool != POOL or migration.target.proto not in self._exports.protocols:
            raise errors.Final(
                f'This backend has no pool {migration.target.pool} for {migration.target.proto}.'
            )
        snapshot_ids = [snapshot.id for snapshot in migration.snapshots]
        for resource_id in (migration.id, migration.source.id, *snapshot_ids):
            if not SAFE_ID.fullmatch(resource_id):
                raise errors.Final(f'{resource_id!r} is not an id.')
        return BtrfsCopy(
            _Renamed(pool, migration.source.id, migration.id),
            peer_session.command(migration.source_host, self._conf),
            migration.id,
            {migration.source.id: snapshot_ids},
        )

    # Phase one --------------------------------------------------------------------------------

    def start(self, migration: values.ShareMigration) -> None:
        """Start the copy in the background. No snapshot of the share may exist here yet."""
        copy = self._copy(migration)
        if not copy.begun:
            existing = [
                snapshot.id
                for snapshot in migration.snapshots
                if self._storage.btrfs.snapshot(snapshot.id).exists()
            ]
            if existing:
                raise errors.Final(f'This backend has old data of {", ".join(existing)}.')
            copy.begin()
        self._copies.poll(migration.id, lambda: copy)

    def proceed(self, migration: values.ShareMigration) -> bool:
        """Continue the copy. Returns whether it is close to the source."""
        return self._copies.poll(migration.id, lambda: self._copy(migration))

    def progress(self, migration: values.ShareMigration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool, where data common to share and snapshots counts once."""
        return self._copies.progress(migration.id)

    def cancel(self, migration: values.ShareMigration) -> None:
        """Stop the copy, and remove its data at both sides.

        :raises errors.Final: the cut-over has begun.
        """
        self._copies.end(migration.id)
        copy = self._copy(migration)
        if copy.landed(migration.source.id):
            raise errors.Final(f'Migration {migration.id} can no longer be cancelled.')
        copy.clear_here()
        with copy.session() as session:
            copy.clear(session)

    # Phase two --------------------------------------------------------------------------------

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
        migration_source.tidy(copy)
        return values.MigratedShare(
            tuple(self._exports.locations(migration.target)),
            {snapshot.id: provider_location(snapshot.id) for snapshot in migration.snapshots},
        )
