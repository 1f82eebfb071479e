# SPDX-License-Identifier: Apache-2.0
"""Network plugin for Neutron. Each address of a share server is a port of the project of the share network.

A port names its owner in ``device_id`` (the share server) and ``name`` (the server and the subnet). A process that died
after it made a port, before the port was stored, finds the port again.
"""

import uuid
from collections.abc import Collection, Iterable
from typing import Any

import openstack.exceptions

from manila_lite import errors
from manila_lite.network import neutron_capacity, neutron_ports, neutron_session
from manila_lite.network.interface import Address, NetworkPlugin, Subnet

#: Ports with an address that the caller knows to be in use: with more of them, the allocation fails.
_CLASHES = 5
#: The action of Neutron's RBAC rules that let a project use a network.
_SHARED = 'access_as_shared'


class Neutron(NetworkPlugin):
    """The networks of the Neutron of ``[neutron]``, with the login of a user that sees all of them."""

    def __init__(self, conf: Any):
        self._session = neutron_session.connect(conf)  # it registers the options
        self._physical_network = conf.neutron.physical_network

    # Looking up -----------------------------------------------------------------------------------

    def describe(self, net_id: str, subnet_id: str, project_id: str | None) -> Subnet:
        with self._session.asked() as neutron:
            net = _get(neutron.get_network, net_id)
            if net is None or not self._may_use(neutron, net, project_id):
                raise errors.Invalid(
                    f'neutron_net_id: network {net_id} is not known.', code='network_not_known'
                )
            subnet = _get(neutron.get_subnet, subnet_id)
            if subnet is None or subnet.network_id != net.id:
                raise errors.Invalid(
                    f'neutron_subnet_id: network {net_id} has no subnet {subnet_id}.', code='subnet_not_known'
                )
            network_type, segmentation_id = self._segment(neutron, net, subnet)
        return Subnet(
            net.id,
            subnet.id,
            subnet.cidr,
            subnet.ip_version,
            subnet.gateway_ip,
            net.mtu,
            network_type,
            segmentation_id,
            project_id,
        )

    @staticmethod
    def _may_use(neutron: Any, net: Any, project_id: str | None) -> bool:
        """Say whether a project may use a network: it owns it, or an RBAC rule shares it.

        Neutron's ``shared`` attribute describes the user that asks, not the project.
        """
        if net.project_id == project_id:
            return True
        rules = neutron.rbac_policies(object_type='network', object_id=net.id, action=_SHARED)
        return any(rule.target_project_id in ('*', project_id) for rule in rules)

    def _segment(self, neutron: Any, net: Any, subnet: Any) -> tuple[str | None, int | None]:
        """Return type and id of the subnet's segment or, without one, of the network's segment on ``physical_network``."""
        if subnet.segment_id:
            own = neutron.get_segment(subnet.segment_id)
            return own.network_type, own.segmentation_id
        if not net.segments:
            return net.provider_network_type, net.provider_segmentation_id
        if not self._physical_network:
            raise errors.BadConfig(
                f'[neutron] physical_network: missing; network {net.id} has several segments'
            )
        for segment in net.segments:
            if segment['provider:physical_network'] == self._physical_network:
                return segment['provider:network_type'], segment['provider:segmentation_id']
        raise errors.Invalid(
            f'neutron_net_id: network {net.id} has no segment in the physical network of the share servers.',
            code='network_not_reachable',
        )

    # Allocating -----------------------------------------------------------------------------------

    def allocate(self, subnet: Subnet, count: int, *, taken: Collection[str], owner: str) -> list[Address]:
        """Return addresses of the owner's ports in the subnet: first ports unknown to the caller, then new ones."""
        with self._session.asked() as neutron:
            existing = [
                address
                for address in neutron_ports.given(neutron, owner, subnet)
                if address.ip_address not in taken
            ][:count]
            made: list[Address] = []
            useless: list[Address] = []
            try:
                while len(existing) + len(made) < count and len(useless) <= _CLASHES:
                    one = neutron_ports.make(neutron, subnet, owner)
                    (useless if one.ip_address in taken else made).append(one)
            except errors.Final:
                useless.extend(made)
                raise
            finally:
                neutron_ports.delete(neutron, (address.port_id for address in useless))
        if len(existing) + len(made) < count:
            # The port of an address in use was deleted in Neutron, which now gives the address away again.
            raise errors.Unavailable(
                f'Neutron gives addresses of subnet {subnet.neutron_subnet_id} that are in use.'
            )
        return existing + made

    def must_have_room(self, subnet: Subnet, count: int, *, taken: Collection[str]) -> None:
        """Compare free addresses and the project's quota of ports with ``count``, as far as this Neutron tells."""
        with self._session.asked() as neutron:
            left = neutron_capacity.count_free_addresses(neutron, subnet)
            if left is not None and left < count:
                raise errors.Final(
                    f'Subnet {subnet.neutron_subnet_id} ({subnet.cidr}) has '
                    f'{errors.count(left, "address")} left, and {count} '
                    'are needed.',
                    detail='SUBNET_FULL',
                )
            ports = neutron_capacity.count_free_ports(neutron, subnet.project_id)
            if ports is not None and ports < count:
                raise errors.Final(
                    f'The project may have {ports} more ports in Neutron, and {count} are needed.'
                )

    # Freeing --------------------------------------------------------------------------------------

    def free(self, addresses: Iterable[Address]) -> None:
        with self._session.asked() as neutron:
            neutron_ports.delete(neutron, (address.port_id for address in addresses))

    def forget(self, owner: str, subnet_id: str | None = None) -> None:
        with self._session.asked() as neutron:
            neutron_ports.delete(neutron, [port.id for port in neutron_ports.of(neutron, owner, subnet_id)])

    def owners(self) -> set[str]:
        with self._session.asked() as neutron:
            return neutron_ports.owners(neutron)

    def hand_over(self, addresses: Iterable[Address], *, owner: str) -> None:
        with self._session.asked() as neutron:
            for address in addresses:
                neutron_ports.hand_over(neutron, address.port_id, owner)

    # Addresses that are in use already ------------------------------------------------------------

    def adopt(self, subnet: Subnet, addresses: Iterable[str], *, owner: str) -> list[Address]:
        """Let ports with these addresses name the owner: existing ports that name no owner, or new ones."""
        with self._session.asked() as neutron:
            return neutron_ports.adopt(neutron, subnet, list(addresses), owner)

    def disown(self, addresses: Iterable[Address]) -> None:
        """Remove the owner from the ports, which keep their addresses in use in Neutron."""
        with self._session.asked() as neutron:
            for address in addresses:
                neutron_ports.disown(neutron, address.port_id)


def _get(get: Any, object_id: str) -> Any:
    """Return an object of Neutron by its id, or None. An id that is no UUID is not sent: it would become part of the path."""
    try:
        known = str(uuid.UUID(object_id)) == object_id
    except ValueError:
        known = False
    try:
        return get(object_id) if known else None
    except openstack.exceptions.NotFoundException as gone:
        neutron_session.must_be_neutrons(gone)
        return None
