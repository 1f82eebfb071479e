# SPDX-License-Identifier: Apache-2.0
"""The addresses of the NFS server on an interface of this network namespace."""

import ipaddress
import json
import socket
import struct
from collections.abc import Sequence

from manila_lite.host.commands import CommandFailed, run

_ARP, _ETHERNET_V4 = 0x0806, b'\x00\x01\x08\x00\x06\x04'
_BROADCAST, _NOBODY = b'\xff' * 6, bytes(6)
_REQUEST, _REPLY = 1, 2
_ADVERTISEMENT, _OVERRIDE, _ALL_NODES, _OWN_LINK_LAYER = 136, 0x20, 'ff02::1', 2
_HOPS = 255


def held(interface: str) -> set[str]:
    """Return all addresses of the interface.

    :raises CommandFailed: there is no such interface.
    """
    shown = json.loads(run('ip', '-json', 'address', 'show', 'dev', interface))
    return {str(entry['local']) for link in shown for entry in link.get('addr_info', ()) if 'local' in entry}


def take(interface: str, addresses: Sequence[str]) -> list[str]:
    """Give the interface the addresses that it lacks, and tell all neighbours. Returns these addresses.

    Each is added without its subnet, so that no route changes.
    """
    there = held(interface)
    lacking = [address for address in addresses if address not in there]
    for address in lacking:
        wanted = ipaddress.ip_address(address)
        run(
            'ip',
            'address',
            'add',
            f'{address}/{wanted.max_prefixlen}',
            'dev',
            interface,
            *(('nodad',) if wanted.version == 6 else ()),
        )
    for address in lacking:
        announce(interface, address)
    return lacking


def leave(interface: str, addresses: Sequence[str]) -> None:
    """Remove the addresses from the interface, if it is there."""
    try:
        there = held(interface)
    except CommandFailed:
        return
    for address in addresses:
        if address in there:
            run(
                'ip',
                'address',
                'delete',
                f'{address}/{ipaddress.ip_address(address).max_prefixlen}',
                'dev',
                interface,
            )


def announce(interface: str, address: str) -> None:
    """Tell all neighbours that the address is here now: those that knew it elsewhere send here at once."""
    if ipaddress.ip_address(address).version == 4:
        _announce_v4(interface, socket.inet_aton(address))
    else:
        _announce_v6(interface, socket.inet_pton(socket.AF_INET6, address))


def _announce_v4(interface: str, address: bytes) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
        line.bind((interface, _ARP))
        mac = line.getsockname()[4]
        for kind, target in (
            (_REQUEST, _NOBODY),
            (_REPLY, mac),
        ):  # neighbours differ in which of them they believe
            line.send(
                _BROADCAST
                + mac
                + struct.pack('>H', _ARP)
                + _ETHERNET_V4
                + struct.pack('>H', kind)
                + mac
                + address
                + target
                + address
            )


def _announce_v6(interface: str, address: bytes) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
        line.bind((interface, _ARP))
        mac = line.getsockname()[4]
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as line:
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, _HOPS)
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(interface))
        line.bind((socket.inet_ntop(socket.AF_INET6, address), 0))
        # The kernel fills in the checksum.
        line.sendto(
            struct.pack('>BBHB3x', _ADVERTISEMENT, 0, 0, _OVERRIDE)
            + address
            + struct.pack('>BB', _OWN_LINK_LAYER, 1)
            + mac,
            (_ALL_NODES, 0),
        )
