# SPDX-License-Identifier: Apache-2.0
"""Repairs of a backend's cluster that an administrator asks for. No service needs to run."""

from manila_lite.drivers.cephfs.cluster.cluster import Cluster, find_way
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.drivers.cephfs.volumes.trees import Trees


def flatten_trash(conf: CephfsOptions) -> int:
    """Move directories up in the trash that are too deep for managers. Return how many there were.

    :raises Away: monitors or metadata servers do not answer.
    """
    identity = Identity.of(conf)
    cluster = Cluster(lambda: conf.cephfs_command_timeout, lambda: find_way(identity))
    try:
        return Trees(cluster, Subvolumes(cluster, conf), identity).flatten_trash()
    finally:
        cluster.close()
