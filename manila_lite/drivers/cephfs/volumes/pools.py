# SPDX-License-Identifier: Apache-2.0
"""The data pools of a backend, and how full each is."""

import dataclasses
import functools
from typing import Any

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, Subvolumes


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

    def names(self) -> tuple[str, ...]:
        """Return their names."""
        return tuple(self._conf.cephfs_data_pools) or self._first

    @functools.cached_property
    def _first(self) -> tuple[str, ...]:
        return self.of_filesystem()[:1]

    def of_filesystem(self) -> tuple[str, ...]:
        """Return the names of all data pools of the file system; new files are in the first, if nothing else is said."""
        for one in self._cluster.monitor('fs ls'):
            if one['name'] == self._subvolumes.filesystem:
                return tuple(one['data_pools'])
        return ()

    def capacities(self) -> dict[str, Capacity]:
        """Return the capacity of each pool.

        :raises errors.Final: the cluster has no pool of the name.
        """
        stats = {pool['name']: pool['stats'] for pool in self._cluster.monitor('df')['pools']}
        missing = [name for name in self.names() if name not in stats]
        if missing:
            raise errors.Final(f'cephfs_data_pools: there is no pool {missing[0]}.')
        return {name: _capacity(stats[name]) for name in self.names()}


def _capacity(stats: dict[str, Any]) -> Capacity:
    stored, free = stats.get('stored', 0), stats.get('max_avail', 0)
    return Capacity((stored + free) / GIB, free / GIB)
