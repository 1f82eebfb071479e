# SPDX-License-Identifier: Apache-2.0
"""The interface of network plugins. Clients choose networks and subnets by the ids that the plugin knows."""

import abc
import dataclasses
import ipaddress
from collections.abc import Collection, Iterable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Subnet:
    """One subnet as the plugin describes it. ``cidr`` has the prefix length; ``mtu`` in bytes.

    ``project_id``: the project for which it was described; addresses allocated in it belong to that project.
    """

    neutron_net_id: str
    neutron_subnet_id: str
    cidr: str
    ip_version: int
    gateway: str | None = None
    mtu: int | None = None
    network_type: str | None = None
    segmentation_id: int | None = None
    project_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Address:
    """One address in a subnet. ``port_id``: the id of the plugin's own record of the address, if it keeps one."""

    ip_address: str
    mac_address: str | None = None
    port_id: str | None = None


class NetworkPlugin(abc.ABC):
    """A plugin that knows networks, and allocates addresses. Safe to call from several threads and processes at once.

    The caller keeps the addresses in use in the database, under a unique constraint. Two callers may be given the same
    address; the caller that cannot store it frees it and asks again.
    """

    #: Whether a call asks another service, which may take long to answer.
    REMOTE = True

    @abc.abstractmethod
    def __init__(self, conf: Any):
        """Read the configuration; change nothing.

        :raises errors.BadConfig: the plugin cannot work; one line that names the option.
        """

    @abc.abstractmethod
    def describe(self, net_id: str, subnet_id: str, project_id: str | None) -> Subnet:
        """Return a subnet that the project may use.

        :raises errors.Invalid: the network is not known or not the project's (code ``network_not_known``), or has no
            such subnet; the message names the id.
        :raises errors.Unavailable: the network service cannot be reached.
        """

    def find_default(self, project_id: str | None) -> Subnet | None:
        """Return the default subnet of the project, or None. It is for requests without a network, or with an unknown one.

        It is known from the configuration alone: no other service is asked.
        """
        return None

    @abc.abstractmethod
    def allocate(self, subnet: Subnet, count: int, *, taken: Collection[str], owner: str) -> list[Address]:
        """Allocate ``count`` addresses of the subnet to ``owner`` (a share server's id).

        A second call for the same owner may return the same addresses: the caller's transaction may have failed.
        ``taken``: addresses that are in use already.

        :raises errors.Final: the subnet has too few free addresses (``detail`` SUBNET_FULL).
        :raises errors.Unavailable: the network service cannot be reached.
        """

    def must_have_room(self, subnet: Subnet, count: int, *, taken: Collection[str]) -> None:
        """Check that ``count`` more addresses of the subnet can be expected to be allocated. Changes nothing.

        ``taken``: as for ``allocate``. A plugin that cannot know says nothing.

        :raises errors.Final: the subnet has too few free addresses, or the project may not have so many; the message
            gives the user the reason.
        :raises errors.Unavailable: the network service cannot be reached.
        """

    @abc.abstractmethod
    def free(self, addresses: Iterable[Address]) -> None:
        """Free the addresses; those that are not allocated are left as they are.

        :raises errors.Unavailable: the network service cannot be reached.
        """

    def adopt(self, subnet: Subnet, addresses: Iterable[str], *, owner: str) -> list[Address]:
        """Record the addresses as allocated to ``owner``, which uses them already. May be called again.

        :raises errors.Final: one of them is known to belong to another owner.
        :raises errors.Unavailable: the network service cannot be reached.
        """
        return [Address(address) for address in addresses]

    def disown(self, addresses: Iterable[Address]) -> None:
        """Remove the owner from the records of the addresses, which stay in use. May be called again.

        :raises errors.Unavailable: the network service cannot be reached.
        """

    # For plugins that keep records of their own -----------------------------------------------------

    def hand_over(self, addresses: Iterable[Address], *, owner: str) -> None:
        """Record that the addresses, which another owner had, are allocated to ``owner``. May be called again.

        :raises errors.Unavailable: the network service cannot be reached.
        """

    def forget(self, owner: str, subnet_id: str | None = None) -> None:
        """Free all addresses of ``owner``, also those that the caller does not know (``subnet_id``: only in that subnet).

        :raises errors.Unavailable: the network service cannot be reached.
        """

    def owners(self) -> set[str]:
        """Return the owners of all addresses; some may be unknown to the caller, because other programs may use the
        same records.

        :raises errors.Unavailable: the network service cannot be reached.
        """
        return set()


def overlap(one: str, other: str) -> bool:
    """Say whether two subnets (addresses with prefix lengths) have an address in common."""
    first, second = ipaddress.ip_network(one), ipaddress.ip_network(other)
    return first.version == second.version and first.overlaps(second)
