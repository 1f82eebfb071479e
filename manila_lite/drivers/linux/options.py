# SPDX-License-Identifier: Apache-2.0
"""The options of the linux driver, in the section of its backend."""

from pathlib import Path
from typing import Any

from oslo_config import cfg, types

OPTIONS = (
    cfg.StrOpt('linux_pool_path', required=True,
               help='Where shares live: a file (made when missing, and used through a loop device), a block device with '
                    'btrfs on it, or a directory, which has no size limits and no snapshots, and is served over CIFS only.'),
    cfg.IntOpt('linux_pool_size_gb', default=100, min=1, help='Size in GiB of a pool file that has to be made; it is '
                                                              'sparse and takes only what is used.'),
    cfg.StrOpt('linux_pool_type', default='auto', choices=['auto', 'btrfs', 'directory'],
               help='What linux_pool_path is; "auto" takes an existing directory for a directory and all else for btrfs.'),
    cfg.ListOpt('linux_export_ips', item_type=types.IPAddress(), default=['127.0.0.1'],
                help='Addresses in the export locations, without share servers. IPv4 is listed first, as preferred.'),
    cfg.PortOpt('linux_nfs_port', default=2049, help='Port of the NFS server. Clients must name another than 2049. A '
                                                     'change restarts the NFS server, as of the three options below.'),
    cfg.StrOpt('linux_cifs_users',
               help='File with the users that CIFS shares may be opened to, and hashes of their passwords, in the form that '
                    'Samba calls smbpasswd; see manila-linux-user. Without it, or without Samba, the backend serves NFS '
                    'only. Changes of the file are heeded at once.'),
    cfg.PortOpt('linux_cifs_port', default=445, help='Port of the CIFS server. Clients must name another than 445.'),
    cfg.StrOpt('linux_netns', help='Network namespace to run the file servers in; it must exist. Default: that of the '
                                   'share manager. Share servers have their own.'),
    cfg.StrOpt('linux_fabric_netns', default='manila-fabric',
               help='Network namespace with the bridges that share servers are plugged into, with '
                    'driver_handles_share_servers; made when needed. Backends of one machine that serve the same networks '
                    'share it.'),
    cfg.DictOpt('linux_peers', default={},
                help='Other backends of this driver that share servers and shares may come from, as host@backend:how. How is '
                     'the path of the configuration (file or folder) of a backend of this machine, or ssh://user@address:port.'),
    cfg.StrOpt('linux_replication_domain',
               help='Name that this backend has in common with others that replicate shares of each other; each of them is '
                    'named in the linux_peers of the others.'),
    cfg.StrOpt('linux_peer_identity', default='/etc/manila_lite/peer_key',
               help='Private key by which other machines know this backend as a peer.'),
    cfg.StrOpt('linux_peer_known_hosts', default='/etc/manila_lite/peer_hosts',
               help='Host keys of other machines, as ssh has them; a machine with any other key is refused.'),
    cfg.BoolOpt('linux_graceless', default=False,
                help='Whether clients may write at once after the NFS server was restarted. Off, they get time to '
                     'reclaim their locks first, which is right for production.'),
    cfg.IntOpt('linux_grace_period', default=30, min=20, max=180,
               help='Seconds that clients get to reclaim their locks after the NFS server was restarted; so long nobody '
                    'can open a file to write. More than the 20 seconds of a lease.'),
    cfg.IntOpt('reserved_share_percentage', default=5, min=0, max=100, help='Share of the pool that is kept free.'),
    cfg.FloatOpt('max_over_subscription_ratio', default=10.0, min=1.0,
                 help='How many times its size the pool may promise to shares.'),
)


def wants_directory(conf: Any) -> bool:
    """Say whether the pool is to be a plain directory."""
    return conf.linux_pool_type == 'directory' or (conf.linux_pool_type == 'auto' and Path(conf.linux_pool_path).is_dir())
