# SPDX-License-Identifier: Apache-2.0
"""The ability to snapshot the shares of a group at one moment. Without it the snapshots are taken one after another."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import values


class ConsistentSnapshots(abc.ABC):
    """Snapshots of several shares that show all of them at the same moment."""

    #: Scope of such a snapshot: ``pool`` for shares of one pool, or ``host`` for all shares of the backend.
    CONSISTENT_ACROSS: str = 'pool'

    @abc.abstractmethod
    def create_group_snapshot(self, snapshots: Sequence[values.Snapshot]) -> Mapping[str, str | None]:
        """Take all snapshots at one moment. Returns a provider location to store, or None, by snapshot id.

        A call that finds only some of the snapshots (an earlier call died half way) takes all of them anew. Each
        snapshot is deleted by ``delete_snapshot``. Beside this call only ``update_access`` and ``ensure_shares`` run
        for the shares.
        """
