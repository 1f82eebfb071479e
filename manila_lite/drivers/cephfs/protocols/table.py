# SPDX-License-Identifier: Apache-2.0
"""The protocols by the values of ``cephfs_protocol_helper_type``, and whose servers they use."""

from typing import Any

from manila_lite.drivers.cephfs.protocols.native import Native
from manila_lite.drivers.cephfs.protocols.nfs import Nfs
from manila_lite.drivers.cephfs.protocols.nfs_cluster import NfsCluster
from manila_lite.drivers.cephfs.protocols.protocol import Protocol

PROTOCOLS: dict[str, type[Protocol]] = {'CEPHFS': Native, 'NFS': Nfs}


def protocol_of(conf: Any) -> type[Protocol]:
    found = PROTOCOLS[conf.cephfs_protocol_helper_type.upper()]
    return NfsCluster if found is Nfs and conf.cephfs_nfs_cluster_id else found
