# SPDX-License-Identifier: Apache-2.0
"""The abilities for snapshots, one abstract class each."""

import abc
from collections.abc import Sequence

from manila_lite import values


class Snapshots(abc.ABC):
    """Point-in-time, read-only copies of a share."""

    @abc.abstractmethod
    def create_snapshot(self, snapshot: values.Snapshot) -> str | None:
        """Take the snapshot. Returns a provider location to store, or None."""

    @abc.abstractmethod
    def delete_snapshot(self, snapshot: values.Snapshot) -> None:
        """Delete the snapshot. A missing snapshot counts as success."""


class MountsSnapshots(abc.ABC):
    """Snapshots that clients can mount to read them."""

    @abc.abstractmethod
    def serve_snapshot(
        self, snapshot: values.Snapshot, rules: Sequence[values.AccessRule]
    ) -> values.ServedSnapshot:
        """Export the snapshot, read-only, to exactly these clients, until it is deleted or unmanaged.

        May run beside any call for the share. Returns its export locations, preferred first, and a result for every
        rule, as ``update_access``. All rules have the level ro.

        :raises errors.Final: the snapshot is missing.
        """


class Clones(abc.ABC):
    """Creation of shares from snapshots."""

    @abc.abstractmethod
    def create_share_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot
    ) -> Sequence[values.ExportLocation]:
        """Create a share as ``create_share`` does, with the data of the snapshot.

        :raises errors.Again: the backend copies the data, with the progress if it is known. The call is repeated until the
            share is complete, or deleted.
        """


class Reverts(abc.ABC):
    """Reverting of shares to a snapshot."""

    @abc.abstractmethod
    def revert_to_snapshot(self, snapshot: values.Snapshot) -> None:
        """Revert the snapshot's share to exactly the data of the snapshot. Exports and rules are kept.

        ``snapshot.share.size`` is the size of the share afterwards.
        """
