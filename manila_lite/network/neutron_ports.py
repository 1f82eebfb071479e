# SPDX-License-Identifier: Apache-2.0
"""Ports of share servers in Neutron. ``neutron`` is the openstacksdk client that ``neutron_session`` yields."""

from collections.abc import Iterable
from typing import Any

import openstack.exceptions
from keystoneauth1 import exceptions as keystone_exceptions
from oslo_log import log

from manila_lite import errors
from manila_lite.network.interface import Address, Subnet
from manila_lite.network.neutron_session import kind_of, must_be_neutrons

LOG = log.getLogger(__name__)

#: The ``device_owner`` of share servers' ports, known to Neutron and other services.
OWNER = 'manila:share'
#: Prefixes of the names of ports that were made for a server, and of adopted ports, which a managed server had before.
_MADE, _ADOPTED = 'share-server', 'adopted-share-server'


def _name(owner: str, subnet_id: str, kind: str = _MADE) -> str:
    return f'{kind}-{owner}-{subnet_id}'


# Finding ----------------------------------------------------------------------------------------


def of(neutron: Any, owner: str, subnet_id: str | None) -> list[Any]:
    """Return the ports of an owner (``subnet_id``: those made for that subnet), always in the same order."""
    more = {'name': _name(owner, subnet_id)} if subnet_id else {}
    return sorted(neutron.ports(device_owner=OWNER, device_id=owner, **more), key=lambda port: port.id)


def given(neutron: Any, owner: str, subnet: Subnet) -> list[Address]:
    """Return the addresses that were made for an owner in a subnet."""
    addresses = (_address(port, subnet) for port in of(neutron, owner, subnet.neutron_subnet_id))
    return [address for address in addresses if address]


def owners(neutron: Any) -> set[str]:
    """Return the share servers that ports were made for."""
    ports = neutron.ports(device_owner=OWNER, fields=['id', 'name', 'device_id'])
    return {
        port.device_id
        for port in ports
        if port.device_id and (port.name or '').startswith(_name(port.device_id, ''))
    }


def _address(port: Any, subnet: Subnet) -> Address | None:
    """Return the port's address in the subnet. It may have others: a subnet with SLAAC adds itself to every port."""
    for fixed in port.fixed_ips:
        if fixed['subnet_id'] == subnet.neutron_subnet_id:
            return Address(fixed['ip_address'], port.mac_address, port.id)
    return None


# Making -----------------------------------------------------------------------------------------


def make(neutron: Any, subnet: Subnet, owner: str) -> Address:
    """Make one more port for the owner in the subnet.

    :raises errors.Final: Neutron refuses to make it.
    """
    return _make(neutron, subnet, owner, _MADE, {})


def _make(neutron: Any, subnet: Subnet, owner: str, kind: str, address: dict[str, str]) -> Address:
    project = {'project_id': subnet.project_id} if subnet.project_id else {}
    try:
        port = neutron.create_port(
            network_id=subnet.neutron_net_id,
            fixed_ips=[{'subnet_id': subnet.neutron_subnet_id, **address}],
            device_owner=OWNER,
            device_id=owner,
            name=_name(owner, subnet.neutron_subnet_id, kind),
            is_admin_state_up=True,
            **project,
        )
    except openstack.exceptions.HttpException as refused:
        final = _final(refused, subnet)
        if final is None:
            raise
        raise final from refused
    made = _address(port, subnet)
    if made is None:
        delete(neutron, (port.id,))
        raise errors.Final(f'Neutron made a port that has no address in subnet {subnet.neutron_subnet_id}.')
    LOG.info('Port %s with %s is for share server %s', made.port_id, made.ip_address, owner)
    return made


#: Errors of Neutron that do not go away by themselves: message, and the user message's detail.
_FINAL = {
    'IpAddressGenerationFailure': (
        'Subnet {0.neutron_subnet_id} ({0.cidr}) has no address left.',
        'SUBNET_FULL',
    ),
    'IpAddressInUse': ('An address of subnet {0.neutron_subnet_id} is in use.', None),
    'NetworkNotFound': ('Network {0.neutron_net_id} is gone.', None),
    'SubnetNotFound': ('Subnet {0.neutron_subnet_id} is gone.', None),
    'OverQuota': ('The project may not have more ports in Neutron.', None),
}


def _final(refused: openstack.exceptions.HttpException, subnet: Subnet) -> errors.Final | None:
    text, detail = _FINAL.get(kind_of(refused), (None, None))
    if text is None and refused.status_code == 400:
        return errors.Final(
            f'Neutron refuses to create a port in subnet {subnet.neutron_subnet_id}: {refused.details}'
        )
    return errors.Final(text.format(subnet), detail=detail) if text else None


# Existing ports ---------------------------------------------------------------------------------


def adopt(neutron: Any, subnet: Subnet, addresses: list[str], owner: str) -> list[Address]:
    """Let a port with each address name the owner: an existing port that names no owner, or a new one.

    :raises errors.Final: a port names another owner; nothing was changed.
    """
    there = {address: _at(neutron, subnet, address) for address in addresses}
    for address, port in there.items():
        if port is not None and port.device_id not in (None, '', owner):
            raise errors.Final(f"Port {port.id} with {address} is {port.device_id}'s in Neutron.")
    return [_adopt_one(neutron, subnet, address, port, owner) for address, port in there.items()]


def _at(neutron: Any, subnet: Subnet, address: str) -> Any:
    fixed = [f'ip_address={address}', f'subnet_id={subnet.neutron_subnet_id}']
    return next(iter(neutron.ports(network_id=subnet.neutron_net_id, fixed_ips=fixed)), None)


def _adopt_one(neutron: Any, subnet: Subnet, address: str, port: Any, owner: str) -> Address:
    if port is None:
        return _make(neutron, subnet, owner, _ADOPTED, {'ip_address': address})
    neutron.update_port(
        port.id, device_owner=OWNER, device_id=owner, name=_name(owner, subnet.neutron_subnet_id, _ADOPTED)
    )
    return Address(address, port.mac_address, port.id)


def disown(neutron: Any, port_id: str | None) -> None:
    """Remove the owner from the port, if the port exists."""
    if not port_id:
        return
    try:
        neutron.update_port(port_id, device_id='', name='')
    except openstack.exceptions.NotFoundException as gone:
        must_be_neutrons(gone)


def hand_over(neutron: Any, port_id: str | None, owner: str) -> None:
    """Let the port name another owner, if the port exists."""
    if not port_id:
        return
    try:
        port = neutron.get_port(port_id)
    except openstack.exceptions.NotFoundException as gone:
        must_be_neutrons(gone)
        return
    if port.device_id and port.device_id != owner:
        neutron.update_port(port_id, device_id=owner, name=(port.name or '').replace(port.device_id, owner))
        LOG.info('Port %s is for share server %s, which took it over from %s', port_id, owner, port.device_id)


# Removing ---------------------------------------------------------------------------------------


def delete(neutron: Any, port_ids: Iterable[str | None]) -> None:
    """Delete the ports that exist. An error at one port does not stop the others; the first error is raised at the end."""
    problem: Exception | None = None
    for port_id in filter(None, port_ids):
        try:
            _delete_one(neutron, port_id)
        except (openstack.exceptions.SDKException, keystone_exceptions.ClientException) as bad:
            problem = problem or bad
    if problem is not None:
        raise problem


def _delete_one(neutron: Any, port_id: str) -> None:
    try:
        neutron.delete_port(port_id, ignore_missing=False)
    except openstack.exceptions.NotFoundException as gone:
        must_be_neutrons(gone)
    else:
        LOG.info('Port %s is gone', port_id)
