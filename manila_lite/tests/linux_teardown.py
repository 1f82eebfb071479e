# SPDX-License-Identifier: Apache-2.0
"""The end of a linux backend, with everything that it has on this machine. No operator asks a driver for that."""

import contextlib
import shutil

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.directory import Directory
from manila_lite.host import mounts, trees
from manila_lite.host.commands import CommandFailed


def tear_down(driver, *, remove_data=False):
    """Stop and unmount everything of the backend; with ``remove_data``, delete its data too."""
    parts = driver.parts
    parts.protocol_servers.stop()
    for folder in parts.share_servers.folders():
        with parts.share_servers._lock(folder.name):
            parts.share_servers._halt(folder.name)
    close(parts.pool, remove_data=remove_data)
    if remove_data:
        shutil.rmtree(parts.state_dir, ignore_errors=True)


def close(pool, *, remove_data=False):
    """Unmount the pool; with ``remove_data``, delete its data too. Other data on a block device stays."""
    if isinstance(pool, Directory):
        if remove_data:
            with contextlib.suppress(CommandFailed, OSError):
                trees.remove(pool.root / 'shares')
            shutil.rmtree(pool.root / 'left', ignore_errors=True)
        return
    on_device = pool._source.is_block_device()
    if remove_data and on_device and mounts.is_mounted(pool.root):
        for name in ('shares', 'snapshots', 'backups'):
            for path in (pool.root / name).glob('*'):
                btrfs.delete(path)
        shutil.rmtree(pool.root / 'left', ignore_errors=True)
    pool.close()
    if remove_data and not on_device:
        pool._source.unlink(missing_ok=True)
        pool._image_draft.unlink(missing_ok=True)
