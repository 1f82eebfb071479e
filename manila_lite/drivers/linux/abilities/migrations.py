# SPDX-License-Identifier: Apache-2.0
"""The calls that receive shares and share servers from other backends."""

from manila_lite import values
from manila_lite.drivers.interface import MigratesServers, MigratesShares
from manila_lite.drivers.linux.abilities.base import ComposedDriver
from manila_lite.drivers.linux.abilities.servers import LinuxServers
from manila_lite.drivers.linux.replication.network_moves import NetworkMoves
from manila_lite.drivers.linux.replication.share_server_migration import ServerMigrations


class LinuxShareMigration(ComposedDriver, MigratesShares):
    """The calls of ``MigratesShares``."""

    def share_migration_check_compatibility(
        self, migration: values.ShareMigration
    ) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        return self.services.share_migrations.check(migration)

    def share_migration_start(self, migration: values.ShareMigration) -> None:
        """Start the copy in the background."""
        self.services.share_migrations.start(migration)

    def share_migration_continue(self, migration: values.ShareMigration) -> bool:
        """Continue the copy."""
        return self.services.share_migrations.proceed(migration)

    def share_migration_get_progress(self, migration: values.ShareMigration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool."""
        return self.services.share_migrations.progress(migration)

    def share_migration_complete(self, migration: values.ShareMigration) -> values.MigratedShare:
        """Bring the changes since the last round, and serve the target."""
        return self.services.share_migrations.complete(migration)

    def share_migration_cancel(self, migration: values.ShareMigration) -> None:
        """Stop the copy, and remove its data at both sides."""
        self.services.share_migrations.cancel(migration)


class LinuxServerMigration(LinuxServers, MigratesServers):
    """The calls of ``MigratesServers``."""

    def _migrations(self, migration: values.ServerMigration) -> ServerMigrations | NetworkMoves:
        """Return the service for migrations from another backend, or from this one into another share network."""
        is_here = migration.source_host == self.backend.host
        return self.services.network_moves if is_here else self.services.server_migrations

    def share_server_migration_check_compatibility(
        self, migration: values.ServerMigration
    ) -> values.MigrationSupport:
        """Ask the source for the data to copy, if there is any, and check the free capacity here."""
        return self._migrations(migration).check(migration)

    def share_server_migration_start(self, migration: values.ServerMigration) -> None:
        """Start the copy in the background."""
        self._migrations(migration).start(migration)

    def share_server_migration_continue(self, migration: values.ServerMigration) -> bool:
        """Continue the copy. When it is close to the source, start the target's file servers."""
        return self._migrations(migration).proceed(migration)

    def share_server_migration_get_progress(
        self, migration: values.ServerMigration
    ) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool."""
        return self._migrations(migration).progress(migration)

    def share_server_migration_complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        """Halt the source, bring its last changes, and serve from the target."""
        return self._migrations(migration).complete(migration)

    def share_server_migration_cancel(self, migration: values.ServerMigration) -> None:
        """Stop the copy, and remove its data at both sides."""
        self._migrations(migration).cancel(migration)
