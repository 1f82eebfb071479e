# SPDX-License-Identifier: Apache-2.0
"""The choice of the pool that a backend's options describe."""

from pathlib import Path

from manila_lite.drivers.linux.failover.fence import Fence
from manila_lite.drivers.linux.failover.keeper import Keeper
from manila_lite.drivers.linux.options import LinuxOptions, is_shared, wants_directory
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.drivers.linux.pool.shared_pool import SharedPool


def make_keeper(state_dir: Path, conf: LinuxOptions) -> Keeper | None:
    """Return the keeper of a pool that other hosts can open, too, or None for a pool of this host alone."""
    if not is_shared(conf):
        return None
    fence = Fence(conf.linux_fence_command, conf.linux_fence_timeout)
    return Keeper(Path(conf.linux_pool_path), state_dir, conf.linux_fabric_netns, fence)


def make_pool(state_dir: Path, conf: LinuxOptions, keeper: Keeper | None = None) -> Pool:
    """Return the pool, not opened yet. ``state`` is the backend's state directory, by its real path."""
    source, size = Path(conf.linux_pool_path).resolve(), conf.linux_pool_size_gb
    if keeper:
        return SharedPool(state_dir / 'pool', source, size, keeper)
    return Directory(source) if wants_directory(conf) else BtrfsPool(state_dir / 'pool', source, size)
