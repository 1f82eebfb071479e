# SPDX-License-Identifier: Apache-2.0
"""Migration of a single share from another dummy on the same host, or from another pool of the same dummy."""

from collections.abc import Iterable

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.base import DummyBase
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.store import ShareRecord, Store

_GIB = 1 << 30


class DummyShareMigration(DummyBase, interface.MigratesShares):
    """Each call to continue brings one snapshot, and the last one the share. Later changes follow at the cut-over."""

    @knobbed
    def share_migration_check_compatibility(
        self, migration: values.ShareMigration
    ) -> values.MigrationSupport:
        reason = self._objection_to(migration)
        if reason:
            return values.MigrationSupport(False, reason=reason)
        # Snapshots keep their ids, and a store has each id only once.
        return values.MigrationSupport(
            True,
            writable=self.conf.dummy_writable_migration,
            migration_get_progress=True,
            migration_cancel=self.conf.dummy_cancellable_migration,
            preserve_snapshots=not (migration.snapshots and self._from_here(migration)),
        )

    def _objection_to(self, migration: values.ShareMigration) -> str:
        if not self._home_of(migration).shares.folder.is_dir():
            return f'This backend cannot read the data of {migration.source_host}.'
        if migration.target.pool not in self.conf.dummy_pools:
            return f'This backend has no pool {migration.target.pool}.'
        if migration.target.proto.upper() not in self.PROTOCOLS:
            return f'This backend does not serve {migration.target.proto}.'
        return ''

    @knobbed
    def share_migration_start(self, migration: values.ShareMigration) -> None:
        if reason := self._objection_to(migration):
            raise errors.Final(reason)
        self._home_of(migration).share(migration.source.id)

    @knobbed
    def share_migration_continue(self, migration: values.ShareMigration) -> bool:
        missing = self._not_here(self.store.snapshots, migration.snapshots)
        if missing:
            self._take_snapshots(migration, missing[:1])
        else:
            self._take(migration)
        return not missing

    @knobbed
    def share_migration_get_progress(self, migration: values.ShareMigration) -> values.MigrationProgress:
        total = migration.source.size + sum(snapshot.size for snapshot in migration.snapshots)
        left = sum(one.size for one in self._not_here(self.store.snapshots, migration.snapshots))
        left += migration.source.size if self._not_here(self.store.shares, [migration.target]) else 0
        return values.MigrationProgress(100 * (total - left) // total, (total - left) * _GIB, total * _GIB)

    @knobbed
    def share_migration_complete(self, migration: values.ShareMigration) -> values.MigratedShare:
        home = self._home_of(migration)
        with home.locked():
            record = home.share(migration.source.id)
            record.exported, record.rules = False, {}
            home.shares.put(record)
        self._take_snapshots(migration, migration.snapshots)
        record = self._take(migration)
        with self.store.locked():
            self._enforce(record, migration.rules)
        return values.MigratedShare(
            tuple(self._locations(migration.target, record)),
            {snapshot.id: f'/snapshots/{snapshot.id}' for snapshot in migration.snapshots},
        )

    @knobbed
    def share_migration_cancel(self, migration: values.ShareMigration) -> None:
        with self.store.locked():
            if not self._from_here(migration):
                for snapshot in migration.snapshots:
                    self.store.snapshots.drop(snapshot.id)
            self.store.shares.drop(migration.target.id)

    def _from_here(self, migration: values.ShareMigration) -> bool:
        return migration.source_host == self.backend.host

    def _home_of(self, migration: values.ShareMigration) -> Store:
        if self._from_here(migration):
            return self.store
        return self.store.neighbour(migration.source_host)

    def _take_snapshots(self, migration: values.ShareMigration, snapshots: Iterable[values.Snapshot]) -> None:
        self._bring_snapshots(self._home_of(migration), snapshots, share_id=migration.target.id)

    def _take(self, migration: values.ShareMigration) -> ShareRecord:
        target = migration.target
        return self._bring(
            self._home_of(migration),
            migration.source.id,
            id=target.id,
            pool=target.pool,
            path=target.mount_point_name or target.id,
            server=target.server.id if target.server else None,
        )
