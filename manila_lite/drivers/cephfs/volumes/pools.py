# SPDX-License-Identifier: Apache-2.0
"""The data pools of a backend, and how full each is."""

import dataclasses
import time
from typing import Any

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, Subvolumes

#: Seconds between two looks at capacities that are not known yet.
_PAUSE = 0.5


@dataclasses.dataclass(frozen=True)
class Capacity:
    """The capacity of a data pool in GiB, as much as its users can store: copies for safety are counted off."""

    total: float
    free: float


class Pools:
    """The data pools that hold shares of a backend. Each is a pool of it."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes, conf: CephfsOptions):
        self._cluster = cluster
        self._subvolumes = subvolumes
        self._conf = conf
        self._known: dict[str, Capacity] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._conf.cephfs_data_pools) or self._first

    @computed_once
    def _first(self) -> tuple[str, ...]:
        return self.of_filesystem()[:1]

    def of_filesystem(self) -> tuple[str, ...]:
        """Return the names of all data pools of the file system; new files are in the first, if nothing else is said."""
        for one in self._cluster.monitor('fs ls'):
            if one['name'] == self._subvolumes.filesystem:
                return tuple(one['data_pools'])
        return ()

    def capacities(self) -> dict[str, Capacity]:
        """Return the capacity of each pool. A manager that has just started knows none for some seconds: then as before.

        :raises errors.Final: the file system has no pool of the name. :raises Away: the cluster has not told it yet.
        """
        self._known |= self._told()
        unknown = [name for name in self.names() if name not in self._known]
        if missing := set(unknown).difference(self.of_filesystem() if unknown else ()):
            raise errors.Final(
                f'cephfs_data_pools: the file system {self._subvolumes.filesystem} has no pool {min(missing)}.'
            )
        if unknown:
            raise Away(
                f'The Ceph cluster does not tell yet how full its pool {unknown[0]} is. Look at "ceph df" and "ceph '
                'status": a manager and an OSD must be active.'
            )
        return {name: self._known[name] for name in self.names()}

    def _told(self) -> dict[str, Capacity]:
        """Return the capacities that the cluster knows now."""
        found = {pool['name']: _capacity(pool['stats']) for pool in self._cluster.monitor('df')['pools']}
        return {name: capacity for name, capacity in found.items() if capacity.total}

    def await_capacities(self) -> None:
        """Wait until the cluster tells the capacity of each pool.

        :raises errors.Final: as ``capacities``. :raises Away: it does not within the patience for a command.
        """
        end = time.monotonic() + self._conf.cephfs_command_timeout
        while True:
            try:
                self.capacities()
            except Away:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)
            else:
                return


def _capacity(stats: dict[str, Any]) -> Capacity:
    stored, free = stats.get('stored', 0), stats.get('max_avail', 0)
    return Capacity((stored + free) / GIB, free / GIB)
