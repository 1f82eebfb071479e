# SPDX-License-Identifier: Apache-2.0
"""Migrations from other linux backends: the parts that those of shares and those of share servers have in common.

``replication.py`` copies the data. It reaches the source through a peer, not its share manager.
"""

import abc
import itertools
from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeVar

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import peer_session
from manila_lite.drivers.linux.replication.copy_supervisor import CopySupervisor
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.host.commands import CommandFailed
from manila_lite.host.ids import SAFE_ID

LOG = log.getLogger(__name__)

#: Errors that may mean that the source cannot be reached.
AWAY = (errors.Final, CommandFailed, OSError)

Migration = TypeVar('Migration', values.ShareMigration, values.ServerMigration)


class Migrations(abc.ABC, Generic[Migration]):
    """The migrations to one backend, ``host@backend``."""

    #: Whether clients write while their data is copied.
    WRITABLE: bool

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

    @abc.abstractmethod
    def _pool_for(self, migration: Migration) -> BtrfsPool:
        """Return the pool that the data comes to, or one in which it has other names.

        :raises errors.Final: the migration to this backend is not possible; with the reason.
        """

    @abc.abstractmethod
    def _moving(self, migration: Migration) -> Mapping[str, Collection[str]]:
        """Return the ids of the shares at the source, each with those of its snapshots."""

    def _copy(self, migration: Migration) -> BtrfsCopy:
        """Return the copy of the data.

        :raises errors.Final: the migration to this backend is not possible; with the reason.
        """
        pool, moving = self._pool_for(migration), self._moving(migration)
        must_be_ids(migration.id, migration.source.id, *itertools.chain(moving, *moving.values()))
        command = peer_session.command(migration.source_host, self._conf)
        return BtrfsCopy(pool, command, migration.id, moving)

    def check(self, migration: Migration) -> values.MigrationSupport:
        """Ask the source for the data to copy, and check the free capacity here."""
        reason = self._objection(migration)
        return values.MigrationSupport(False, reason=reason) if reason else support(writable=self.WRITABLE)

    def _objection(self, migration: Migration) -> str:
        """Return the reason why the copy cannot be made, as far as is known now, or ''."""
        try:
            copy = self._copy(migration)
            with copy.session() as session:
                copy.inspect_source(session)
        except AWAY as bad:
            return f'{migration.source_host}: {bad}'
        free = self._storage.pool.capacity()[1]
        if copy.total > free * GIB:
            return f'There are {copy.total / GIB:.2f} GiB to copy, and {free:.2f} free.'
        return ''

    def start(self, migration: Migration) -> None:
        """Start the copy in the background.

        :raises errors.Final: the pool has old data of these shares or snapshots, which would be taken for copied data.
        """
        copy = self._copy(migration)
        if not copy.begun:
            copy.must_be_new()
            copy.begin()
        self._copies.poll(migration.id, lambda: copy)

    def proceed(self, migration: Migration) -> bool:
        """Continue the copy. Returns whether it is close to the source."""
        return self._copies.poll(migration.id, lambda: self._copy(migration))

    def progress(self, migration: Migration) -> values.MigrationProgress:
        """Return the progress in bytes of the source's pool, where data common to shares and snapshots counts once."""
        return self._copies.progress(migration.id)

    def cancel(self, migration: Migration) -> None:
        """Stop the copy, and remove its data at both sides.

        :raises errors.Final: the cut-over has begun: the data here may be the only valid one.
        """
        self._copies.end(migration.id)
        copy = self._copy(migration)
        if any(map(copy.landed, self._moving(migration))):
            raise errors.Final(f'Migration {migration.id} can no longer be cancelled.')
        self._drop_target(migration)
        copy.clear_here()
        with copy.session() as session:
            copy.clear(session)

    def _drop_target(self, migration: Migration) -> None:
        """Remove what was made here beside the copy."""


def support(*, writable: bool) -> values.MigrationSupport:
    """Return what each migration to this driver can do."""
    return values.MigrationSupport(
        True,
        writable=writable,
        nondisruptive=False,
        preserve_snapshots=True,
        migration_cancel=True,
        migration_get_progress=True,
    )


def must_be_ids(*resource_ids: Any) -> None:
    """Check ids that become file names.

    :raises errors.Final: one is no id.
    """
    for resource_id in resource_ids:
        if not SAFE_ID.fullmatch(resource_id):
            raise errors.Final(f'{resource_id!r} is not an id.')


def tidy(copy: BtrfsCopy) -> None:
    """Delete the copy's data."""
    if copy.begun:
        tidy_source(copy)
        copy.clear_here()


def tidy_source(copy: BtrfsCopy) -> None:
    """Delete the copy's data at the source, if the source can be reached."""
    try:
        with copy.session() as session:
            copy.clear(session)
    except AWAY as bad:
        LOG.warning('The copied data stay at the source, which cannot be reached: %s', bad)
