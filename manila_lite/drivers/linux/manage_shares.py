# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of shares and snapshots of the pool.

A share is a subvolume anywhere in the pool (in a plain directory: a directory). It is moved to the folder of shares,
which takes no time, so clients mount it by another path afterwards. A snapshot is a read-only subvolume in the folder
of snapshots.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.interface import Backend, ManagesSnapshots
from manila_lite.drivers.linux import ids
from manila_lite.drivers.linux.ensure import Ensuring
from manila_lite.drivers.linux.pool import btrfs, unmanaged
from manila_lite.drivers.linux.pool.base import GIB, Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.protocols.protocol_servers import exported
from manila_lite.drivers.linux.servers.share_servers import Servers
from manila_lite.host import mounts

_SIZE = 'size'
_OPTIONS = frozenset({_SIZE})
#: Folders of the pool that contain nothing that could become a share.
_CLOSED = frozenset({unmanaged.SNAPSHOTS, 'moving', 'left', 'backups'})
_IN_SHARES = 2


class LinuxShareManaging(ManagesSnapshots):
    """The part of the driver that manages and unmanages shares and snapshots.

    There is one driver option, ``size`` in GiB, for a share without a limit.
    """

    backend: Backend
    _pool: Pool
    _state: Path
    _servers: Servers
    _ensuring: Ensuring

    # Shares -----------------------------------------------------------------------------------

    def manage_share(self, share: values.Share, export_path: str, options: Mapping[str, str]) -> values.ManagedShare:
        """Move the subvolume to the share's name, set its limit, and export it without access rules."""
        self._vet(share)
        with self._alone(share.id):
            protocol_server, mine, parts = self._protocol_server_of(share), self._pool.share(share.id), None
            if not self._source(share.id):
                parts = unmanaged.parts_of(export_path, self._pool.root, self._addresses(share))
            place = self._takeable_share(parts) if parts else mine
            size = self._size(place, options)
            self._limit_new(dataclasses.replace(share, size=size))
            if parts:
                place.rename(mine)
                self._forget_mark(parts)
            self._pool.ensure_limit(share.id, size)
            self._ensuring.sized(share.id, size)
            protocol_server.serve(share.id, mine, (), share.mount_point_name)
        return values.ManagedShare(size, tuple(self._locations(share)))

    def _addresses(self, share: values.Share) -> list[str]:
        if share.server:
            return [allocation.ip_address for allocation in share.server.allocations]
        return list(map(str, self.backend.conf.linux_export_ips))

    def _takeable_share(self, parts: tuple[str, ...]) -> Path:
        """Return the path of a share that can be managed.

        :raises errors.Final: it is managed already, or cannot become a share.
        """
        folder, name = parts[0], parts[-1]
        if folder == unmanaged.SHARES and len(parts) > _IN_SHARES:
            # On the way to it, clients could replace a directory by a link.
            raise errors.Final(f'{"/".join(parts)} is in a share; it cannot be taken over by itself.')
        place = unmanaged.walk(self._pool.root, parts)
        if folder in _CLOSED or parts == (unmanaged.SHARES,):
            raise errors.Final(f'{place} is none that could be a share.')
        if folder == unmanaged.SHARES and name not in self._pool.left_shares and self._is_exported(name):
            raise errors.Final(f'{place} is a share that is managed already.')
        if isinstance(self._pool, BtrfsPool):
            if not btrfs.is_subvolume(place) or mounts.is_mounted(place):
                raise errors.Final(f'{place} is no subvolume.')
            if btrfs.is_read_only(place):
                raise errors.Final(f'{place} is a read-only subvolume; make a writable snapshot of it and take over that.')
        return place

    def _is_exported(self, name: str) -> bool:
        return name in exported([self._state, *self._servers.folders()])

    def _size(self, place: Path, options: Mapping[str, str]) -> int:
        """Return the size in GiB: from the share's limit, else the option, else its usage.

        :raises errors.Final: an option is invalid, or the size cannot be found.
        """
        if unknown := sorted(set(options) - _OPTIONS):
            raise errors.Final(f'There is no driver option {unknown[0]} here, only {_SIZE}, in GiB.')
        wanted = options.get(_SIZE)
        if wanted is not None and not (wanted.isascii() and wanted.isdigit() and 0 < int(wanted) < 2**31):
            raise errors.Final(f'{wanted!r} is no size in GiB.')
        limit, used = self._pool.measure(place)
        if limit is None and wanted is None and used is None:
            raise errors.Final(f'Nothing says how large {place} is; give the driver option {_SIZE}, in GiB.')
        if limit is None and wanted is not None:
            return int(wanted)
        return max(1, math.ceil((limit or used or 0) / GIB))

    def _forget_mark(self, parts: tuple[str, ...]) -> None:
        if parts[0] == unmanaged.SHARES:
            self._pool.left_shares.drop(parts[-1])

    def unmanage_share(self, share: values.Share) -> None:
        """Mark the subvolume as unmanaged, and remove its export. If its management did not finish, move it back."""
        ids.vet_id(share.id)
        with self._alone(share.id):
            self._pool.recover(share.id)
            if self._pool.share(share.id).exists():
                self._pool.left_shares.add(share.id)
            self._forget_export(share)
            self._put_back(share)
        self._ensuring.forget(share.id)

    def _put_back(self, share: values.Share) -> None:
        """Move the share back to the path of its first export location, if that is not its own path."""
        mine = self._pool.share(share.id)
        try:
            parts = unmanaged.parts_of(share.export_locations[0].path, self._pool.root, self._addresses(share))
            place = unmanaged.walk(self._pool.root, parts[:-1]) / parts[-1]
        except (IndexError, errors.Final):
            return
        if place == mine:
            return
        if mine.exists() and not place.exists():
            if parts[0] == unmanaged.SHARES:
                self._pool.left_shares.add(place.name)
            mine.rename(place)
        if not mine.exists():
            self._pool.left_shares.drop(share.id)

    # Snapshots --------------------------------------------------------------------------------

    def manage_snapshot(self, snapshot: values.Snapshot, options: Mapping[str, str]) -> values.ManagedSnapshot:
        """Give the read-only subvolume the snapshot's name."""
        ids.vet_id(snapshot.id)
        if options:
            raise errors.Final(f'There is no driver option {min(options)} for snapshots.')
        self._need(snapshot.share)
        pool = self._btrfs
        with self._alone(snapshot.id):
            if not pool.snapshot(snapshot.id).exists() or snapshot.id in pool.left_snapshots:
                place = self._takeable_snapshot(snapshot)
                place.rename(pool.snapshot(snapshot.id))
                pool.left_snapshots.drop(place.name)
        return values.ManagedSnapshot(snapshot.share.size, f'/{unmanaged.SNAPSHOTS}/{snapshot.id}')

    def _takeable_snapshot(self, snapshot: values.Snapshot) -> Path:
        pool = self._btrfs
        parts = self._way(snapshot)
        if parts is None:
            raise errors.Final(f'{snapshot.provider_location}: a snapshot is named /{unmanaged.SNAPSHOTS}/NAME here.')
        place, share = unmanaged.walk(pool.root, parts), pool.share(snapshot.share.id)
        if not btrfs.is_subvolume(place) or not btrfs.is_read_only(place):
            raise errors.Final(f'{place} is no read-only subvolume.')
        known = btrfs.uuids(share)[0]
        if known not in (btrfs.uuids(place)[1], pool.left_snapshots.note(place.name)):
            raise errors.Final(f'{place} is no snapshot of share {snapshot.share.id} as it is now.')
        return place

    def _way(self, snapshot: values.Snapshot) -> tuple[str, ...] | None:
        location = snapshot.provider_location or ''
        try:
            parts = unmanaged.parts_of(f':{location}', self._btrfs.root, [''])
        except errors.Final:
            return None
        return parts if len(parts) == 2 and parts[0] == unmanaged.SNAPSHOTS else None

    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        """Mark the subvolume as unmanaged. If its management did not finish, give it its old name."""
        ids.vet_id(snapshot.id)
        pool = self._btrfs
        with self._alone(snapshot.id):
            mine, share = pool.snapshot(snapshot.id), pool.share(snapshot.share.id)
            if not mine.exists():
                pool.left_snapshots.drop(snapshot.id)
                return
            note = btrfs.uuids(share)[0] if share.exists() else ''
            if snapshot.id not in pool.left_snapshots:
                pool.left_snapshots.add(snapshot.id, note)
            parts = self._way(snapshot)
            place = pool.snapshot(parts[1]) if parts else mine
            if place != mine and not place.exists():
                pool.left_snapshots.add(place.name, note)
                mine.rename(place)
                pool.left_snapshots.drop(snapshot.id)

    # Defined by the driver class --------------------------------------------------------------

    @abc.abstractmethod
    def _vet(self, share: values.Share) -> None:
        """Check that the share can be on this backend."""

    @abc.abstractmethod
    def _need(self, share: values.Share) -> None:
        """Check that the share is in the pool."""

    @abc.abstractmethod
    def _source(self, ident: str) -> Path | None:
        """Return the share's path in the pool; None if the share is missing or unmanaged."""

    @abc.abstractmethod
    def _protocol_server_of(self, share: values.Share) -> ProtocolServer:
        """Return the outlet that serves the share."""

    @abc.abstractmethod
    def _limit_new(self, share: values.Share) -> None:
        """Limit the transfer of clients as promised."""

    @abc.abstractmethod
    def _locations(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Return the export locations of the share."""

    @abc.abstractmethod
    def _forget_export(self, share: values.Share) -> None:
        """Delete the share's export and mount."""

    @abc.abstractmethod
    def _alone(self, ident: str) -> AbstractContextManager[None]:
        """Keep other threads from changing the share or snapshot."""

    @property
    @abc.abstractmethod
    def _btrfs(self) -> BtrfsPool:
        """The pool, which supports snapshots."""
