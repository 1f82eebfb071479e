# SPDX-License-Identifier: Apache-2.0
"""What the shares of a pool take, and the snapshots of each."""

from collections.abc import Sequence

from manila_lite import values
from manila_lite.drivers.linux.pool import btrfs_usage
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.host import mounts


class Measuring:
    """Looks at all subvolumes of the pool at once."""

    def __init__(self, pool: Pool):
        self._pool = pool

    def usage(self, targets: Sequence[values.UsageTarget]) -> dict[str, values.ShareUsage]:
        """Return what each of these shares takes, by its id; nothing of a plain directory, which counts nothing.

        :raises OSError: the pool cannot be read.
        """
        if not isinstance(self._pool, BtrfsPool) or not mounts.is_mounted(self._pool.root):
            return {}
        taken = btrfs_usage.all_in(self._pool.root, 'shares', 'snapshots')
        shares, snapshots = taken['shares'], taken['snapshots']
        return {
            target.id: values.ShareUsage(
                used_bytes=shares[target.id].referenced,
                limit_bytes=shares[target.id].limit,
                snapshot_bytes=sum(
                    snapshots[snapshot].exclusive for snapshot in target.snapshots if snapshot in snapshots
                ),
            )
            for target in targets
            if target.id in shares
        }
