# SPDX-License-Identifier: Apache-2.0
"""The abilities to manage shares and snapshots that exist at the backend, and to unmanage them."""

import abc
from collections.abc import Mapping

from manila_lite import values


class ManagesShares(abc.ABC):
    """Management of shares that exist at the backend, with their data.

    ``export_path`` is the place of the share at the backend, as the administrator gave it; for a share that was managed
    before it is any of its export locations. ``options`` come from the administrator and are for the driver alone.
    """

    @abc.abstractmethod
    def manage_share(
        self, share: values.Share, export_path: str, options: Mapping[str, str]
    ) -> values.ManagedShare:
        """Manage the share at that path as ``share``. It keeps its data and is exported without access rules.

        All later calls find the share by its ``id``. ``share.size`` is not known yet, and is in the result.

        :raises errors.Final: there is no share at that path, it is managed already, or it is no share of this backend,
            or of another protocol than ``share.proto``, which may be any word; the message says which. The share is
            unchanged.
        """

    @abc.abstractmethod
    def unmanage_share(self, share: values.Share) -> None:
        """Unmanage the share: its data stays at the backend unchanged, and it is not exported any more.

        ``manage_share`` finds it by the first of ``share.export_locations``; for a share whose management did not
        finish, that is the path that the administrator gave. A missing or unmanaged share counts as success. For all
        other calls the share is missing from now on.
        """


class ManagesSnapshots(ManagesShares):
    """Management of snapshots of a managed share, by their provider locations."""

    @abc.abstractmethod
    def manage_snapshot(
        self, snapshot: values.Snapshot, options: Mapping[str, str]
    ) -> values.ManagedSnapshot:
        """Manage the snapshot at ``snapshot.provider_location``. Its size is in the result.

        :raises errors.Final: there is no snapshot, or it is of another share; the message says which. The snapshot is
            unchanged.
        """

    @abc.abstractmethod
    def unmanage_snapshot(self, snapshot: values.Snapshot) -> None:
        """Unmanage the snapshot: it stays at the backend, and ``manage_snapshot`` finds it by its
        ``provider_location``.

        A missing or unmanaged snapshot counts as success.
        """
