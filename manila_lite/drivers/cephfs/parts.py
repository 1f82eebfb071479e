# SPDX-License-Identifier: Apache-2.0
"""The parts of a backend, each made from those that it uses. A driver has one set of them."""

from manila_lite.drivers.cephfs.cluster.cluster import Cluster, find_way
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.protocols.table import protocol_of
from manila_lite.drivers.cephfs.shares.ensure import Ensuring
from manila_lite.drivers.cephfs.shares.manage_shares import ManagedShares
from manila_lite.drivers.cephfs.shares.shares import Shares
from manila_lite.drivers.cephfs.shares.snapshots import Snapshots
from manila_lite.drivers.cephfs.shares.usage import Measuring
from manila_lite.drivers.cephfs.volumes.objects import Objects
from manila_lite.drivers.cephfs.volumes.pools import Pools
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.drivers.cephfs.volumes.trees import Trees
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.recent_sizes import RecentSizes
from manila_lite.host.locks import Locks


class Parts:
    """All parts of one backend."""

    def __init__(self, backend: Backend):
        conf: CephfsOptions = backend.conf
        identity, sizes, locks = Identity.of(conf), RecentSizes(), Locks()
        self.cluster = cluster = Cluster(lambda: conf.cephfs_command_timeout, lambda: find_way(identity))
        self.subvolumes = subvolumes = Subvolumes(cluster, conf)
        self.trees = trees = Trees(cluster, subvolumes, identity)
        self.pools = pools = Pools(cluster, subvolumes, conf)
        self.objects = objects = Objects(cluster, subvolumes, pools, identity, backend.host)
        self.protocol = protocol = protocol_of(conf)(backend, cluster, subvolumes)

        used = (subvolumes, pools, protocol, sizes, locks)
        self.shares = Shares(*used, trees=trees, objects=objects, conf=conf)
        self.ensuring = Ensuring(*used)
        self.managed_shares = ManagedShares(*used)
        self.snapshots = Snapshots(subvolumes, objects, self.shares)
        self.measuring = Measuring(cluster, subvolumes)
