# SPDX-License-Identifier: Apache-2.0
"""Sources that a share server does not accept on an interface: the addresses of the other subnets that it is in.

A client is known by its address alone. Without these rules, somebody in one subnet who takes the address of its gateway gets
the answers to packets with the address of a client in another subnet.

The kernel asks policy rules about the way of each packet that comes in, so a rule with ``blackhole`` drops it, for both address
families and all protocols. Rules name an interface that may be gone, or not there yet: they hold as soon as it comes.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

from manila_lite import values
from manila_lite.host.ip import ip, listed

#: Rules are asked in the order of these numbers. By default the kernel asks first whether an address is its own.
_DROP, _LOCAL = '10', '20'
_FAMILIES = (4, 6)

#: An interface, and a subnet whose addresses are not accepted on it.
_Rule = tuple[str, str]


def ensure(netns: str, interfaces: Mapping[str, values.Allocation]) -> bool:
    """Have the namespace drop these sources and no others. Returns whether anything was wrong.

    A missing rule is added before an old one is deleted, so this may be called while clients are connected.
    """
    wrong = [family for family in _FAMILIES if _ensure_family(netns, family, rules(family, interfaces))]
    return bool(wrong)


def rules(family: int, interfaces: Mapping[str, values.Allocation]) -> set[_Rule]:
    """Return the rules of a family. Interfaces in the same subnet, or in subnets that overlap, accept each other's clients."""
    subnets = {
        name: ipaddress.ip_network(allocation.cidr, strict=False) for name, allocation in interfaces.items()
    }
    return {
        (name, str(subnets[other]))
        for name, other in permutations(subnets, 2)
        if subnets[other].version == family
        and not (subnets[name].version == family and subnets[other].overlaps(subnets[name]))
    }


def _ensure_family(netns: str, family: int, wanted: set[_Rule]) -> bool:
    present = listed(netns, family, 'rule', 'show')
    there = {(str(rule.get('iif')), _subnet(rule)) for rule in present if str(rule['priority']) == _DROP}
    own = {str(rule['priority']) for rule in present if rule.get('table') == 'local'}
    if wanted and _LOCAL not in own:
        ip(netns, f'-{family}', 'rule', 'add', 'priority', _LOCAL, 'lookup', 'local')
    _each(netns, family, 'add', wanted - there)
    if wanted and '0' in own:
        ip(netns, f'-{family}', 'rule', 'delete', 'priority', '0')
    _each(netns, family, 'delete', there - wanted)
    return there != wanted or (bool(wanted) and own != {_LOCAL})


def _subnet(rule: Mapping[str, Any]) -> str:
    """Return the sources of a rule. The kernel shows no length for a single address."""
    return str(ipaddress.ip_network(f'{rule["src"]}/{rule["srclen"]}' if 'srclen' in rule else rule['src']))


def _each(netns: str, family: int, verb: str, rules: Iterable[_Rule]) -> None:
    for name, subnet in sorted(rules):
        ip(netns, f'-{family}', 'rule', verb, 'priority', _DROP, 'iif', name, 'from', subnet, 'blackhole')
