# SPDX-License-Identifier: Apache-2.0
"""Access rules as NFS-Ganesha's CLIENT blocks. Pure: text in, text out.

NFS-Ganesha takes the first block that matches, so the longest prefix goes first. Its parser has gaps, each found by
trying: ``/0`` is an error, and so is an IPv6 prefix length of three digits. ``0.0.0.0`` is a word there: it means every
client, of both address families.
"""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Any

from manila_lite import values

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LEVELS = {'rw': 'RW', 'ro': 'RO'}
_BLOCK = re.compile(r'  CLIENT \{ Clients = ([^;{]*); Access_Type = (\w+); ')
#: A block that an earlier release wrote for the address 0.0.0.0, or ``::``.
_EVERYBODY = re.compile(r'  CLIENT \{ Clients = (?:0\.0\.0\.0|::); [^\n{]*\n')
#: The bits of a client's options, as NFS-Ganesha displays them, that hold the access level.
_LEVEL_BITS = 0x1E0
_IN_FORCE = {0x1E0: 'RW', 0x0A0: 'RO'}
#: The longest IPv6 prefix that the parser reads, except for a single address.
_LONGEST_V6 = 99
#: Largest number of addresses that are listed one by one instead of a prefix that the parser cannot read.
_MOST_SPELT_OUT = 256


@dataclasses.dataclass(frozen=True)
class Clients:
    """The clients of one rule, each in a form that NFS-Ganesha's parser can read, and their level."""

    rule_id: str
    addresses: tuple[str, ...]
    level: str


@dataclasses.dataclass(frozen=True)
class Block:
    """One rule as text, on a line of its own, so that NFS-Ganesha's complaint about a line names the rule."""

    rule_id: str
    text: str


def blocks(rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
    """Return the blocks of the rules that can be expressed, in their order, and a result for every rule."""
    chosen, results = clients(rules)
    return [
        Block(
            one.rule_id,
            f'  CLIENT {{ Clients = {", ".join(one.addresses)}; Access_Type = {_LEVELS[one.level]}; Protocols = 4; }}\n',
        )
        for one in chosen
    ], results


def clients(rules: Iterable[values.AccessRule]) -> tuple[list[Clients], dict[str, values.RuleResult]]:
    """Return the clients of the rules that can be expressed, in the order that counts, and a result for every rule."""
    results = {}
    chosen = []
    for rule in rules:
        try:
            network = _network(rule)
        except ValueError as bad:
            results[rule.id] = values.RuleResult(error=str(bad))
        else:
            results[rule.id] = values.RuleResult()
            chosen.append((-_reach(network), rule.level, network.version, str(network), rule.id, network))
    # If two rules name the same clients, "ro" comes first and wins.
    return [
        Clients(rule_id, tuple(_written(network)), level)
        for _, level, _, _, rule_id, network in sorted(chosen)
    ], results


def read(text: str) -> list[tuple[str, str]]:
    """Return (client, level) for each client of a text with blocks, in the form that ``displayed`` returns."""
    return [
        (str(ipaddress.ip_network(client)), level)
        for clients, level in _BLOCK.findall(text)
        for client in clients.split(', ')
    ]


def without_everybody(text: str) -> str:
    """Return a text with blocks, without those of an earlier release that admit everybody in place of one client."""
    return _EVERYBODY.sub('', text)


def displayed(entry: Sequence[Any]) -> tuple[str, str]:
    """Return (client, level) for an entry of NFS-Ganesha's list of clients."""
    return str(entry[0]), _IN_FORCE.get(entry[-2] & _LEVEL_BITS, 'other')


def _network(rule: values.AccessRule) -> Network:
    """Return the network that the rule names.

    :raises ValueError: the rule cannot be expressed; the message is for its owner.
    """
    if rule.type != 'ip':
        raise ValueError(
            f'this backend supports access rules of type ip only, not {rule.type}: give the address of the client'
        )
    if rule.level not in _LEVELS:
        raise ValueError(f'this backend supports the levels rw and ro only, not {rule.level}')
    if '%' in rule.to:
        # Any text may follow the "%", which is one more reason to refuse it.
        raise ValueError('give the address of a client without a network interface')
    network = ipaddress.ip_network(rule.to, strict=False)
    if network.num_addresses == 1 and network.network_address.is_unspecified:
        raise ValueError(
            f'{network.network_address} is the address of no client, and the NFS server takes it for everybody: '
            f'give the address of the client, or {network.network_address}/0 for every client'
        )
    if isinstance(network, ipaddress.IPv4Network):
        return network
    if network.network_address.ipv4_mapped:
        raise ValueError('give the IPv4 address of an IPv4 client')
    if _LONGEST_V6 < network.prefixlen < network.max_prefixlen and network.num_addresses > _MOST_SPELT_OUT:
        raise ValueError('IPv6 prefixes from /100 to /119 cannot be expressed by the NFS server')
    return network


def _reach(network: Network) -> int:
    """Return the prefix length on a scale that is common to both address families; a single address has the highest."""
    return network.prefixlen * 128 // network.max_prefixlen


def _written(network: Network) -> list[str]:
    """Return the network in a form that the parser can read."""
    if network.prefixlen == 0:
        return [str(half) for half in network.subnets(1)]
    if network.prefixlen == network.max_prefixlen:
        return [str(network.network_address)]
    if network.version == 6 and network.prefixlen > _LONGEST_V6:
        return [str(address) for address in network]
    return [str(network)]
