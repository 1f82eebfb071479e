# SPDX-License-Identifier: Apache-2.0
"""The ability to receive a single share from another backend, or another pool of this one. Source: Manila API 2.22."""

import abc

from manila_lite import values


class MigratesShares(abc.ABC):
    """Migration of single shares to this backend, in two phases: a copy while clients work, then a short cut-over.

    Every call goes to the driver of the destination backend, is idempotent by the id of the target, and may be repeated
    after a crash. Until the cut-over the source serves as before, even if a call here fails. If the driver said that
    the migration is not ``writable``, all rules of the source are read-only from before the start until the end. Once
    the target serves, the source's own driver gets calls without any rule for its snapshots and its share, before the move
    counts as a success, and then those that delete them.
    """

    @abc.abstractmethod
    def share_migration_check_compatibility(
        self, migration: values.ShareMigration
    ) -> values.MigrationSupport:
        """Return whether and how the share could move to this backend. Changes nothing."""

    @abc.abstractmethod
    def share_migration_start(self, migration: values.ShareMigration) -> None:
        """Start the copy, and return at once.

        :raises errors.Final: the copy cannot be started; the caller cancels the migration to remove what was made.
        """

    @abc.abstractmethod
    def share_migration_continue(self, migration: values.ShareMigration) -> bool:
        """Return whether the copy is as close to the source as it can get. Called until it is.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def share_migration_get_progress(self, migration: values.ShareMigration) -> values.MigrationProgress:
        """Return the progress of the copy."""

    @abc.abstractmethod
    def share_migration_complete(self, migration: values.ShareMigration) -> values.MigratedShare:
        """Serve share and snapshots with their rules from the target instead of the source. No acknowledged write is
        lost.

        May be called again after a failure, also half way.

        :raises errors.Final: the cut-over is not possible in the present state; both sides keep their data.
        """

    @abc.abstractmethod
    def share_migration_cancel(self, migration: values.ShareMigration) -> None:
        """Remove everything that the migration made here; the source serves as before. A missing migration counts as
        success.
        """
