# SPDX-License-Identifier: Apache-2.0
"""The common base of the parts for the shares of one backend."""

from manila_lite.drivers.linux.servers.qos import ShareQos
from manila_lite.drivers.linux.shares.exports import ShareExports
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.drivers.recent_sizes import RecentSizes


class ShareService:
    """A part of the work on the shares and snapshots of one backend. Safe for threads, if no two change the same at once."""

    def __init__(self, storage: Storage, exports: ShareExports, qos: ShareQos, sizes: RecentSizes):
        self._storage = storage
        self._exports = exports
        self._qos = qos
        self._sizes = sizes
