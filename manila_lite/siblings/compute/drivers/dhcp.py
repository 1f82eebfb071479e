# SPDX-License-Identifier: Apache-2.0
"""The one lease that a guest gets on its interface for metadata: an address, and no gateway or name server. Pure."""

import ipaddress
import struct

#: The addresses of the server and of the guest, on the link, and the ports of the protocol.
SERVER, GUEST, LENGTH = '169.254.169.254', '169.254.0.15', 16
PORT, CLIENT = 67, 68

#: Kind (1: a question), type and length of the hardware address, hops, transaction, seconds, flags, four addresses of which
#: the first is the client's, hardware address, names of host and file; the cookie; then options.
_HEAD = struct.Struct('!BBBBIHH4s12s16s192s4s')
_COOKIE = bytes([99, 130, 83, 99])
_PAD, _MASK, _WANTED, _SECONDS, _KIND, _SERVER, _END = 0, 1, 50, 51, 53, 54, 255
_DISCOVER, _OFFER, _REQUEST, _ACK, _NAK = 1, 2, 3, 5, 6
_DAY = 86400
_NETMASK = ipaddress.ip_network(f'{GUEST}/{LENGTH}', strict=False).netmask.packed
#: The least length that some clients expect.
_LEAST = 300


def reply(asked: bytes) -> bytes | None:
    """Return the answer to a client's datagram; None if it is none that is answered."""
    if len(asked) < _HEAD.size:
        return None
    kind, hardware, length, _, transaction, _, flags, present, _, mac, _, cookie = _HEAD.unpack_from(asked)
    options = _options(asked[_HEAD.size :])
    told = options.get(_KIND)
    server, guest = (ipaddress.ip_address(one).packed for one in (SERVER, GUEST))
    if (kind, hardware, length, cookie) != (1, 1, 6, _COOKIE) or options.get(_SERVER, server) != server:
        return None
    wanted = options.get(_WANTED) or (present if any(present) else guest)
    answers = {bytes([_DISCOVER]): _OFFER, bytes([_REQUEST]): _ACK if wanted == guest else _NAK}
    if told not in answers:
        return None
    said = {_KIND: bytes([answers[told]]), _SERVER: server}
    if answers[told] != _NAK:
        said |= {_MASK: _NETMASK, _SECONDS: struct.pack('!I', _DAY)}
    given = bytes(4) if answers[told] == _NAK else guest
    head = _HEAD.pack(2, 1, 6, 0, transaction, 0, flags, bytes(4), given + bytes(8), mac, bytes(192), _COOKIE)
    rest = b''.join(bytes([code, len(value)]) + value for code, value in said.items())
    return (head + rest + bytes([_END])).ljust(_LEAST, bytes(1))


def _options(data: bytes) -> dict[int, bytes]:
    """Return the options of a datagram by their codes. What is cut off is none."""
    found, at = {}, 0
    while at + 1 < len(data) and data[at] != _END:
        if data[at] == _PAD:
            at += 1
            continue
        value = data[at + 2 : at + 2 + data[at + 1]]
        if len(value) == data[at + 1]:
            found[data[at]] = value
        at += 2 + data[at + 1]
    return found
