# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of shares of the pool.

A share is a subvolume anywhere in the pool (in a plain directory: a directory). It is moved to the folder of shares,
which takes no time, so clients mount it by another path afterwards. There is one driver option, ``size`` in GiB, for a
share without a limit.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers import recent_sizes
from manila_lite.drivers.linux.pool import btrfs, unmanaged
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.shares.share_service import ShareService
from manila_lite.host import mounts
from manila_lite.host.ids import vet_id

#: Folders of the pool that contain nothing that could become a share.
_CLOSED = frozenset({unmanaged.SNAPSHOTS, 'moving', 'left', 'backups'})
_IN_SHARES = 2


class ManagedShares(ShareService):
    """The managing and unmanaging of one backend's shares.

    ``is_exported`` says of the id of a share whether a file server exports it or remembers it.
    """

    def __init__(self, *services: Any, is_exported: Callable[[str], bool]):
        super().__init__(*services)
        self._pool = self._storage.pool
        self._is_exported = is_exported

    def manage(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        """Move the subvolume to the share's name, set its limit, and export it without access rules."""
        self._exports.vet(share)
        with self._storage.exclusive(share.id):
            protocol_server, mine, parts = (
                self._exports.protocol_server_of(share),
                self._pool.share(share.id),
                None,
            )
            if not self._storage.share_path(share.id):
                parts = unmanaged.parts_of(export_path, self._pool.root, self._exports.addresses(share))
            path = self._manageable(parts) if parts else mine
            size = self._size(path, options)
            self._qos.limit_new(dataclasses.replace(share, size=size))
            if parts:
                path.rename(mine)
                if parts[0] == unmanaged.SHARES:
                    self._pool.unmanaged_shares.drop(parts[-1])
            self._pool.ensure_limit(share.id, size)
            self._sizes.remember(share.id, size)
            protocol_server.serve(share.id, mine, (), share.mount_point_name)
        return values.ManagedShare(size, tuple(self._exports.locations(share)))

    def _manageable(self, parts: tuple[str, ...]) -> Path:
        """Return the path of a share that can be managed.

        :raises errors.Final: it is managed already, or cannot become a share.
        """
        folder, name = parts[0], parts[-1]
        if folder == unmanaged.SHARES and len(parts) > _IN_SHARES:
            # On the way to it, clients could replace a directory by a link.
            raise errors.Final(f'{"/".join(parts)} is inside a share; only the whole share can be managed.')
        path = unmanaged.walk(self._pool.root, parts)
        if folder in _CLOSED or parts == (unmanaged.SHARES,):
            raise errors.Final(f'{path} cannot be a share.')
        if folder == unmanaged.SHARES and name not in self._pool.unmanaged_shares and self._is_exported(name):
            raise errors.Final(f'{path} is a share that is managed already.')
        if isinstance(self._pool, BtrfsPool):
            if not btrfs.is_subvolume(path) or mounts.is_mounted(path):
                raise errors.Final(f'{path} is not a subvolume.')
            if btrfs.is_read_only(path):
                raise errors.Final(
                    f'{path} is a read-only subvolume; make a writable snapshot of it and manage that.'
                )
        return path

    def _size(self, path: Path, options: Mapping[str, str]) -> int:
        """Return the size in GiB: from the share's limit, else the option, else its usage.

        :raises errors.Final: an option is invalid, or the size cannot be found.
        """
        wanted = recent_sizes.given(options)
        limit, used = self._pool.measure(path)
        if limit is None and wanted is None and used is None:
            raise errors.Final(
                f'The size of {path} is not known; give the driver option {recent_sizes.SIZE}, in GiB.'
            )
        if limit is None and wanted is not None:
            return wanted
        return max(1, math.ceil((limit or used or 0) / GIB))

    def unmanage(self, share: values.Share) -> None:
        """Mark the subvolume as unmanaged, and remove its export. If its management did not finish, move it back."""
        vet_id(share.id)
        with self._storage.exclusive(share.id):
            self._pool.recover(share.id)
            if self._pool.share(share.id).exists():
                self._pool.unmanaged_shares.add(share.id)
            self._exports.forget(share)
            self._put_back(share)
        self._sizes.forget(share.id)

    def _put_back(self, share: values.Share) -> None:
        """Move the share back to the path of its first export location, if that is not its own path."""
        mine = self._pool.share(share.id)
        try:
            parts = unmanaged.parts_of(
                share.export_locations[0].path, self._pool.root, self._exports.addresses(share)
            )
            path = unmanaged.walk(self._pool.root, parts[:-1]) / parts[-1]
        except (IndexError, errors.Final):
            return
        if path == mine:
            return
        if mine.exists() and not path.exists():
            if parts[0] == unmanaged.SHARES:
                self._pool.unmanaged_shares.add(path.name)
            mine.rename(path)
        if not mine.exists():
            self._pool.unmanaged_shares.drop(share.id)
