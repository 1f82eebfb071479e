# SPDX-License-Identifier: Apache-2.0
"""The report of a backend: the capacity and the capabilities of its pool, and the values that its exports depend on."""

from collections.abc import Mapping
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.file_servers.export_locations import mount_options
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.protocols import samba_users
from manila_lite.drivers.linux.shares.exports import POOL, ShareExports
from manila_lite.host import ip

_VERSION = '1.0'
#: Capabilities that a plain directory does not have.
_NEED_BTRFS = (
    'snapshot_support',
    'create_share_from_snapshot_support',
    'revert_to_snapshot_support',
    'mount_snapshot_support',
    'snapshot_inherit_share_access_support',
)
#: Options that the exports of all shares depend on.
_OF_EXPORTS = (
    'linux_export_ips',
    'linux_nfs_port',
    'linux_cifs_port',
    'linux_cifs_users',
    'linux_cifs_domain',
    'linux_netns',
    'linux_graceless',
    'linux_grace_period',
)


def report(
    conf: LinuxOptions,
    pool: Pool,
    *,
    exports: ShareExports,
    has_qos: bool,
    capabilities: Mapping[str, bool],
    replication: Mapping[str, object],
) -> values.Pool:
    """Return the one pool of a backend. It is thin: a share takes only the space that it fills.

    ``capabilities`` and ``replication`` are those of the driver; a plain directory lacks some of them.
    """
    total, free = pool.capacity()
    able = pool.CAPABLE
    families = (
        {4, 6}
        if conf.driver_handles_share_servers
        else {6 if ':' in str(address) else 4 for address in conf.linux_export_ips}
    )
    return values.Pool(
        name=POOL,
        total_gb=round(total, 2),
        free_gb=round(free, 2),
        reserved_percentage=conf.reserved_share_percentage,
        thin_provisioning=True,
        max_over_subscription_ratio=conf.max_over_subscription_ratio,
        capabilities={
            'vendor_name': 'manila_lite',
            'driver_version': _VERSION,
            **{name: has and (able or name not in _NEED_BTRFS) for name, has in capabilities.items()},
            'storage_protocol': '_'.join(sorted(exports.protocols, reverse=True)),
            values.MOUNT_OPTIONS: mount_options(exports.ports),
            'mount_point_name_support': True,
            'size_limit_support': able,
            'ipv4_support': 4 in families,
            'ipv6_support': 6 in families,
            'qos': has_qos,
            'dedupe': False,
            'compression': False,
            **(replication if able else {'sg_consistent_snapshot_support': None}),
        },
    )


def fingerprint(conf: LinuxOptions) -> dict[str, str]:
    """Return the values that exports depend on: options, the state of the CIFS user list, and the network namespace."""
    space = (
        str(ip.identity(conf.linux_netns))
        if conf.linux_netns and not conf.driver_handles_share_servers
        else ''
    )
    users = samba_users.stamp(Path(conf.linux_cifs_users)) if conf.linux_cifs_users else ''
    return {name: str(getattr(conf, name)) for name in _OF_EXPORTS} | {'space': space, 'users': users}
