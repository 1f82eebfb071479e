# SPDX-License-Identifier: Apache-2.0
"""The abilities to take over shares and snapshots that are at the backend already, and to leave ours to themselves."""

import abc
from collections.abc import Mapping

from manila_lite import kinds


class ManagesShares(abc.ABC):
    """A share that the backend has already can become ours, with its data.

    ``export_path`` is where it can be found there, as an administrator says it; of a share that was ours it is any
    export location that it had. ``options`` are the administrator's, for the driver alone.
    """

    @abc.abstractmethod
    def manage_share(self, share: kinds.Share, export_path: str, options: Mapping[str, str]) -> kinds.ManagedShare:
        """What is at that path is ``share`` from now on, holds what it held, and is exported to nobody.

        All calls find it by its ``id``. ``share.size`` is not known yet, and is answered.

        :raises errors.Final: there is nothing, or it is another share of ours, or is no share of this backend; the message
            says which. It is as it was.
        """

    @abc.abstractmethod
    def unmanage_share(self, share: kinds.Share) -> None:
        """The share's data stays at the backend as it is, exported to nobody, and is not ours any more.

        ``manage_share`` finds it by the first of ``share.export_locations``; of a share that was just about to be taken over
        that is the path that it was asked for by. One that is not there, or not ours, is a success; for all other calls it is
        not there any more.
        """


class ManagesSnapshots(ManagesShares):
    """The same for the snapshots of a share of ours, by their provider locations."""

    @abc.abstractmethod
    def manage_snapshot(self, snapshot: kinds.Snapshot, options: Mapping[str, str]) -> kinds.ManagedSnapshot:
        """What is at ``snapshot.provider_location`` is the snapshot from now on. Its size is answered.

        :raises errors.Final: there is none, or it is of another share; the message says which. It is as it was.
        """

    @abc.abstractmethod
    def unmanage_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The snapshot stays at the backend as it is, and is not ours any more; ``manage_snapshot`` finds it by its
        ``provider_location``.

        One that is not there, or not ours, is a success.
        """
