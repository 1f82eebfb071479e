# SPDX-License-Identifier: Apache-2.0
"""The protocols by the values of ``cephfs_protocol_helper_type``."""

from manila_lite.drivers.cephfs.protocols.native import Native
from manila_lite.drivers.cephfs.protocols.nfs import Nfs
from manila_lite.drivers.cephfs.protocols.protocol import Protocol

PROTOCOLS: dict[str, type[Protocol]] = {'CEPHFS': Native, 'NFS': Nfs}
