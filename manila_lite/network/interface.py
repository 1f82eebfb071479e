# SPDX-License-Identifier: Apache-2.0
"""What a network plugin promises. The ids of its networks and subnets are those that clients choose by."""

import abc
import dataclasses
import ipaddress
from collections.abc import Collection, Iterable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Subnet:
    """One subnet as the plugin describes it. ``cidr`` has the prefix length; ``mtu`` in bytes.

    ``project_id``: for whom it was described; addresses given in it are that project's.
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
    """One address in a subnet. ``port_id`` names the plugin's own record of it, if it keeps one."""

    ip_address: str
    mac_address: str | None = None
    port_id: str | None = None


class NetworkPlugin(abc.ABC):
    """Knows networks, and gives and takes addresses. Safe to call from several threads and processes at once.

    Which addresses are in use is kept in the database by the caller, under a unique constraint. Two callers may be
    given the same address; the one that cannot store it frees it and asks again.
    """

    #: Whether somebody else has to be asked, who may take long to answer.
    REMOTE = True

    @abc.abstractmethod
    def __init__(self, conf: Any):
        """Read the configuration; nothing is changed anywhere.

        :raises errors.BadConfig: it cannot work; one line that names the option.
        """

    @abc.abstractmethod
    def describe(self, net_id: str, subnet_id: str, project_id: str | None) -> Subnet:
        """Return a subnet that the project may use.

        :raises errors.Invalid: the network or the subnet is not known, not the project's, or they do not belong
            together; the message names the id.
        :raises errors.Unavailable: whoever knows cannot be reached.
        """

    @abc.abstractmethod
    def allocate(self, subnet: Subnet, count: int, *, taken: Collection[str], owner: str) -> list[Address]:
        """``count`` addresses of the subnet belong to ``owner`` (a share server's id).

        Called again for the same owner it may give the same ones: the caller's transaction may have failed.
        ``taken``: addresses that are in use already.

        :raises errors.Final: the subnet has not so many left (``detail`` SUBNET_FULL).
        :raises errors.Unavailable: whoever gives them cannot be reached.
        """

    @abc.abstractmethod
    def free(self, addresses: Iterable[Address]) -> None:
        """The addresses belong to nobody; those that did not belong to anybody are let be.

        :raises errors.Unavailable: whoever takes them back cannot be reached.
        """

    def adopt(self, subnet: Subnet, addresses: Iterable[str], *, owner: str) -> list[Address]:
        """These addresses of the subnet belong to ``owner``, who uses them already. May be called again.

        :raises errors.Final: one of them is known to be another's.
        :raises errors.Unavailable: whoever gives them cannot be reached.
        """
        return [Address(address) for address in addresses]

    def disown(self, addresses: Iterable[Address]) -> None:
        """The addresses belong to nobody that we know of, who goes on using them. May be called again.

        :raises errors.Unavailable: whoever keeps the records cannot be reached.
        """

    # For plugins that keep records of their own -----------------------------------------------------

    def forget(self, owner: str, subnet_id: str | None = None) -> None:
        """Nothing belongs to ``owner`` (``subnet_id``: in that subnet of the plugin), also what the caller never heard of.

        :raises errors.Unavailable: whoever keeps the records cannot be reached.
        """

    def owners(self) -> set[str]:
        """Return to whom something belongs; others than the caller may use the same records.

        :raises errors.Unavailable: whoever keeps the records cannot be reached.
        """
        return set()


def overlap(one: str, other: str) -> bool:
    """Say whether two subnets (addresses with prefix lengths) have an address in common."""
    first, second = ipaddress.ip_network(one), ipaddress.ip_network(other)
    return first.version == second.version and first.overlaps(second)
