# SPDX-License-Identifier: Apache-2.0
"""Moves of share servers into another share network of the same backend. No data is copied: the shares change their server.

Source and target are two servers on one pool. The note in the source's folder (``protocols/fencing.py``) tells whether
the cut-over has begun. Nothing here deletes data: whatever is removed is a server, or an export of a share.
"""

import dataclasses
import time

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.replication import migrations, receiving_server
from manila_lite.drivers.linux.servers.server_setup import ServerSetup
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage

LOG = log.getLogger(__name__)


class NetworkMoves:
    """The moves of one backend's share servers between share networks. Its methods are those of ``ServerMigrations``."""

    def __init__(
        self,
        *,
        storage: Storage,
        exports: ShareExports,
        access: ShareAccess,
        servers: ShareServers,
        setup: ServerSetup,
    ):
        self._storage = storage
        self._exports = exports
        self._access = access
        self._servers = servers
        self._setup = setup

    def check(self, migration: values.ServerMigration) -> values.MigrationSupport:
        """Check that the server and its shares are here. The target may have no id yet."""
        planned = dataclasses.replace(migration, target=migration.source)
        try:
            self._vet(planned)
        except errors.Final as bad:
            return values.MigrationSupport(False, reason=str(bad))
        return migrations.support(writable=True)

    # Phase one --------------------------------------------------------------------------------

    def start(self, migration: values.ServerMigration) -> None:
        """Check once more that the server can move. There is nothing to copy."""
        self._vet(migration)

    def proceed(self, migration: values.ServerMigration) -> bool:
        """Start the target's file servers, still unreachable for clients and without shares. Returns True."""
        self._servers.prepare(migration.target.id)
        return True

    def progress(self, migration: values.ServerMigration) -> values.MigrationProgress:
        """Return that all of nothing is copied."""
        return values.MigrationProgress(100, 0, 0)

    def cancel(self, migration: values.ServerMigration) -> None:
        """Remove the target. The shares are the source's, which was not touched.

        :raises errors.Final: the cut-over has begun: the target may be the only server of the shares.
        """
        if fencing.by(self._servers.folder(migration.source.id)) == migration.id:
            raise errors.Final(f'Migration {migration.id} can no longer be cancelled.')
        self._servers.drop(migration.target.id)

    # Phase two --------------------------------------------------------------------------------

    def complete(self, migration: values.ServerMigration) -> values.MigratedServer:
        """Halt the source, and serve its shares from the target. The source keeps its exports on file until that works.

        No write is lost: both servers write into the same subvolumes.
        """
        self._vet(migration)
        self._servers.prepare(migration.target.id)
        began = time.monotonic()
        self._servers.fence(migration.source.id, migration.id)
        moved = receiving_server.serve(migration, self._access, self._setup)
        LOG.info(
            'Migration %s: the shares were not served for %.2f s', migration.id, time.monotonic() - began
        )
        for resource_id in (
            *(share.id for share in migration.shares),
            *(snapshot.id for snapshot in migration.snapshots),
        ):
            with self._storage.exclusive(
                resource_id
            ):  # a change of access may still be at work at the source
                self._servers.forget(migration.source.id, resource_id)
        return moved

    # Checks -----------------------------------------------------------------------------------

    def _vet(self, migration: values.ServerMigration) -> None:
        """Check that the server is here with the data of its shares.

        :raises errors.Final: it cannot move; with the reason.
        """
        if migration.keeps_addresses:
            raise errors.Final('The share server is on this backend already, in the same share network.')
        receiving_server.vet(migration, self._exports.protocols)
        self._servers.require(migration.source.id, migration.id)
        for share in migration.shares:
            self._storage.require(share)
