# SPDX-License-Identifier: Apache-2.0
"""To whom an access rule may be given: what an address, a user, a certificate or a Ceph id must look like."""

import ipaddress
import string
from collections.abc import Callable

from manila_lite import errors

#: What no user or group name may hold, as CIFS servers have it.
_NOT_IN_USERS = frozenset('"/\\[]:;|=,+*?<>')
_USER_LENGTH = range(4, 256)
_CERT_LENGTH = range(1, 65)
_PRINTABLE = frozenset(string.printable)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def check(access_type: str, access_to: str, *, ipv6: bool = True) -> str:
    """Return ``access_to`` as it is stored. ``ipv6``: whether IPv6 addresses will do.

    :raises errors.Invalid: nobody can be meant by it; the message names it.
    """
    text = access_to.strip() if access_type == 'cert' else access_to
    if access_type == 'ip':
        address(text, ipv6=ipv6)
    else:
        _NAMES[access_type](text)
    return text


def address(text: str, *, ipv6: bool = True) -> Network:
    """Return the network that an address or CIDR means.

    :raises errors.Invalid: it means none.
    """
    try:
        return ipaddress.ip_network(text) if ipv6 else ipaddress.IPv4Network(text)
    except ValueError as bad:
        raise errors.Invalid(f'access_to: {text!r} is not an IP address or network: {bad}.') from None


def same(access_type: str, one: str, other: str) -> bool:
    """Say whether both mean the same: 10.0.0.1 and 10.0.0.1/32 do."""
    return one == other or (access_type == 'ip' and address(one) == address(other))


def _user(text: str) -> None:
    if not text.strip(' .\t'):
        raise errors.Invalid(f'access_to: {text!r} is not a user or group name: it consists of periods and spaces.')
    if len(text) not in _USER_LENGTH:
        raise errors.Invalid(f'access_to: {text!r} is not a user or group name: it must have 4 to 255 characters.')
    wrong = sorted(set(text) & _NOT_IN_USERS)
    if wrong:
        raise errors.Invalid(f'access_to: {text!r} is not a user or group name: it holds {" ".join(wrong)}.')


def _cert(text: str) -> None:
    if len(text) not in _CERT_LENGTH:
        raise errors.Invalid(f'access_to: {text!r} is not a common name of a certificate: it must have 1 to 64 characters.')


def _cephx(text: str) -> None:
    if not text or not set(text) <= _PRINTABLE:
        raise errors.Invalid(f'access_to: {text!r} is not a Ceph id: it must be printable ASCII characters.')
    if '.' in text:
        raise errors.Invalid(f'access_to: {text!r} is not a Ceph id: it holds a period.')


_NAMES: dict[str, Callable[[str], None]] = {'user': _user, 'cert': _cert, 'cephx': _cephx}
