# SPDX-License-Identifier: Apache-2.0
"""The options of a CephFS backend that serves NFS. Those that Manila's driver has, too, mean the same."""

import ipaddress
from typing import Any

from oslo_config import cfg, types

from manila_lite.conf import numeric

#: Largest number of exports by default: see tools/bench/gateway.py for what each takes.
MOST = 300

OPTIONS = (
    cfg.BoolOpt(
        'cephfs_ganesha_server_is_remote',
        default=False,
        help='Whether an NFS-Ganesha of another machine serves the shares, with exports written over SSH. Must be '
        'false: the share manager runs its own, or uses the NFS cluster in cephfs_nfs_cluster_id.',
    ),
    cfg.StrOpt(
        'cephfs_nfs_cluster_id',
        regex='^[A-Za-z0-9][A-Za-z0-9_.-]*$',
        help='Existing NFS cluster whose gateways serve the shares: one that "ceph nfs cluster ls" shows. Its addresses '
        'are in cephfs_ganesha_export_ips. Default: the share manager runs NFS-Ganesha itself; the other options '
        'about the NFS server are only for that.',
    ),
    cfg.IPOpt(
        'cephfs_ganesha_server_ip',
        help='Address of the NFS server, in the export locations. For several: cephfs_ganesha_export_ips.',
    ),
    cfg.ListOpt(
        'cephfs_ganesha_export_ips',
        item_type=types.IPAddress(),
        default=[],
        help='Addresses of the NFS server, in the export locations. IPv4 comes first, as preferred. Default: '
        'cephfs_ganesha_server_ip.',
    ),
    cfg.BoolOpt(
        'ganesha_rados_store_enable',
        default=False,
        help='Whether exports and the records of NFS clients are kept in the cluster, so that another host can take '
        'over the NFS server. Needs ganesha_rados_store_pool_name.',
    ),
    cfg.StrOpt(
        'ganesha_rados_store_pool_name',
        help='Pool for exports and records of NFS clients. Exports hold keys: give clients no access to it.',
    ),
    cfg.StrOpt(
        'cephfs_nfs_interface',
        help='Network interface that gets the addresses of the NFS server. They move to another host together with the '
        'lease of the backend. Needs ganesha_rados_store_enable. Default: the host has the addresses already, and '
        'they stay.',
    ),
    cfg.StrOpt(
        'cephfs_nfs_netns',
        help='Existing network namespace for the NFS server. It must reach the cluster, too. Default: that of the share '
        'manager.',
    ),
    cfg.PortOpt(
        'cephfs_nfs_port',
        default=2049,
        help='Port of the NFS server. Clients must give any port other than 2049. A change of this option, '
        'cephfs_nfs_netns, cephfs_nfs_graceless or cephfs_nfs_grace_period restarts the NFS server.',
    ),
    cfg.BoolOpt(
        'cephfs_nfs_graceless',
        default=False,
        help='Let clients write at once after a restart of the NFS server. If false, they first have time to reclaim '
        'their locks: keep it false in production.',
    ),
    numeric.Int(
        'cephfs_nfs_grace_period',
        default=30,
        min=20,
        max=180,
        help='Seconds for which clients can reclaim their locks after a restart of the NFS server. Until then no '
        'client can open a file for writing. Must be longer than the NFS lease of 20 seconds.',
    ),
    numeric.Int(
        'cephfs_nfs_connections_per_address',
        default=64,
        min=4,
        max=60000,
        help='Connections that the NFS server has at most from one address; it has 10,000 in all. More are closed at '
        'once. A client has one or a few, but all clients behind one NAT are one address. A change restarts the '
        'NFS server.',
    ),
    numeric.Int(
        'cephfs_nfs_max_exports',
        default=MOST,
        min=1,
        max=5000,
        help='Largest number of shares that the NFS server exports. Each takes memory, threads and open '
        'files: raise it '
        'only with memory to spare.',
    ),
)


#: The section of a cephfs backend that serves NFS.
NfsOptions = Any


def addresses(conf: NfsOptions) -> list[str]:
    """Return the addresses of the NFS server, in the order given."""
    named = conf.cephfs_ganesha_export_ips or [one for one in (conf.cephfs_ganesha_server_ip,) if one]
    return [str(ipaddress.ip_address(str(address))) for address in named]
