# SPDX-License-Identifier: Apache-2.0
"""The abilities around snapshots, one abstract class each."""

import abc
from collections.abc import Sequence

from manila_lite import kinds


class Snapshots(abc.ABC):
    """Point-in-time, read-only copies of a share."""

    @abc.abstractmethod
    def create_snapshot(self, snapshot: kinds.Snapshot) -> str | None:
        """The snapshot exists. Returns a provider location to remember, or nothing."""

    @abc.abstractmethod
    def delete_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The snapshot is gone. One that is not there is a success."""


class Clones(abc.ABC):
    """New shares that start with a snapshot's content."""

    @abc.abstractmethod
    def create_share_from_snapshot(self, share: kinds.Share,
                                   snapshot: kinds.Snapshot) -> Sequence[kinds.ExportLocation]:
        """As ``create_share``, and the share holds what the snapshot holds."""


class Reverts(abc.ABC):
    """Shares that can be put back to a snapshot."""

    @abc.abstractmethod
    def revert_to_snapshot(self, snapshot: kinds.Snapshot) -> None:
        """The snapshot's share holds exactly what the snapshot holds. Exports and rules are kept.

        ``snapshot.share.size`` is the size it shall have afterwards.
        """
