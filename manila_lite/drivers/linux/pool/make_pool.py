# SPDX-License-Identifier: Apache-2.0
"""The choice of the pool that a backend's options describe."""

from pathlib import Path

from manila_lite.drivers.linux.options import LinuxOptions, wants_directory
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.pool.directory import Directory


def make_pool(state: Path, conf: LinuxOptions) -> Pool:
    """Return the pool, not opened yet. ``state`` is the backend's state directory, by its real path."""
    source = Path(conf.linux_pool_path).resolve()
    return Directory(source) if wants_directory(conf) else BtrfsPool(state / 'pool', source, conf.linux_pool_size_gb)
