# SPDX-License-Identifier: Apache-2.0
"""The ability to snapshot the shares of a group at one moment. Without it they are taken one after another."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import kinds


class ConsistentSnapshots(abc.ABC):
    """Snapshots of several shares that show all of them as they were at the same moment."""

    #: What must be common to the shares: ``pool``, or ``host`` for all of the backend.
    CONSISTENT_ACROSS: str = 'pool'

    @abc.abstractmethod
    def create_group_snapshot(self, snapshots: Sequence[kinds.Snapshot]) -> Mapping[str, str | None]:
        """All of the snapshots exist, taken at one moment. Returns a provider location to remember, or nothing, by snapshot id.

        A call that finds only some of them (another died half way) takes all of them anew. Each goes by ``delete_snapshot``.
        No other call for one of the shares runs meanwhile, but ``update_access`` and ``ensure_shares``.
        """
