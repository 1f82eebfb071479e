# SPDX-License-Identifier: Apache-2.0
"""The calls that resize, manage and unmanage shares."""

from collections.abc import Mapping

from manila_lite import values
from manila_lite.drivers.interface import ManagesShares, Resizes
from manila_lite.drivers.linux.abilities.base import ComposedDriver


class LinuxResizing(ComposedDriver, Resizes):
    """The calls of ``Resizes``."""

    def extend_share(self, share: values.Share, new_size: int) -> None:
        """Raise the limit; clients that have the share mounted can use it at once."""
        self.services.shares.extend(share, new_size)

    def shrink_share(self, share: values.Share, new_size: int) -> None:
        """Lower the limit, if the share holds no more."""
        self.services.shares.shrink(share, new_size)


class LinuxShareManagement(ComposedDriver, ManagesShares):
    """The calls of ``ManagesShares``. There is one driver option, ``size`` in GiB."""

    def manage_share(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        """Move the subvolume to the share's name, set its limit, and export it without access rules."""
        return self.services.managed_shares.manage(share, export_path, options)

    def unmanage_share(self, share: values.Share) -> None:
        """Mark the subvolume as unmanaged, and remove its export."""
        self.services.managed_shares.unmanage(share)
