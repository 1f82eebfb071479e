# SPDX-License-Identifier: Apache-2.0
"""The pools and capabilities that the dummy reports."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from oslo_utils import strutils

from manila_lite import values
from manila_lite.drivers import interface
from manila_lite.drivers.dummy.store import ShareRecord


def promise(conf: Any) -> float:
    """Return the GiB that a pool may promise to all its shares together."""
    ratio = conf.dummy_max_over_subscription_ratio if conf.dummy_thin_provisioning else 1.0
    return float(conf.dummy_pool_size_gb * ratio)


def pools(driver: interface.ShareDriver, shares: Iterable[ShareRecord]) -> list[values.Pool]:
    """Return every pool of the options, with the free capacity that the shares leave."""
    conf = driver.backend.conf
    thin = conf.dummy_thin_provisioning
    total = conf.dummy_pool_size_gb
    by_pool: dict[str, list[ShareRecord]] = {}
    for share in shares:
        by_pool.setdefault(share.pool, []).append(share)
    answer = []
    for name in conf.dummy_pools:
        mine = by_pool.get(name, [])
        allocated = float(sum(share.size for share in mine))
        taken = sum(share.used for share in mine) if thin else allocated
        answer.append(
            values.Pool(
                name,
                total_gb=total,
                free_gb=max(total - taken, 0.0),
                reserved_percentage=conf.dummy_reserved_percentage,
                thin_provisioning=thin,
                max_over_subscription_ratio=conf.dummy_max_over_subscription_ratio if thin else 1.0,
                capabilities=capabilities(driver),
            )
        )
    return answer


def capabilities(driver: interface.ShareDriver) -> dict[str, Any]:
    """Return the capabilities of the dummy, overruled by the option ``dummy_capabilities``."""
    conf = driver.backend.conf
    versions = (
        {4, 6}
        if driver.HANDLES_SHARE_SERVERS
        else {ipaddress.ip_address(address).version for address in conf.dummy_export_ips}
    )
    return {
        'storage_protocol': '_'.join(proto.upper() for proto in conf.dummy_protocols),
        'vendor_name': 'manila_lite',
        'mount_point_name_support': True,
        'qos': True,
        'encryption_support': ['share', 'share_server'] if driver.HANDLES_SHARE_SERVERS else ['share'],
        'ipv4_support': 4 in versions,
        'ipv6_support': 6 in versions,
        **interface.capabilities_of(driver),
        **interface.replication_of(driver, conf.dummy_replication_domain),
        **{key: _value(text) for key, text in conf.dummy_capabilities.items()},
    }


def _value(text: str) -> Any:
    """Return the boolean that a text means, or the text itself."""
    return strutils.bool_from_string(text) if text.lower() in ('true', 'false') else text
