# SPDX-License-Identifier: Apache-2.0
"""The networks that servers can be on, from a file of the operator. It is read anew each time."""

import dataclasses
import ipaddress
import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import fastjsonschema
import yaml
from oslo_log import log

from manila_lite import errors
from manila_lite.api.framework import sentences

LOG = log.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 64}
_CHECK = fastjsonschema.compile(
    {
        'type': 'object',
        'required': ['networks'],
        'additionalProperties': False,
        'properties': {
            'networks': {
                'type': 'array',
                'items': {
                    'type': 'object',
                    'required': ['id', 'cidr'],
                    'additionalProperties': False,
                    'properties': {
                        'id': _TEXT,
                        'name': _TEXT,
                        'cidr': _TEXT,
                        'gateway': _TEXT,
                        'mtu': {'type': 'integer', 'minimum': 68, 'maximum': 65535},
                        'projects': {'type': 'array', 'items': {**_TEXT, 'maxLength': 255}},
                        'ranges': {
                            'type': 'array',
                            'minItems': 1,
                            'items': {'type': 'array', 'items': _TEXT, 'minItems': 2, 'maxItems': 2},
                        },
                    },
                },
            }
        },
    }
)

#: Values of a request in place of a list of networks.
AUTO, NONE = 'auto', 'none'
#: The schema of networks in a request: ``uuid`` is a network's id, as in Nova's clients.
SCHEMA = {
    'anyOf': [
        {'type': 'string', 'enum': [AUTO, NONE]},
        {
            'type': 'array',
            'maxItems': 8,
            'items': {
                'type': 'object',
                'required': ['uuid'],
                'additionalProperties': False,
                'properties': {
                    'uuid': _TEXT,
                    'fixed_ip': {'type': 'string', 'minLength': 2, 'maxLength': 64},
                },
            },
        },
    ]
}


@dataclasses.dataclass(frozen=True)
class Network:
    """A network. ``ranges``: first and last address for servers that request no address; ``projects``: those whose servers
    can be on it, None for all.
    """

    id: str
    name: str
    cidr: ipaddress.IPv4Network | ipaddress.IPv6Network
    gateway: str | None
    mtu: int
    ranges: tuple[tuple[Address, Address], ...]
    projects: frozenset[str] | None = None

    def free(self, taken: Collection[str]) -> Iterator[str]:
        """Yield the addresses that can be allocated, in order."""
        for first, last in self.ranges:
            for number in range(int(first), int(last) + 1):
                address = type(first)(number)
                if str(address) not in taken and self._usable(address):
                    yield str(address)

    def _usable(self, address: Address) -> bool:
        ends = (self.cidr.network_address, self.cidr.broadcast_address)
        return str(address) != self.gateway and (self.cidr.num_addresses <= 2 or address not in ends)

    def fixed(self, wanted: str) -> str:
        """Return a requested address in its normal form.

        :raises errors.Invalid: no server can have it.
        """
        address = _address(wanted)
        if address is None or address not in self.cidr or not self._usable(address):
            raise errors.Invalid(
                f'networks: {wanted} is not an address for a server on {self.id} ({self.cidr}).'
            )
        return str(address)

    def nic(self, address: str, mac: str) -> dict[str, Any]:
        """Return the interface of a server with this address, in the form of the server's ``spec``."""
        return {
            'network': self.id,
            'name': self.name,
            'address': address,
            'mac': mac,
            'cidr': str(self.cidr),
            'gateway': self.gateway,
            'mtu': self.mtu,
        }


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def mac() -> str:
    """Return a random MAC address, from a range that belongs to no vendor."""
    return 'fa:16:3e:' + ':'.join(f'{random.SystemRandom().randrange(256):02x}' for _ in range(3))


# The file ---------------------------------------------------------------------------------------


def load(path: str | None) -> dict[str, Network]:
    """Return the networks of a file by their ids, in its order; without a file there are none.

    :raises errors.Unavailable: the file cannot be used; the log says why.
    """
    if not path:
        return {}
    try:
        with open(path, encoding='utf-8') as file:
            return read(yaml.safe_load(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, errors.Invalid) as bad:
        LOG.error('[compute] networks_file = %s: %s', path, ' '.join(str(bad).split()))
        raise errors.Unavailable(
            'The file of networks cannot be used. The log of the service has the cause.'
        ) from bad


def read(document: Any) -> dict[str, Network]:
    """Return the networks of a document.

    :raises errors.Invalid: the document is wrong; the message says where.
    """
    try:
        _CHECK(document)
    except fastjsonschema.JsonSchemaValueException as bad:
        raise errors.Invalid(
            f'{".".join(map(str, bad.path[1:])) or "file"}: {sentences.reason(bad)}'
        ) from None
    networks: dict[str, Network] = {}
    for entry in document['networks']:
        network = _network(entry)
        if network.id in networks or network.name in {one.name for one in networks.values()}:
            raise errors.Invalid(f'{network.id}: its id or its name is given twice.')
        networks[network.id] = network
    return networks


def _network(entry: Mapping[str, Any]) -> Network:
    where = entry['id']
    try:
        cidr = ipaddress.ip_network(entry['cidr'])
    except ValueError as bad:
        raise errors.Invalid(f'{where}: cidr: {bad}') from None
    gateway = entry.get('gateway')
    if gateway is not None:
        gateway = str(_within(gateway, cidr, f'{where}: gateway'))
    ranges = tuple(
        (_within(first, cidr, f'{where}: ranges'), _within(last, cidr, f'{where}: ranges'))
        for first, last in entry.get('ranges') or [(str(cidr[0]), str(cidr[-1]))]
    )
    if any(int(first) > int(last) for first, last in ranges):
        raise errors.Invalid(f'{where}: ranges: the first address of a range is after its last.')
    projects = frozenset(entry['projects']) if 'projects' in entry else None
    return Network(where, entry.get('name', where), cidr, gateway, entry.get('mtu', 1500), ranges, projects)


def _within(text: str, cidr: Any, where: str) -> Address:
    address = _address(text)
    if address is None or address not in cidr:
        raise errors.Invalid(f'{where}: {text} is not an address of {cidr}.')
    return address


# Networks of a request --------------------------------------------------------------------------

Wanted = list[tuple[Network, str | None]]


def wanted(asked: Any, known: Mapping[str, Network]) -> Wanted:
    """Return the networks of a request, each with its requested address.

    :raises errors.Invalid: there is no such network, or no such address in it.
    :raises errors.Conflict: ``auto``, and there are several networks.
    """
    if asked is None or asked == NONE:
        return []
    if asked == AUTO:
        if len(known) > 1:
            raise errors.Conflict('networks: there are several networks; name one.', code='network_ambiguous')
        return [(network, None) for network in known.values()]
    return [_one(entry, known) for entry in asked]


def of_project(known: Mapping[str, Network], project_id: str | None) -> dict[str, Network]:
    """Return the networks that servers of a project can be on. It cannot see that there are others."""
    return {
        name: network
        for name, network in known.items()
        if network.projects is None or project_id in network.projects
    }


def _one(entry: Mapping[str, str], known: Mapping[str, Network]) -> tuple[Network, str | None]:
    network = known.get(entry['uuid'])
    if network is None:
        raise errors.Invalid(f'networks: there is no network {entry["uuid"]}.')
    return network, network.fixed(entry['fixed_ip']) if 'fixed_ip' in entry else None


# Networks of a server ---------------------------------------------------------------------------


def shown(nics: Iterable[Mapping[str, Any]], *, whole: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Return addresses as Nova shows them, by the network's name; without ``whole`` only address and version."""
    addresses: dict[str, list[dict[str, Any]]] = {}
    for nic in nics:
        version = ipaddress.ip_address(nic['address']).version
        more = {'OS-EXT-IPS:type': 'fixed', 'OS-EXT-IPS-MAC:mac_addr': nic['mac']} if whole else {}
        addresses.setdefault(nic['name'], []).append({'addr': nic['address'], 'version': version, **more})
    return addresses
