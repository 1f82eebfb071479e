# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server from another dummy on the same host: some shares at a time, with the state on disk."""

import math
from collections.abc import Sequence

from manila_lite import errors, values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.base import on_server
from manila_lite.drivers.dummy.knobs import knobbed
from manila_lite.drivers.dummy.servers import DummyServers
from manila_lite.drivers.dummy.store import Store

_GIB = 1 << 30
#: Number of calls to continue that a copy takes, if it has at least as many shares.
_CALLS = 10


class DummyMigration(DummyServers, interface.MigratesReplicated):
    """Each call to continue the copy brings a tenth of the shares; later changes follow at the cut-over."""

    def __init__(self, backend: interface.Backend):
        super().__init__(backend)
        self.SPREADS_SERVERS = self.conf.dummy_spreading_migration

    @knobbed
    def share_server_migration_check_compatibility(
        self, migration: values.ServerMigration
    ) -> values.MigrationSupport:
        reason = self._why_not(migration)
        if reason:
            return values.MigrationSupport(False, reason=reason)
        return values.MigrationSupport(
            True,
            writable=self.conf.dummy_writable_migration,
            nondisruptive=migration.keeps_addresses,
            preserve_snapshots=True,
            migration_cancel=self.conf.dummy_cancellable_migration,
            migration_get_progress=True,
        )

    def _why_not(self, migration: values.ServerMigration) -> str:
        if not self._source(migration).servers.folder.is_dir():
            return f'This backend cannot read the data of {migration.source_host}.'
        if self._is_here(migration) and migration.keeps_addresses:
            return 'The share server is on this backend already.'
        return ''

    @knobbed
    def choose_share_server_compatible_for_migration(
        self, idle: Sequence[values.ShareServer], migration: values.ServerMigration
    ) -> str | None:
        return idle[0].id if idle else None

    @knobbed
    def share_server_migration_start(self, migration: values.ServerMigration) -> None:
        if reason := self._why_not(migration):
            raise errors.Final(reason)
        self._source(migration).server(migration.source.id)

    @knobbed
    def share_server_migration_continue(self, migration: values.ServerMigration) -> bool:
        missing = self._not_here(self.store.shares, migration.shares)
        at_once = math.ceil(len(migration.shares) / _CALLS)
        for share in missing[:at_once]:
            self._copy(migration, share)
        return len(missing) <= at_once

    @knobbed
    def share_server_migration_get_progress(
        self, migration: values.ServerMigration
    ) -> values.MigrationProgress:
        missing = {share.id for share in self._not_here(self.store.shares, migration.shares)}
        total = sum(share.size for share in migration.shares)
        done = sum(share.size for share in migration.shares if share.id not in missing)
        return values.MigrationProgress(100 * done // max(total, 1), done * _GIB, total * _GIB)

    @knobbed
    def share_server_migration_complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        self._stop_serving(migration)
        details = self._set_up(migration.target)
        export_locations = {}
        for share in migration.shares:
            if not self._serves(migration, share):  # a share that is served here may have newer data
                self._copy(migration, share)
            export_locations[share.id] = self._serve(migration, share)
        return values.MigratedServer(
            details,
            export_locations,
            {snapshot.id: f'/snapshots/{snapshot.id}' for snapshot in migration.snapshots},
        )

    @knobbed
    def share_server_migration_cancel(self, migration: values.ServerMigration) -> None:
        with self.store.locked():
            # Another migration may have brought the same shares here since.
            mine = {
                record.id
                for record in self.store.shares.all()
                if record.server == migration.target.id and not self._is_here(migration)
            }
            for snapshot in migration.snapshots:
                if snapshot.share.id in mine:
                    self.store.snapshots.drop(snapshot.id)
            for share_id in mine:
                self.store.shares.drop(share_id)
            if not migration.was_idle:
                self.store.servers.drop(migration.target.id)

    def _is_here(self, migration: values.ServerMigration) -> bool:
        """Say whether the source is on this backend: nothing is copied, and the shares change their server."""
        return migration.source_host == self.backend.host

    def _source(self, migration: values.ServerMigration) -> Store:
        return self.store.neighbour(migration.source_host)

    def _copy(self, migration: values.ServerMigration, share: values.Share) -> None:
        """Copy the present state of the share and its snapshots from the source; without exports and rules."""
        home = self._source(migration)
        self._bring(home, share.id, pool=migration.pool_of(share), server=migration.target.id)
        self._bring_snapshots(home, [one for one in migration.snapshots if one.share.id == share.id])

    def _serves(self, migration: values.ServerMigration, share: values.Share) -> bool:
        with self.store.locked():
            record = self.store.shares.get(share.id)
        return record is not None and record.exported and record.server == migration.target.id

    def _stop_serving(self, migration: values.ServerMigration) -> None:
        """Stop the exports and the server at the source. Later copies have all that clients wrote until now."""
        source = self._source(migration)
        with source.locked():
            for share in migration.shares:
                record = source.share(share.id)
                if record.server == migration.source.id:  # else it is served by the target, on this backend
                    record.exported, record.rules = False, {}
                    source.shares.put(record)
            server = source.servers.get(migration.source.id)
            if server is not None:
                server.running = False
                source.servers.put(server)

    def _serve(
        self, migration: values.ServerMigration, share: values.Share
    ) -> tuple[values.ExportLocation, ...]:
        with self.store.locked():
            record = self.store.share(share.id)
            self._enforce(record, migration.rules.get(share.id, ()))
        return tuple(on_server(migration.target, record))
