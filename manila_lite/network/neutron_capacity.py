# SPDX-License-Identifier: Apache-2.0
"""Free addresses and ports in Neutron. Both are extensions of its API: without one of them nothing is known."""

from collections.abc import Callable
from typing import Any

import openstack.exceptions

from manila_lite.network.interface import Subnet


def count_free_addresses(neutron: Any, subnet: Subnet) -> int | None:
    """Return the number of free addresses in a subnet, or None if Neutron does not tell."""
    network = _told(lambda: neutron.get_network_ip_availability(subnet.neutron_net_id))
    for row in (network and network.subnet_ip_availability) or ():
        if row.get('subnet_id') == subnet.neutron_subnet_id:
            return max(int(row['total_ips']) - int(row['used_ips']), 0)
    return None


def count_free_ports(neutron: Any, project_id: str | None) -> int | None:
    """Return the number of ports that a project may still have, or None without a limit or if Neutron does not tell."""
    quota = project_id and _told(lambda: neutron.get_quota(project_id, details=True))
    ports = quota and quota.ports
    if not ports or int(ports['limit']) < 0:
        return None
    return max(int(ports['limit']) - int(ports['used']) - int(ports['reserved']), 0)


def _told(ask: Callable[[], Any]) -> Any:
    """Return the answer of Neutron, or None if it does not have that call, or only for others."""
    try:
        return ask()
    except (openstack.exceptions.NotFoundException, openstack.exceptions.ForbiddenException):
        return None
