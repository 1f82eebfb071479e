# SPDX-License-Identifier: Apache-2.0
"""The ability to receive a share server, with all its shares, from another backend. Source: Manila API 2.57."""

import abc
from collections.abc import Sequence

from manila_lite import values
from manila_lite.drivers.interface.servers import MakesServers


class MigratesServers(MakesServers):
    """Migration of share servers to this backend, in two phases: a copy while clients work, then a short cut-over.

    Every call goes to the driver of the destination backend, is idempotent by the id of the target, and may be repeated
    after a crash. Until the cut-over the source serves as before, even if a call here fails. If the driver said that
    the migration is not ``writable``, all rules of the shares are read-only at the source from before the start until
    the end. ``migration.rules`` are the rules as the users gave them; the target has them once it serves.

    The source may be on this backend (``migration.source_host``), if the server moves to another share network. The shares
    keep their ids, so nothing is deleted at the source then, except the server: the driver has the shares change it. A
    driver that cannot do so answers the check with ``compatible=False``.

    The shares go to one pool, ``migration.pool``, unless the driver says that it can spread them (``SPREADS_SERVERS``). Then
    each goes to ``migration.pool_of(share)``. A driver can refuse that for one server with ``compatible=False``.
    """

    #: Whether the shares of one share server can come to different pools of this backend.
    SPREADS_SERVERS: bool = False

    @abc.abstractmethod
    def share_server_migration_check_compatibility(
        self, migration: values.ServerMigration
    ) -> values.MigrationSupport:
        """Return whether and how the server could move to this backend. Changes nothing.

        ``migration.target`` has no addresses, and may be a server that does not exist.
        """

    @abc.abstractmethod
    def share_server_migration_start(self, migration: values.ServerMigration) -> None:
        """Start the copy, and return at once.

        :raises errors.Final: the copy cannot be started; the caller cancels the migration to remove what was made.
        """

    @abc.abstractmethod
    def share_server_migration_continue(self, migration: values.ServerMigration) -> bool:
        """Return whether the copy is as close to the source as it can get. Called until it is.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def share_server_migration_get_progress(
        self, migration: values.ServerMigration
    ) -> values.MigrationProgress:
        """Return the progress of the copy."""

    @abc.abstractmethod
    def share_server_migration_complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        """Serve every share and snapshot with its rules from the target instead of the source, where nobody can read any
        more. No acknowledged write is lost.

        May be called again after a failure, also half way. ``migration.target`` has its addresses now.

        :raises errors.Final: the cut-over is not possible in the present state; both sides keep their data.
        """

    @abc.abstractmethod
    def share_server_migration_cancel(self, migration: values.ServerMigration) -> None:
        """Remove everything that the migration made here; the source serves as before. A missing migration counts as
        success.

        A target that ``was_idle`` runs as before, without shares.
        """

    def choose_share_server_compatible_for_migration(
        self, idle: Sequence[values.ShareServer], migration: values.ServerMigration
    ) -> str | None:
        """Return the id of the ``idle`` server that shall receive the shares, or None to have a new server made.

        The idle servers run on this backend, in the subnets that the server moves to, and have no shares. Called with
        the check, if the target does not take over the addresses of the source; ``migration.target`` then describes the
        new server. Changes nothing.
        """
        return None


class MigratesReplicated(MigratesServers):
    """Migration of share servers whose shares have replicas on other backends.

    The active replicas move, with their ids. The other replicas stay where they are, and follow them at the new place from
    the next ``update_replica`` on, whose ``replica.active_host`` names it. Source: pool capability
    ``share_replicas_migration_support`` of Manila.
    """
