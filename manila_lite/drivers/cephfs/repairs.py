# SPDX-License-Identifier: Apache-2.0
"""Repairs of a backend's cluster that an administrator asks for. No service needs to run."""

import contextlib
from collections.abc import Iterator

from manila_lite.drivers.cephfs.cluster.cluster import Cluster, find_way
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.volumes.objects import Objects
from manila_lite.drivers.cephfs.volumes.pools import Pools
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.drivers.cephfs.volumes.trees import Trees


def flatten_trash(conf: CephfsOptions) -> int:
    """Move directories up in the trash that are too deep for managers. Return how many there were.

    :raises Away: monitors or metadata servers do not answer.
    """
    with _cluster(conf) as (cluster, identity):
        return Trees(cluster, Subvolumes(cluster, conf), identity).flatten_trash()


def strange_objects(conf: CephfsOptions) -> list[str]:
    """Count objects in the RADOS namespaces of shares. Return what is wrong, in words.

    :raises Away: monitors or metadata servers do not answer.
    """
    with _cluster(conf) as (cluster, identity):
        subvolumes = Subvolumes(cluster, conf)
        objects = Objects(cluster, subvolumes, Pools(cluster, subvolumes, conf), identity)
        objects.count()
        return objects.problems()


@contextlib.contextmanager
def _cluster(conf: CephfsOptions) -> Iterator[tuple[Cluster, Identity]]:
    identity = Identity.of(conf)
    cluster = Cluster(lambda: conf.cephfs_command_timeout, lambda: find_way(identity))
    try:
        yield cluster, identity
    finally:
        cluster.close()
