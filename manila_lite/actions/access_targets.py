# SPDX-License-Identifier: Apache-2.0
"""Checks of ``access_to`` in access rules: IP addresses, user names, certificate names and Ceph ids.

Accepted values are written into configuration files of file servers. Each must be exactly one address or one name.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from manila_lite import errors, values
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import pool_reports

#: Characters that CIFS servers do not allow in user and group names.
_NOT_IN_USERS = frozenset('"/\\[]:;|=,+*?<>')
_USER_LENGTH = range(4, 256)
_CERT_LENGTH = range(1, 65)
#: Characters that end a quoted word in configuration files.
_QUOTES = frozenset('"\\')
#: The characters of an address. After the slash comes a prefix length, or for IPv4 a netmask.
_ADDRESS = re.compile(r'[0-9a-fA-F:.]+(?:/(?:0|[1-9][0-9]{0,2}|[0-9.]{7,15}))?')
#: The type of access rule that each backend of a protocol takes.
_USUAL = {'NFS': 'ip', 'CIFS': 'user', 'CEPHFS': 'cephx'}
_MAPPED = ipaddress.IPv6Network('::ffff:0:0/96')

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def check(access_type: str, access_to: str, *, ipv6: bool = True) -> str:
    """Return ``access_to`` as it is stored. ``ipv6``: whether IPv6 addresses are accepted.

    :raises errors.Invalid: the value is not valid for the access type; the message names it.
    """
    text = access_to.strip() if access_type == 'cert' else access_to
    if access_type == 'ip':
        _must_be_of_a_client(parse_network(text, ipv6=ipv6), text)
    else:
        _NAMES[access_type](text)
    return text


def must_be_of_backend(conn: Connection, share: Row[Any], access_type: str) -> None:
    """Refuse a type of access rule that the share's backend does not take for its protocol, as far as it reports that.

    :raises errors.Invalid: it takes others.
    """
    if _USUAL.get(share.share_proto) == access_type:
        return  # no backend refuses it: the usual request costs no statement more
    for pool in pool_reports.list_pools(conn, (share.host,)):
        taken = pool.capabilities.get(values.ACCESS_TYPES, {}).get(share.share_proto)
        if taken and access_type not in taken:
            raise errors.Invalid(
                f'access_type: {share.share_proto} shares of this backend take access rules of type '
                f'{" and ".join(taken)} only, not {access_type}.'
            )


def parse_network(text: str, *, ipv6: bool = True) -> Network:
    """Return the network that an address or CIDR means.

    :raises errors.Invalid: the text is no address or CIDR.
    """
    try:
        if _ADDRESS.fullmatch(text) is None:
            raise ValueError(
                'it must be one address, such as 10.0.0.1 or fd00::1, or one network, such as 10.0.0.0/24'
            )
        network = ipaddress.ip_network(text) if ipv6 else ipaddress.IPv4Network(text)
        _must_be_canonical(network, text)
        return network
    except ValueError as bad:
        raise errors.Invalid(f'access_to: {text!r} is not an IP address or network: {bad}.') from None


def _must_be_of_a_client(network: Network, text: str) -> None:
    """Refuse the address that stands for any address: no client has it, and some file servers would admit everybody."""
    if network.num_addresses == 1 and network.network_address.is_unspecified:
        raise errors.Invalid(
            f'access_to: {text!r} is the address of no client: it stands for any address. Give the address of '
            f'the client, or {network.network_address}/0 for every client.'
        )


def _must_be_canonical(network: Network, text: str) -> None:
    mask = text.partition('/')[2]
    if '.' in mask and mask != str(network.netmask):
        raise ValueError(f'{mask} is not a netmask')
    if network.version == 6 and network.subnet_of(_MAPPED):
        raise ValueError('IPv4 addresses are written as such, and not within IPv6')


def is_same_client(access_type: str, one: str, other: str) -> bool:
    """Say whether two values mean the same client: 10.0.0.1 and 10.0.0.1/32 do."""
    return one == other or (access_type == 'ip' and parse_network(one) == _network_or_none(other))


def _network_or_none(text: str) -> Network | None:
    """Return the network of an existing rule, or None: older rules may hold no valid address."""
    try:
        return parse_network(text)
    except errors.Invalid:
        return None


def _must_have_no(text: str, name: str, forbidden: frozenset[str]) -> None:
    """Refuse a text that has an unprintable character or a character of ``forbidden``."""
    if not text.isprintable():
        raise errors.Invalid(f'access_to: {text!r} is not {name}: it holds a control character.')
    if bad := sorted(set(text) & forbidden):
        raise errors.Invalid(f'access_to: {text!r} is not {name}: it holds {" ".join(bad)}.')


def _user(text: str) -> None:
    if not text.strip(' .\t'):
        raise errors.Invalid(
            f'access_to: {text!r} is not a user or group name: it consists of periods and spaces.'
        )
    if len(text) not in _USER_LENGTH:
        raise errors.Invalid(
            f'access_to: {text!r} is not a user or group name: it must have 4 to 255 characters.'
        )
    if text != text.strip():
        raise errors.Invalid(
            f'access_to: {text!r} is not a user or group name: it begins or ends with a space.'
        )
    _must_have_no(text, 'a user or group name', _NOT_IN_USERS)


def _cert(text: str) -> None:
    if len(text) not in _CERT_LENGTH:
        raise errors.Invalid(
            f'access_to: {text!r} is not a common name of a certificate: it must have 1 to 64 characters.'
        )
    _must_have_no(text, 'a common name of a certificate', _QUOTES)


def _cephx(text: str) -> None:
    if not text or not text.isascii():
        raise errors.Invalid(f'access_to: {text!r} is not a Ceph id: it must be printable ASCII characters.')
    _must_have_no(text, 'a Ceph id', _QUOTES)
    if '.' in text:
        raise errors.Invalid(f'access_to: {text!r} is not a Ceph id: it holds a period.')


_NAMES: dict[str, Callable[[str], None]] = {'user': _user, 'cert': _cert, 'cephx': _cephx}
