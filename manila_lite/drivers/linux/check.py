# SPDX-License-Identifier: Apache-2.0
"""What the machine lacks for real storage, and which package has it."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from manila_lite import kinds
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux import btrfs
from manila_lite.drivers.linux.run import ENV

_PROGRAMS = {'ganesha.nfsd': 'nfs-ganesha', 'dbus-daemon': 'dbus-daemon', 'mount': 'mount', 'umount': 'mount'}
_BTRFS_PROGRAMS = {'mkfs.btrfs': 'btrfs-progs', 'btrfs': 'btrfs-progs', 'losetup': 'mount'}
_FSAL = '*/ganesha/libfsalvfs.so'


def problems(backend: Backend, *, needs_btrfs: bool) -> Iterator[kinds.Problem]:
    """Yield everything that is missing. Changes nothing."""
    if os.geteuid():
        yield kinds.Problem('not running as root', 'mounts and the NFS server need it; or use driver = dummy')
    for program, package in {**_PROGRAMS, **(_BTRFS_PROGRAMS if needs_btrfs else {})}.items():
        if not shutil.which(program, path=ENV['PATH']):
            yield kinds.Problem(f'{program} is not installed', f'apt-get install {package}')
    if not any(Path('/usr/lib').glob(_FSAL)):
        yield kinds.Problem("NFS-Ganesha's part for local file systems is not installed", 'apt-get install nfs-ganesha-vfs')
    if needs_btrfs:
        yield from _btrfs()
    netns = backend.conf.linux_netns
    if netns:
        if not shutil.which('nsenter', path=ENV['PATH']):
            yield kinds.Problem('nsenter is not installed', 'apt-get install util-linux')
        if not Path('/run/netns', netns).exists():
            yield kinds.Problem(f'linux_netns: there is no network namespace {netns}', f'ip netns add {netns}')


def _btrfs() -> Iterator[kinds.Problem]:
    try:
        ctypes.CDLL(btrfs.LIBRARY)
    except OSError:
        yield kinds.Problem(f'{btrfs.LIBRARY} is not installed', 'apt-get install libbtrfsutil1')
    if 'btrfs' not in Path('/proc/filesystems').read_text().split() and not shutil.which('modprobe', path=ENV['PATH']):
        yield kinds.Problem('the kernel has no btrfs', 'use a kernel with btrfs, or linux_pool_type = directory')
