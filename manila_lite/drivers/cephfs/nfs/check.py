# SPDX-License-Identifier: Apache-2.0
"""Checks for missing requirements of an NFS gateway on this machine. Changes nothing."""

import ipaddress
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.cephfs.nfs import fsal
from manila_lite.drivers.cephfs.nfs.options import NfsOptions, addresses
from manila_lite.drivers.file_servers import compiled
from manila_lite.host.commands import ENV, CommandFailed, run

_PROGRAMS = {
    'ganesha.nfsd': 'nfs-ganesha',
    'dbus-daemon': 'dbus-daemon',
    'rados': 'ceph-common',
    'ip': 'iproute2',
    'unshare': 'util-linux',
}
_HINT = 'name an address that clients reach the NFS server by'
#: What both kinds of NFS servers refuse.
REMOTE = values.Problem(
    'cephfs_ganesha_server_is_remote: an NFS-Ganesha of another machine is not supported',
    'set it to false: the share manager runs NFS-Ganesha itself; or name an NFS cluster of Ceph in '
    'cephfs_nfs_cluster_id',
)


def problems(conf: NfsOptions) -> Iterator[values.Problem]:
    """Yield every missing requirement."""
    if conf.cephfs_ganesha_server_is_remote:
        yield REMOTE
        return
    if os.geteuid():
        yield values.Problem(
            'not running as root', 'NFS-Ganesha needs it; or use cephfs_protocol_helper_type = CEPHFS'
        )
    for program, package in _PROGRAMS.items():
        if not shutil.which(program, path=ENV['PATH']):
            yield values.Problem(f'{program} is not installed', f'apt-get install {package}')
    if fsal.plugin() is None:
        yield values.Problem(
            "NFS-Ganesha's part for CephFS is not installed", 'apt-get install nfs-ganesha-ceph'
        )
    if not compiled.can_be_made():
        yield values.Problem(
            'the guard of NFS connections cannot be compiled', f'apt-get install {compiled.PACKAGES}'
        )
    yield from _store(conf)
    yield from _netns(conf.cephfs_nfs_netns)
    wrong = list(of_addresses(conf, 'cephfs_ganesha_server_ip'))
    yield from wrong or _interfaces(conf)


def _store(conf: NfsOptions) -> Iterator[values.Problem]:
    if conf.ganesha_rados_store_enable and not conf.ganesha_rados_store_pool_name:
        yield values.Problem(
            'ganesha_rados_store_pool_name is empty', 'name a pool that only this service can read'
        )
    if conf.cephfs_nfs_interface and not conf.ganesha_rados_store_enable:
        yield values.Problem(
            'cephfs_nfs_interface needs ganesha_rados_store_enable = true',
            'hosts tell each other through the pool which of them has the addresses',
        )


def _netns(name: str | None) -> Iterator[values.Problem]:
    if name and not Path('/run/netns', name).exists():
        yield values.Problem(
            f'cephfs_nfs_netns: there is no network namespace {name}', f'ip netns add {name}'
        )


def of_addresses(conf: NfsOptions, option: str) -> Iterator[values.Problem]:
    """Yield every problem of the addresses of the NFS server. ``option``: the option to set if there is no address."""
    wanted = addresses(conf)
    if not wanted:
        yield values.Problem(f'{option} is empty', _HINT)
    for address in wanted:
        if ipaddress.ip_address(address).is_unspecified or ipaddress.ip_address(address).is_multicast:
            yield values.Problem(f'{option}: {address} is not the address of one host', _HINT)
            return


def _interfaces(conf: NfsOptions) -> Iterator[values.Problem]:
    wanted, interface = addresses(conf), conf.cephfs_nfs_interface
    links = _links(conf.cephfs_nfs_netns)
    if links is None:
        return
    if interface and interface not in links:
        yield values.Problem(
            f'cephfs_nfs_interface: this host has no interface {interface}',
            f'name one of {", ".join(sorted(links))}',
        )
    if not interface and (strange := sorted(set(wanted) - set().union(*links.values()))):
        yield values.Problem(
            f'cephfs_ganesha_export_ips: this host does not have {", ".join(strange)}',
            'add the address to the host; or name an interface for it in cephfs_nfs_interface',
        )


def _links(netns: str | None) -> dict[str, set[str]] | None:
    """Return the addresses of each interface; None if they cannot be found out."""
    try:
        shown = json.loads(run('ip', *(('-n', netns) if netns else ()), '-json', 'address', 'show'))
    except CommandFailed:
        return None
    return {
        link['ifname'].partition('@')[0]: {
            str(ipaddress.ip_address(entry['local']))
            for entry in link.get('addr_info', ())
            if 'local' in entry
        }
        for link in shown
        if 'ifname' in link
    }
