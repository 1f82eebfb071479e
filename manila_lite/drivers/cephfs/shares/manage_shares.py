# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of shares: subvolumes of the backend's group, for instance those of Manila.

A subvolume keeps its name and its path, so clients mount it as before; its mark says which share it is. There is one driver
option, ``size`` in GiB, for a subvolume without a limit.
"""

import math
from collections.abc import Mapping

from manila_lite import errors, values
from manila_lite.drivers import recent_sizes
from manila_lite.drivers.cephfs.shares.share_service import ShareService
from manila_lite.drivers.cephfs.shares.shares import is_unmanaged
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, SHARE, UNMANAGED, Subvolume, parts_of
from manila_lite.host.ids import vet_id


class ManagedShares(ShareService):
    """The managing and unmanaging of one backend's shares."""

    def manage(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        """Mark the subvolume as the share, set its limit, and serve it to nobody: the rules of before are revoked."""
        vet_id(share.id)
        if share.proto != self._protocol.NAME:
            raise errors.Final(f'This backend does not serve {share.proto}, only {self._protocol.NAME}.')
        subvolume = self._manageable(share, export_path)
        size = _size(subvolume, options)
        self._subvolumes.mark(subvolume.name, SHARE, share.id)
        self._subvolumes.resize(subvolume.name, size)
        self._sizes.remember(share.id, size)
        self._protocol.apply(share, subvolume, ())
        return values.ManagedShare(size, tuple(self._protocol.export_locations(share, subvolume)))

    def _manageable(self, share: values.Share, export_path: str) -> Subvolume:
        """Return the subvolume at the path.

        :raises errors.Final: there is none that could become the share.
        """
        parts = parts_of(self._protocol.path_of(export_path))
        if parts is None:
            raise errors.Final(
                f'{export_path!r} is no path of a subvolume, as /volumes/GROUP/NAME/DIRECTORY, with or without '
                'the monitors before it.'
            )
        group, name, *_ = parts
        if group != self._subvolumes.group:
            raise errors.Final(
                f'{group} is not the subvolume group of this backend, which is {self._subvolumes.group}.'
            )
        subvolume = self._subvolumes.get(name)
        if subvolume is None or not subvolume.path:
            raise errors.Final(
                f'There is no subvolume {name} in the file system {self._subvolumes.filesystem}.'
            )
        if subvolume.path != '/' + '/'.join(('volumes', *parts)):
            raise errors.Final(f'The path of subvolume {name} is {subvolume.path}.')
        if not is_unmanaged(subvolume) and subvolume.marks[SHARE] != share.id:
            raise errors.Final(f'Subvolume {name} is a share that is managed already.')
        if subvolume.data_pool not in self._pools.names():
            raise errors.Final(
                f'Subvolume {name} is in the pool {subvolume.data_pool}, which is not one of this backend.'
            )
        if subvolume.data_pool != share.pool:
            raise errors.Final(f'Subvolume {name} is in the pool {subvolume.data_pool}, not {share.pool}.')
        return subvolume

    def unmanage(self, share: values.Share) -> None:
        """Shut all clients out, and mark the subvolume as unmanaged."""
        with self._locks.of(share.id):
            subvolume = self._subvolumes.find(share)
            if subvolume:
                self._protocol.forget(share, subvolume)
                self._subvolumes.mark(subvolume.name, SHARE, UNMANAGED)
        self._sizes.forget(share.id)


def _size(subvolume: Subvolume, options: Mapping[str, str]) -> int:
    """Return the size in GiB: from the subvolume's limit, else the option, else its usage.

    :raises errors.Final: an option is invalid.
    """
    wanted = recent_sizes.given(options)
    if subvolume.quota is None and wanted is not None:
        return wanted
    return max(1, math.ceil((subvolume.quota or subvolume.used) / GIB))
