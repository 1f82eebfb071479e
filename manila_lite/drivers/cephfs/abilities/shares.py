# SPDX-License-Identifier: Apache-2.0
"""The calls that resize, manage and unmanage shares."""

from collections.abc import Mapping

from manila_lite import values
from manila_lite.drivers.cephfs.abilities.base import ComposedDriver
from manila_lite.drivers.interface import ManagesShares, Resizes


class CephfsResizing(ComposedDriver, Resizes):
    """The calls of ``Resizes``."""

    def extend_share(self, share: values.Share, new_size: int) -> None:
        """Raise the limit; clients that have the share mounted can use it at once."""
        self.services.shares.extend(share, new_size)

    def shrink_share(self, share: values.Share, new_size: int) -> None:
        """Lower the limit, if the share holds no more."""
        self.services.shares.shrink(share, new_size)


class CephfsShareManagement(ComposedDriver, ManagesShares):
    """The calls of ``ManagesShares``. There is one driver option, ``size`` in GiB."""

    def manage_share(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        """Mark the subvolume as the share, set its limit, and serve it to nobody."""
        return self.services.managed_shares.manage(share, export_path, options)

    def unmanage_share(self, share: values.Share) -> None:
        """Shut all clients out, and mark the subvolume as unmanaged."""
        self.services.managed_shares.unmanage(share)
