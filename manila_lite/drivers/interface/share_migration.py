# SPDX-License-Identifier: Apache-2.0
"""The ability to take over a single share from another backend, or another pool of this one. Source: Manila API 2.22."""

import abc

from manila_lite import kinds


class MigratesShares(abc.ABC):
    """Shares can move here one by one, in two phases: a copy while clients work, then a short cut-over.

    Every call is made of the driver of the backend that the share moves to, is idempotent by the id of the target, and
    may come again after a crash. Until the cut-over the source serves as before, whatever happens here; where the
    driver says that it is not ``writable``, all its rules are read-only from before the start until the end. Once the target
    serves, the source's own driver is told to delete its snapshots and its share.
    """

    @abc.abstractmethod
    def share_migration_check_compatibility(self, migration: kinds.ShareMigration) -> kinds.MigrationSupport:
        """Return whether and how the share could move here. Changes nothing."""

    @abc.abstractmethod
    def share_migration_start(self, migration: kinds.ShareMigration) -> None:
        """The copy has begun. Returns at once.

        :raises errors.Final: it cannot; what was made here is to be cancelled.
        """

    @abc.abstractmethod
    def share_migration_continue(self, migration: kinds.ShareMigration) -> bool:
        """Say whether the copy is as near to the source as it gets. Called again and again until it is.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def share_migration_get_progress(self, migration: kinds.ShareMigration) -> kinds.MigrationProgress:
        """Return how far the copy is."""

    @abc.abstractmethod
    def share_migration_complete(self, migration: kinds.ShareMigration) -> kinds.MigratedShare:
        """The target serves share and snapshots with its rules, and the source does not: no acknowledged write is lost.

        May be called again after it failed, also half way.

        :raises errors.Final: it cannot be done as things are; both sides keep what they have.
        """

    @abc.abstractmethod
    def share_migration_cancel(self, migration: kinds.ShareMigration) -> None:
        """Nothing of the migration is left here, and the source serves as before. One that is not there is a success."""
