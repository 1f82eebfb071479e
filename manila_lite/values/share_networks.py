# SPDX-License-Identifier: Apache-2.0
"""The network of a share server: its subnets, its addresses in them, and its security services."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Allocation:
    """An address of a share server, with the properties of its network.

    ``cidr`` has the prefix length. ``subnet_id`` is the share network subnet, or None in the network of administrators.
    ``mtu`` in bytes.
    """

    id: str
    ip_address: str
    cidr: str
    ip_version: int
    subnet_id: str | None = None
    gateway: str | None = None
    mtu: int | None = None
    network_type: str | None = None
    segmentation_id: int | None = None
    neutron_net_id: str | None = None
    mac_address: str | None = None


@dataclasses.dataclass(frozen=True)
class SecurityService:
    """A directory service with the users of a share network: ``type`` is ldap, kerberos or active_directory."""

    id: str
    type: str
    name: str | None = None
    dns_ip: str | None = None
    server: str | None = None
    domain: str | None = None
    ou: str | None = None
    user: str | None = None
    password: str | None = dataclasses.field(default=None, repr=False)
    default_ad_site: str | None = None


@dataclasses.dataclass(frozen=True)
class ServerNetwork:
    """One subnet of a share network and the addresses in it that belong to one share server.

    Without ``allocations`` the server is not in the subnet yet: the driver is asked first whether it can add it.
    """

    subnet_id: str
    cidr: str
    ip_version: int
    allocations: tuple[Allocation, ...] = ()
    availability_zone: str | None = None
    neutron_net_id: str | None = None
    neutron_subnet_id: str | None = None
    gateway: str | None = None
    mtu: int | None = None
    network_type: str | None = None
    segmentation_id: int | None = None
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
