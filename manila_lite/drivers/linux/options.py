# SPDX-License-Identifier: Apache-2.0
"""The options of the linux driver, in the section of its backend."""

from pathlib import Path
from typing import Any

from oslo_config import cfg, types

from manila_lite.conf import numeric

#: The values of linux_pool_fence. With the first one, a pool belongs to this host alone.
FENCES = ('none', 'guard', 'command')

OPTIONS = (
    cfg.StrOpt(
        'linux_pool_path',
        required=True,
        help='Path of the pool: a file, a block device with btrfs, or a directory. A missing file is created; a file '
        'is used through a loop device. A directory has no size limits and no snapshots, and is served over CIFS '
        'only.',
    ),
    numeric.Int(
        'linux_pool_size_gb',
        default=100,
        min=1,
        help='Size in GiB of a pool file that the driver creates. The file is sparse and takes only the used space.',
    ),
    cfg.StrOpt(
        'linux_pool_type',
        default='auto',
        choices=['auto', 'btrfs', 'directory'],
        help='Type of the pool at linux_pool_path. "auto" takes an existing directory as a directory, and all else as '
        'btrfs.',
    ),
    cfg.ListOpt(
        'linux_export_ips',
        item_type=types.IPAddress(),
        default=['127.0.0.1'],
        mutable=True,
        help='Addresses in the export locations of shares without a share server. IPv4 comes first, as preferred.',
    ),
    cfg.PortOpt(
        'linux_nfs_port',
        default=2049,
        help='Port of the NFS server. Clients must give any port other than 2049. A change of this option, '
        'linux_netns, linux_graceless or linux_grace_period restarts the NFS server.',
    ),
    cfg.StrOpt(
        'linux_cifs_users',
        help='File with the users in access rules of CIFS shares and the hashes of their passwords, in the smbpasswd '
        'format of Samba; see manila-linux-user. Without it, or without Samba, the backend serves NFS only. A '
        'change of the file takes effect at once.',
    ),
    cfg.BoolOpt(
        'linux_cifs_active_directory',
        default=False,
        help='With share servers: serve CIFS to users of Active Directory. A share server joins the domain of the security '
        'service of type active_directory that its share network has. Servers of networks without one know the users of '
        'linux_cifs_users. Needs the packages winbind and libnss-winbind.',
    ),
    cfg.StrOpt(
        'linux_cifs_domain',
        help='Without share servers: DNS name of the Active Directory domain whose users have access to CIFS shares, in '
        'place of linux_cifs_users. The CIFS server joins it when the share manager starts.',
    ),
    cfg.ListOpt(
        'linux_cifs_domain_dns',
        default=[],
        help='Addresses of DNS servers of linux_cifs_domain, three at most.',
    ),
    cfg.StrOpt(
        'linux_cifs_domain_server',
        help='Name or address of the only domain controller to ask. Default: DNS names them.',
    ),
    cfg.StrOpt(
        'linux_cifs_domain_ou',
        help='Organizational unit for the computer account, as OU=files,OU=servers. It must exist. Default: CN=Computers.',
    ),
    cfg.StrOpt(
        'linux_cifs_domain_user',
        help='Account that may add computers to linux_cifs_domain. It is used to join and to leave only.',
    ),
    cfg.StrOpt(
        'linux_cifs_domain_password',
        secret=True,
        help='Password of linux_cifs_domain_user, at most 127 bytes.',
    ),
    cfg.PortOpt(
        'linux_cifs_port',
        default=445,
        help='Port of the CIFS server. Clients must give any port other than 445.',
    ),
    numeric.Int(
        'linux_cifs_connections',
        default=1000,
        min=10,
        max=60000,
        help='Connections that a CIFS server has at most; each is a process. More are closed at once. A '
        'change restarts '
        'the CIFS server. An NFS server has 10,000.',
    ),
    numeric.Int(
        'linux_connections_per_address',
        default=64,
        min=4,
        max=60000,
        help='Connections that an NFS or CIFS server has at most from one address. More are closed at once. A client '
        'has one or a few, but all clients behind one NAT are one address. A change restarts the servers.',
    ),
    cfg.StrOpt(
        'linux_netns',
        help='Existing network namespace for the file servers. Default: that of the share manager. Share servers have '
        'their own.',
    ),
    cfg.StrOpt(
        'linux_fabric_netns',
        default='manila-fabric',
        help='Network namespace of the bridges for share servers, with driver_handles_share_servers. It is created '
        'when needed. Backends of one machine with the same networks share it.',
    ),
    cfg.DictOpt(
        'linux_peers',
        default={},
        mutable=True,
        help='Other linux backends from which share servers and shares may migrate, as host@backend:address. The '
        'address is the path of the configuration (file or directory) of a backend of this machine, or '
        'ssh://user@address:port.',
    ),
    cfg.StrOpt(
        'linux_replication_domain',
        mutable=True,
        help='Name of the replication domain. Backends with the same name replicate shares of each other. List each of '
        'them in the linux_peers of the others.',
    ),
    cfg.StrOpt(
        'linux_peer_identity',
        default='/etc/manila_lite/peer_key',
        mutable=True,
        help='File with the private SSH key of this backend for other machines.',
    ),
    cfg.StrOpt(
        'linux_peer_known_hosts',
        default='/etc/manila_lite/peer_hosts',
        mutable=True,
        help='File with the SSH host keys of other machines. A machine with another key is refused.',
    ),
    cfg.BoolOpt(
        'linux_graceless',
        default=False,
        help='Let clients write at once after a restart of the NFS server. If false, they first have time to reclaim '
        'their locks: keep it false in production.',
    ),
    numeric.Int(
        'linux_grace_period',
        default=30,
        min=20,
        max=180,
        help='Seconds for which clients can reclaim their locks after a restart of the NFS server. Until then no '
        'client can open a file for writing. Must be longer than the NFS lease of 20 seconds.',
    ),
    cfg.StrOpt(
        'linux_pool_fence',
        default='none',
        choices=FENCES,
        help='Set it on every host of a backend with several hosts, whose share servers come up on another host when '
        'one dies. linux_pool_path is then a block device that all of them can open. "guard": a host that cannot '
        'renew the lease of the backend stops its share servers and unmounts the pool by itself. A host that hangs '
        'as a whole and goes on later may write to the pool at the same time as the next one, and destroy it. '
        '"command": as "guard", and linux_fence_command turns such a host off first.',
    ),
    cfg.ListOpt(
        'linux_fence_command',
        default=[],
        help='Command and arguments, separated by commas, that turn a host off, or cut it off from the pool, and end '
        'with status 0 only if that is done. {host} is replaced by the host name of that host. It runs before '
        'this host takes over a pool that the other one did not let go of. If it fails, nothing is taken over.',
    ),
    numeric.Int(
        'linux_fence_timeout',
        default=60,
        min=1,
        max=numeric.WEEK,
        help='Seconds for linux_fence_command. If it takes longer, it failed.',
    ),
    numeric.Int(
        'reserved_share_percentage',
        default=5,
        min=0,
        max=100,
        mutable=True,
        help='Percentage of the pool that is kept free.',
    ),
    numeric.Float(
        'max_over_subscription_ratio',
        default=10.0,
        min=1.0,
        mutable=True,
        help='Maximum total size of the shares in the pool, as a multiple of its size.',
    ),
)


#: The section of a linux backend: the values of these options, and of those of every backend.
LinuxOptions = Any


def is_shared(conf: LinuxOptions) -> bool:
    return bool(conf.linux_pool_fence != FENCES[0])


def is_in_domains(conf: LinuxOptions) -> bool:
    """Say whether CIFS servers know the users of Active Directory."""
    with_servers = conf.driver_handles_share_servers
    return bool(conf.linux_cifs_active_directory if with_servers else conf.linux_cifs_domain)


def wants_directory(conf: LinuxOptions) -> bool:
    """Say whether the pool is to be a plain directory."""
    return conf.linux_pool_type == 'directory' or (
        conf.linux_pool_type == 'auto' and Path(conf.linux_pool_path).is_dir()
    )
