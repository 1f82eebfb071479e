# SPDX-License-Identifier: Apache-2.0
"""Checks for missing requirements of real storage, with the package that provides each."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.file_servers import compiled
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux.options import LinuxOptions, is_in_domains
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.protocols import handle_guard, samba_users, winbind
from manila_lite.host.commands import ENV, CommandFailed, run

_PROGRAMS = {'mount': 'mount', 'umount': 'mount'}
#: NFS needs a btrfs pool, so its programs are in this table too.
_BTRFS_PROGRAMS = {
    'mkfs.btrfs': 'btrfs-progs',
    'btrfs': 'btrfs-progs',
    'losetup': 'mount',
    'ganesha.nfsd': 'nfs-ganesha',
    'dbus-daemon': 'dbus-daemon',
}
_DIRECTORY_PROGRAMS = {'bwrap': 'bubblewrap', 'find': 'findutils'}
_SERVER_PROGRAMS = {'ip': 'iproute2', 'tc': 'iproute2', 'nsenter': 'util-linux', 'sysctl': 'procps'}
_CIFS_PROGRAMS = {'smbcontrol': 'samba', 'smbd': 'samba'}
_DOMAIN_PROGRAMS = {'net': 'samba-common-bin', 'winbindd': 'winbind', 'wbinfo': 'winbind'}


def lacks_for_cifs(conf: LinuxOptions) -> str:
    """Return the reason why CIFS cannot be served, or ''."""
    in_domains = is_in_domains(conf)
    if not (conf.linux_cifs_users or in_domains):
        return 'linux_cifs_users names no file with users'
    lacks = {
        package: program
        for program, package in (_CIFS_PROGRAMS | (_DOMAIN_PROGRAMS if in_domains else {})).items()
        if not shutil.which(program, path=ENV['PATH'])
    }
    if in_domains and not winbind.library():
        lacks['libnss-winbind'] = winbind.LIBRARY
    if not samba_users.is_installed():
        lacks['libnss-wrapper'] = 'libnss_wrapper.so'
    if not compiled.can_be_made():
        lacks[compiled.PACKAGES] = compiled.COMPILER
    return f'{", ".join(lacks.values())} not installed: apt-get install {" ".join(lacks)}' if lacks else ''


def problems(backend: Backend, *, needs_btrfs: bool) -> Iterator[values.Problem]:
    """Yield every missing requirement. Changes nothing."""
    if os.geteuid():
        yield values.Problem(
            'not running as root', 'mounts and the NFS server need it; or use driver = dummy'
        )
    with_servers = backend.conf.driver_handles_share_servers
    wanted = (
        _PROGRAMS
        | (_BTRFS_PROGRAMS if needs_btrfs else _DIRECTORY_PROGRAMS)
        | (_SERVER_PROGRAMS if with_servers else {})
    )
    for program, package in wanted.items():
        if not shutil.which(program, path=ENV['PATH']):
            yield values.Problem(f'{program} is not installed', f'apt-get install {package}')
    source = Path(backend.conf.linux_pool_path)
    if needs_btrfs:
        yield from _btrfs(source)
        yield from _nfs()
    elif lacks := lacks_for_cifs(backend.conf):
        yield values.Problem(
            f'linux_pool_path: {source} is a plain directory, which is served over CIFS only, and {lacks}',
            'name a file or a block device for btrfs; manila-linux-convert copies what a directory holds',
        )
    elif source.exists() and not source.is_dir():
        yield values.Problem(
            f'linux_pool_path: {source} is not a directory', 'use linux_pool_type = btrfs or auto'
        )
    if not with_servers:
        yield from _address(backend)


def _nfs() -> Iterator[values.Problem]:
    if handle_guard.plugin() is None:
        yield values.Problem(
            "NFS-Ganesha's part for local file systems is not installed", 'apt-get install nfs-ganesha-vfs'
        )
    if not compiled.can_be_made():
        yield values.Problem(
            'the guard of NFS file handles cannot be compiled', f'apt-get install {compiled.PACKAGES}'
        )


def _address(backend: Backend) -> Iterator[values.Problem]:
    if not backend.conf.linux_export_ips:
        yield values.Problem(
            'linux_export_ips is empty', 'name an address that clients reach the NFS server by'
        )
    if backend.conf.linux_netns:
        yield from _netns(backend.conf.linux_netns)


def _netns(name: str) -> Iterator[values.Problem]:
    if not shutil.which('nsenter', path=ENV['PATH']):
        yield values.Problem('nsenter is not installed', 'apt-get install util-linux')
    if not Path('/run/netns', name).exists():
        yield values.Problem(f'linux_netns: there is no network namespace {name}', f'ip netns add {name}')


def _btrfs(source: Path) -> Iterator[values.Problem]:
    try:
        ctypes.CDLL(btrfs.LIBRARY)
    except OSError:
        yield values.Problem(f'{btrfs.LIBRARY} is not installed', 'apt-get install libbtrfsutil1')
    if 'btrfs' not in Path('/proc/filesystems').read_text().split() and not _can_load('btrfs'):
        yield values.Problem(
            'the kernel has no btrfs', 'use a kernel with btrfs, or linux_pool_type = directory'
        )
    if source.is_dir():
        yield values.Problem(
            f'linux_pool_path: {source} is a directory',
            'name a file or a block device, or use linux_pool_type = directory',
        )
    elif not source.is_block_device() and not Path('/dev/loop-control').exists() and not _can_load('loop'):
        yield values.Problem('the kernel has no loop devices', 'name a block device in linux_pool_path')


def _can_load(module: str) -> bool:
    try:
        run('modprobe', '--dry-run', '--quiet', module)
    except CommandFailed:
        return False
    return True
