# SPDX-License-Identifier: Apache-2.0
"""Network plugin with networks from a YAML file: without Neutron. Users choose subnets by id, or get the default one.

The file is read each time a plugin is made, so that a network added to it can be used at once.
"""

import dataclasses
import hashlib
import ipaddress
import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import fastjsonschema
import yaml

from manila_lite import errors
from manila_lite.network.interface import Address, NetworkPlugin, Subnet, overlap

_ID = {'type': 'string', 'minLength': 1, 'maxLength': 36}
_ADDRESS = {'type': 'string', 'minLength': 2}

_SUBNET = {
    'type': 'object',
    'required': ['id', 'cidr'],
    'additionalProperties': False,
    'properties': {
        'id': _ID,
        'cidr': _ADDRESS,
        'gateway': _ADDRESS,
        'ranges': {
            'type': 'array',
            'minItems': 1,
            'items': {'type': 'array', 'items': _ADDRESS, 'minItems': 2, 'maxItems': 2},
        },
    },
}
_NETWORK = {
    'type': 'object',
    'required': ['id', 'subnets'],
    'additionalProperties': False,
    'properties': {
        'id': _ID,
        'network_type': {'enum': ['flat', 'vlan', 'vxlan', 'gre', 'geneve', 'local']},
        'segmentation_id': {'type': 'integer', 'minimum': 1, 'maximum': 2**24 - 1},
        'mtu': {'type': 'integer', 'minimum': 68, 'maximum': 65535},
        'projects': {'type': 'array', 'items': {'type': 'string'}},
        'default': {'type': 'boolean'},
        'subnets': {'type': 'array', 'minItems': 1, 'items': _SUBNET},
    },
}
_CHECK = fastjsonschema.compile(
    {
        'type': 'object',
        'required': ['networks'],
        'additionalProperties': False,
        'properties': {'networks': {'type': 'array', 'items': _NETWORK}},
    }
)


@dataclasses.dataclass(frozen=True)
class _KnownSubnet:
    """A subnet of the file. ``ranges``: first and last address to allocate. ``projects`` None: for all projects.

    ``is_chosen``: the operator chose the ranges. ``is_default``: its network is for those of the projects who choose none.
    """

    subnet: Subnet
    ranges: tuple[tuple[Any, Any], ...]
    projects: frozenset[str] | None
    is_chosen: bool = False
    is_default: bool = False

    def free_addresses(self, taken: Collection[str], owner: str) -> Iterator[str]:
        """Yield the addresses that can be allocated: those of chosen ranges in order, else from a place on that depends on the
        owner.
        """
        for first, last in self.ranges:
            size = int(last) - int(first) + 1
            # An unmanaged server keeps its addresses at its backend, and nobody here knows them any more. In order, the next
            # server would get the same.
            begin = 0 if self.is_chosen else int.from_bytes(hashlib.sha256(owner.encode()).digest()) % size
            for offset in itertools.chain(range(begin, size), range(begin)):
                text = str(first + offset)
                if text not in taken and text != self.subnet.gateway:
                    yield text


class Standalone(NetworkPlugin):
    """The networks of ``[standalone_network] file``; none without a file."""

    REMOTE = False

    def __init__(self, conf: Any):
        self._file = conf.standalone_network.file
        self._known_subnets = {entry.subnet.neutron_subnet_id: entry for entry in self._read()}

    def _read(self) -> list[_KnownSubnet]:
        if not self._file:
            return []
        try:
            with open(self._file, encoding='utf-8') as text:
                content = yaml.safe_load(text)
            _CHECK(content)
            return _known_subnets(content['networks'])
        except fastjsonschema.JsonSchemaValueException as bad:
            raise self._bad(
                f'{".".join(str(part) for part in bad.path[1:]) or "file"}: '
                f'{bad.message.removeprefix(bad.name or "").strip()}'
            ) from None
        except (OSError, ValueError, yaml.YAMLError) as bad:
            raise self._bad(' '.join(str(bad).split())) from None

    def _bad(self, why: str) -> errors.BadConfig:
        return errors.BadConfig(f'[standalone_network] file = {self._file}: {why}')

    def describe(self, net_id: str, subnet_id: str, project_id: str | None) -> Subnet:
        visible = [
            entry
            for entry in self._known_subnets.values()
            if entry.projects is None or project_id in entry.projects
        ]
        if not any(entry.subnet.neutron_net_id == net_id for entry in visible):
            raise errors.Invalid(f'neutron_net_id: network {net_id} is not known.', code='network_not_known')
        for entry in visible:
            if (entry.subnet.neutron_net_id, entry.subnet.neutron_subnet_id) == (net_id, subnet_id):
                return entry.subnet
        raise errors.Invalid(
            f'neutron_subnet_id: network {net_id} has no subnet {subnet_id}.', code='subnet_not_known'
        )

    def find_default(self, project_id: str | None) -> Subnet | None:
        """Return the first subnet of the default network of the project, or else of that of all projects."""
        default = [entry for entry in self._known_subnets.values() if entry.is_default]
        own = [entry for entry in default if entry.projects is not None and project_id in entry.projects]
        common = [entry for entry in default if entry.projects is None]
        return next((entry.subnet for entry in own + common), None)

    def allocate(self, subnet: Subnet, count: int, *, taken: Collection[str], owner: str) -> list[Address]:
        """Return free addresses. Two owners seldom get the same one after the other."""
        entry = self._known_subnets.get(subnet.neutron_subnet_id)
        if entry is None:
            raise errors.Final(f'Subnet {subnet.neutron_subnet_id} is no longer in the file of networks.')
        addresses = [
            Address(text) for text in itertools.islice(entry.free_addresses(frozenset(taken), owner), count)
        ]
        if len(addresses) < count:
            raise errors.Final(
                f'Subnet {subnet.neutron_subnet_id} ({subnet.cidr}) has '
                f'{errors.count(len(addresses), "address")} left, '
                f'and {count} are needed.',
                detail='SUBNET_FULL',
            )
        return addresses

    def must_have_room(self, subnet: Subnet, count: int, *, taken: Collection[str]) -> None:
        self.allocate(subnet, count, taken=taken, owner='')

    def free(self, addresses: Iterable[Address]) -> None:
        """Do nothing: an address is free when the caller forgets it."""


def _known_subnets(networks: list[dict[str, Any]]) -> list[_KnownSubnet]:
    """Return the subnets of all networks.

    :raises ValueError: an id is given twice, subnets overlap, two networks are the default one, or a subnet is wrong;
        with the id.
    """
    _no_doubles('network', [network['id'] for network in networks])
    _one_default(network for network in networks if network.get('default'))
    entries = [_known_subnet(network, subnet) for network in networks for subnet in network['subnets']]
    _no_doubles('subnet', [entry.subnet.neutron_subnet_id for entry in entries])
    for one, other in itertools.combinations(entries, 2):
        same = one.subnet.neutron_net_id == other.subnet.neutron_net_id
        if same and overlap(one.subnet.cidr, other.subnet.cidr):
            raise ValueError(
                f'subnets {one.subnet.neutron_subnet_id} and {other.subnet.neutron_subnet_id} overlap'
            )
    return entries


def _no_doubles(resource_type: str, ids: list[str]) -> None:
    for resource_id in ids:
        if ids.count(resource_id) > 1:
            raise ValueError(f'{resource_type} {resource_id}: the id is given twice')


def _one_default(networks: Iterable[dict[str, Any]]) -> None:
    """Refuse two default networks for one project, or for all."""
    known: dict[str | None, str] = {}
    for network in networks:
        for project in sorted(set(network.get('projects', ()))) if 'projects' in network else (None,):
            if project in known:
                raise ValueError(
                    f'networks {known[project]} and {network["id"]} are both the default network of '
                    f'{"all projects" if project is None else f"project {project}"}'
                )
            known[project] = network['id']


def _known_subnet(network: dict[str, Any], subnet: dict[str, Any]) -> _KnownSubnet:
    try:
        cidr = ipaddress.ip_network(subnet['cidr'])
        gateway = subnet.get('gateway') and _inside(cidr, subnet['gateway'])
        hosts = cidr.num_addresses > 2
        ranges = [(_inside(cidr, first), _inside(cidr, last)) for first, last in subnet.get('ranges', ())]
        if any(first > last for first, last in ranges):
            raise ValueError('ranges: each must begin with its smaller address')
        # The first address of a subnet is reserved (IPv6: any router); the last one of IPv4 is the broadcast address.
        every = (cidr[1 if hosts else 0], cidr[-2 if hosts and cidr.version == 4 else -1])
    except ValueError as bad:
        raise ValueError(f'subnet {subnet["id"]}: {bad}') from None
    projects = network.get('projects')
    return _KnownSubnet(
        Subnet(
            network['id'],
            subnet['id'],
            str(cidr),
            cidr.version,
            str(gateway) if gateway else None,
            network.get('mtu'),
            network.get('network_type'),
            network.get('segmentation_id'),
        ),
        tuple(ranges or [every]),
        None if projects is None else frozenset(projects),
        bool(ranges),
        network.get('default', False),
    )


def _inside(cidr: Any, text: str) -> Any:
    address = ipaddress.ip_address(text)
    if address not in cidr:
        raise ValueError(f'{text} is not in {cidr}')
    return address
