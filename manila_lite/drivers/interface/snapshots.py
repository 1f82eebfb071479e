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


class MountsSnapshots(abc.ABC):
    """Snapshots that clients can mount, to read what the share held."""

    @abc.abstractmethod
    def serve_snapshot(self, snapshot: kinds.Snapshot, rules: Sequence[kinds.AccessRule]) -> kinds.ServedSnapshot:
        """The snapshot is exported to exactly these clients, who can only read, until it is deleted or let go of.

        May run beside any call for the share. Returns where it mounts, preferred first, and a result for every rule, as
        ``update_access``. All rules have the level ro.

        :raises errors.Final: it is not there.
        """


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
