# SPDX-License-Identifier: Apache-2.0
"""What the services for the shares of one backend use."""

from manila_lite.drivers.cephfs.protocols.protocol import Protocol
from manila_lite.drivers.cephfs.volumes.pools import Pools
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.drivers.recent_sizes import RecentSizes
from manila_lite.host.locks import Locks


class ShareService:
    """A part of the work on the shares of one backend. Safe for threads, if no two change the same share at once."""

    def __init__(
        self, subvolumes: Subvolumes, pools: Pools, protocol: Protocol, sizes: RecentSizes, locks: Locks
    ):
        self._subvolumes = subvolumes
        self._pools = pools
        self._protocol = protocol
        self._sizes = sizes
        self._locks = locks
