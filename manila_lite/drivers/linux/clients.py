# SPDX-License-Identifier: Apache-2.0
"""Access rules as NFS-Ganesha's CLIENT blocks. Pure: text in, text out.

Ganesha takes the first block that matches, so the longest prefix goes first. Its parser has gaps,
each found by trying: ``/0`` is an error, and so is an IPv6 prefix length of three digits.
"""

import ipaddress
from collections.abc import Iterable, Mapping

from manila_lite import kinds

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_LEVELS = {'rw': 'RW', 'ro': 'RO'}
#: The longest IPv6 prefix that can be written, but for a single address.
_LONGEST_V6 = 99
#: Addresses that a prefix which cannot be written is spelt out for, at most.
_MOST_SPELT_OUT = 256


def blocks(rules: Iterable[kinds.AccessRule]) -> tuple[str, Mapping[str, kinds.RuleResult]]:
    """Return the CLIENT blocks of those rules that can be expressed, and a result for every rule."""
    networks: dict[str, Network] = {}
    results = {}
    chosen = []
    for rule in rules:
        reason = _refusal(rule, networks)
        results[rule.id] = kinds.RuleResult(error=reason)
        if reason is None:
            chosen.append(rule)
    chosen.sort(key=lambda rule: -_reach(networks[rule.id]))
    return ''.join(_block(networks[rule.id], rule.level) for rule in chosen), results


def _refusal(rule: kinds.AccessRule, networks: dict[str, Network]) -> str | None:
    if rule.type != 'ip':
        return f'this backend knows rules of type ip only, not {rule.type}'
    if rule.level not in _LEVELS:
        return f'this backend knows the levels rw and ro only, not {rule.level}'
    try:
        network = ipaddress.ip_network(rule.to, strict=False)
    except ValueError as bad:
        return str(bad)
    if isinstance(network, ipaddress.IPv6Network) and network.network_address.ipv4_mapped:
        return 'an IPv4 client is to be named by its IPv4 address'
    if (network.version == 6 and _LONGEST_V6 < network.prefixlen < network.max_prefixlen
            and network.num_addresses > _MOST_SPELT_OUT):
        return 'IPv6 prefixes from /100 to /119 cannot be expressed by the NFS server'
    networks[rule.id] = network
    return None


def _reach(network: Network) -> int:
    """Comparable between the families: single addresses first, everything last."""
    return network.prefixlen * 128 // network.max_prefixlen


def _written(network: Network) -> list[str]:
    """Return the network as the parser can read it."""
    if network.prefixlen == 0:
        return [str(half) for half in network.subnets(1)]
    if network.prefixlen == network.max_prefixlen:
        return [str(network.network_address)]
    if network.version == 6 and network.prefixlen > _LONGEST_V6:
        return [str(address) for address in network]
    return [str(network)]


def _block(network: Network, level: str) -> str:
    clients = ', '.join(_written(network))
    return f'  CLIENT {{ Clients = {clients}; Access_Type = {_LEVELS[level]}; Protocols = 4; }}\n'
