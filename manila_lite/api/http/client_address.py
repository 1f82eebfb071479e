# SPDX-License-Identifier: Apache-2.0
"""The address that a request comes from: that of the socket, or one that a trusted proxy reports."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from manila_lite import errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: The name of a peer without an address: a client on this host, at a socket in the file system.
UNIX = 'unix'
#: The longest chain of proxies that is examined.
_HOPS = 16


def parse_networks(option: str, texts: Iterable[str]) -> list[Network]:
    """Return the networks of an option.

    :raises errors.BadConfig: a text is no network.
    """
    try:
        return [ipaddress.ip_network(text, strict=False) for text in texts]
    except ValueError as bad:
        raise errors.BadConfig(f'{option}: {bad}') from None


def parse_address(text: str) -> Address | None:
    """Return the address of a text that may have a port or a zone, or None.

    An IPv4-mapped IPv6 address is returned as IPv4.
    """
    text = text.strip().strip('"')
    if text.startswith('['):
        text = text[1:].partition(']')[0]
    elif text.count(':') == 1:
        text = text.partition(':')[0]
    try:
        address = ipaddress.ip_address(text.partition('%')[0])
    except ValueError:
        return None
    return getattr(address, 'ipv4_mapped', None) or address


def is_within(address: Address | None, networks: Iterable[Network]) -> bool:
    """Say whether an address is in one of the networks."""
    return address is not None and any(address in network for network in networks)


class ClientAddresses:
    """Looks up the addresses of requests.

    ``trusted``: networks of proxies, and perhaps ``unix``. ``prefix``: prefix length of one client's IPv6 addresses.
    """

    def __init__(self, trusted: Iterable[str], prefix: int):
        trusted = list(trusted)
        self._unix = UNIX in trusted
        self._trusted = parse_networks('[api] trusted_proxies', [text for text in trusted if text != UNIX])
        self._prefix = prefix

    def is_proxy(self, environ: dict[str, Any]) -> bool:
        """Say whether a request comes from a trusted proxy."""
        address = parse_address(environ.get('REMOTE_ADDR') or '')
        return self._unix if address is None else is_within(address, self._trusted)

    def of(self, environ: dict[str, Any]) -> Address | None:
        """Return the address that a request comes from, or None for a socket without an address."""
        address = parse_address(environ.get('REMOTE_ADDR') or '')
        if address is None and not self._unix:
            return None
        forwarded = environ.get('HTTP_X_FORWARDED_FOR') or ''
        for text in reversed(forwarded.rsplit(',', _HOPS)):
            if address is not None and not is_within(address, self._trusted):
                break
            said = parse_address(text)
            if said is None:
                break  # not an address, so the hop before it counts
            address = said
        return address

    def name(self, address: Address | None) -> str:
        """Return the name under which an address is counted."""
        if address is None:
            return UNIX
        if address.version == 4:
            return str(address)
        return str(ipaddress.ip_network((address, self._prefix), strict=False))
