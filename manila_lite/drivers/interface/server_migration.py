# SPDX-License-Identifier: Apache-2.0
"""The ability to take over a share server, with all its shares, from another backend. Source: Manila API 2.57."""

import abc
from collections.abc import Sequence

from manila_lite import kinds
from manila_lite.drivers.interface.servers import MakesServers


class MigratesServers(MakesServers):
    """Share servers of other backends can move here, in two phases: a copy while clients work, then a short cut-over.

    Every call is made of the driver of the backend that the server moves to, is idempotent by the id of the target,
    and may come again after a crash. Until the cut-over the source serves as before, whatever happens here; but if the
    driver said that it is not ``writable``, all rules of its shares are read-only there from before the start until the end.
    ``migration.rules`` are the rules as they were given, which the target has once it serves.
    """

    @abc.abstractmethod
    def share_server_migration_check_compatibility(self, migration: kinds.ServerMigration) -> kinds.MigrationSupport:
        """Return whether and how the server could move here. Changes nothing.

        ``migration.target`` has no addresses and need not be a server that exists.
        """

    @abc.abstractmethod
    def share_server_migration_start(self, migration: kinds.ServerMigration) -> None:
        """The copy has begun. Returns at once.

        :raises errors.Final: it cannot; what was made here is to be cancelled.
        """

    @abc.abstractmethod
    def share_server_migration_continue(self, migration: kinds.ServerMigration) -> bool:
        """Say whether the copy is as near to the source as it gets. Called again and again until it is.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def share_server_migration_get_progress(self, migration: kinds.ServerMigration) -> kinds.MigrationProgress:
        """Return how far the copy is."""

    @abc.abstractmethod
    def share_server_migration_complete(self, migration: kinds.ServerMigration) -> kinds.MigratedServer:
        """The target serves every share and snapshot with its rules, and the source does not: no acknowledged write is lost.

        May be called again after it failed, also half way. ``migration.target`` has its addresses now.

        :raises errors.Final: it cannot be done as things are; both sides keep what they have.
        """

    @abc.abstractmethod
    def share_server_migration_cancel(self, migration: kinds.ServerMigration) -> None:
        """Nothing of the migration is left here, and the source serves as before. One that is not there is a success.

        A target that ``was_idle`` runs as before, with nothing on it.
        """

    def choose_share_server_compatible_for_migration(
            self, idle: Sequence[kinds.ShareServer], migration: kinds.ServerMigration) -> str | None:
        """Return the id of the ``idle`` server that is to take the shares in, or nothing: then a new one is made.

        They run here, in the subnets that the server moves to, and nothing is on them. Asked with the check, if the target
        does not take over the addresses of the source; ``migration.target`` is then what a new one would be. Changes nothing.
        """
        return None
