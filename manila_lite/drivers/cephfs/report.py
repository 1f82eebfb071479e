# SPDX-License-Identifier: Apache-2.0
"""The report of a backend: capacity and capabilities of its pools, and the values that its exports depend on."""

from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import values
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.protocols.protocol import Protocol
from manila_lite.drivers.cephfs.volumes.pools import Pools

_VERSION = '1.0'
#: Options that the exports of all shares depend on.
_OF_EXPORTS = (
    'cephfs_conf_path',
    'cephfs_cluster_name',
    'cephfs_filesystem_name',
    'cephfs_protocol_helper_type',
    'cephfs_subvolume_group',
)


def report(
    conf: CephfsOptions,
    pools: Pools,
    protocol: Protocol,
    capabilities: Mapping[str, bool],
    of_first: dict[str, Any],
) -> Sequence[values.Pool]:
    """Return the pools of a backend, one for each data pool. They are thin: a share takes only the space that it fills.

    ``capabilities`` are those of the driver; ``of_first`` are those of the whole backend, which its first pool reports.
    """
    more: dict[str, Any] = {
        'vendor_name': 'Ceph',
        'driver_version': _VERSION,
        **capabilities,
        'storage_protocol': protocol.NAME,
        'mount_point_name_support': False,
        'size_limit_support': True,
        'qos': False,
        'dedupe': False,
        'compression': False,
        **protocol.capabilities(),
    }
    first = next(iter(pools.names()))
    return [
        values.Pool(
            name=name,
            total_gb=round(capacity.total, 2),
            free_gb=round(min(capacity.free, capacity.total), 2),
            reserved_percentage=conf.reserved_share_percentage,
            thin_provisioning=True,
            max_over_subscription_ratio=conf.max_over_subscription_ratio,
            capabilities=more | (of_first if name == first else {}),
        )
        for name, capacity in pools.capacities().items()
    ]


def fingerprint(conf: CephfsOptions, protocol: Protocol) -> dict[str, str]:
    return {name: str(getattr(conf, name)) for name in _OF_EXPORTS} | dict(protocol.dependencies())
