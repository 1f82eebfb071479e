# SPDX-License-Identifier: Apache-2.0
"""Addresses of share servers in the administrators' network of their backend: as many as the driver needs for each server, in
all. They never go to another server: one that moves gets others, in the network of the backend that it comes to.
"""

import dataclasses
from typing import Any

from manila_lite import errors
from manila_lite.db.queries import allocations
from manila_lite.engine import Work
from manila_lite.manager.plans import allocated_addresses
from manila_lite.network import load
from manila_lite.network.interface import NetworkPlugin, Subnet


@dataclasses.dataclass(frozen=True)
class AdminSubnet(Subnet):
    """A subnet that is in no share network."""

    id: str = allocations.ADMIN


def check(conf: Any, name: str, driver: Any) -> None:
    """Check that a driver that needs addresses in the administrators' network can get them. No network service is asked.

    :raises errors.BadConfig: an option is missing, or the plugin cannot work; the message is one line.
    """
    section = conf[name]
    if not driver.ADMIN_ALLOCATIONS:
        return
    for option in ('admin_network_id', 'admin_subnet_id'):
        if not section[option]:
            raise errors.BadConfig(
                f'[{name}] {option}: missing; each share server of the driver {section.driver} has '
                f'{driver.ADMIN_ALLOCATIONS} addresses in the network of administrators'
            )
    load.make(conf, section.admin_network_config_group)


def plugin(work: Work[Any]) -> NetworkPlugin:
    """Return the network plugin of the administrators' network."""
    return load.make(work.ctx.conf, work.service.section.admin_network_config_group)


def allocate(work: Work[Any], server_id: str | None = None) -> None:
    """Give the server, or that of the operation, the addresses that its driver needs in the administrators' network.

    :raises errors.Final: the network does not exist, or has not enough addresses left.
    """
    count = work.service.driver.ADMIN_ALLOCATIONS
    if not count:
        return
    allocated_addresses.allocate(
        work.ctx.services, plugin(work), server_id or work.resource_id, _describe(work), count, work.hold
    )


def find(work: Work[Any]) -> AdminSubnet | None:
    """Return the subnet that the options of the backend name, or None, also if the driver needs no addresses in it.

    :raises errors.Final: the network does not exist.
    """
    section = work.service.section
    return _describe(work) if section.admin_network_id and section.admin_subnet_id else None


def _describe(work: Work[Any]) -> AdminSubnet:
    section = work.service.section
    try:
        network = plugin(work).describe(
            section.admin_network_id, section.admin_subnet_id, section.admin_network_project
        )
    except errors.Invalid as bad:
        raise errors.Final(f'The network of administrators: {bad}') from bad
    return AdminSubnet(**{**dataclasses.asdict(network), 'project_id': section.admin_network_project})


def free(work: Work[Any], server_id: str | None = None) -> None:
    """Free the addresses of the server, or of that of the operation, in the administrators' network.

    The present configuration does not matter.
    """
    server_id, subnet_id = server_id or work.resource_id, work.service.section.admin_subnet_id
    administrators = plugin(work)
    allocated_addresses.free(work.ctx.services, administrators, server_id, allocations.ADMIN, work.hold)
    if subnet_id:
        administrators.forget(server_id, subnet_id)


def free_leftovers(manager: Any) -> None:
    """Free everything that the administrators' own network plugin, if there is one, holds for deleted servers."""
    group = manager.section.admin_network_config_group
    if group:
        allocated_addresses.free_leftovers(manager.services, load.make(manager.services.conf, group))
