# SPDX-License-Identifier: Apache-2.0
"""The commands in a stream of ``btrfs send``. One attribute in them gets another name on its way: see ``default_acl``.

A stream has a header and then commands, each with a length, a kind, a checksum and its values; see fs/btrfs/send.h in the
kernel. Several streams may follow each other.
"""

import struct
from collections.abc import Iterator

from manila_lite.drivers.linux.pool import default_acl

_MAGIC, _HEADER_BYTES = b'btrfs-stream\0', 17
_COMMAND = struct.Struct('<IHI')
_CHANGES = _SET_ATTRIBUTE, _REMOVE_ATTRIBUTE = 13, 14
_NAME, _DATA, _PATH = 13, 14, 15
#: Bytes of a command that sets an attribute, at most: the kernel's limits for the name, the value and the path.
_MOST = 1 << 17
_POLYNOMIAL = 0x82F63B78


def _value(kind: int, value: bytes) -> bytes:
    return struct.pack('<HH', kind, len(value)) + value


#: How a command about the default ACL of the top directory begins, whose path is empty; and how it begins afterwards.
_ACL, _ASIDE = (_value(_PATH, b'') + _value(_NAME, name) for name in (default_acl.NAME, default_acl.ASIDE))


def _checksums() -> Iterator[int]:
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)  # noqa: PLW2901 - one byte, bit by bit
        yield number


_CHECKSUMS = tuple(_checksums())


def command(kind: int, body: bytes) -> bytes:
    """Return a command with its checksum, a CRC32C that begins with 0."""
    checksum = 0
    for byte in _COMMAND.pack(len(body), kind, 0) + body:
        checksum = checksum >> 8 ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    return _COMMAND.pack(len(body), kind, checksum) + body


class Commands:
    """The commands of streams that come in pieces of any length."""

    def __init__(self) -> None:
        #: What came of a command that has to be seen whole.
        self.rest = b''
        #: Bytes of the present command that are still to come, and go on as they are.
        self._left = 0

    def translate(self, piece: bytes) -> bytes:
        """Return what goes on of the stream, up to and with this piece, but for ``rest``."""
        data = self.rest + piece
        out, sent, at = [], 0, self._left
        while at < len(data) and (size := _size(data, at)) is not None:
            if changed := _changed(data, at, size):
                out += [data[sent:at], changed]
                sent = at + size
            at += size
        self._left = max(0, at - len(data))
        out.append(data[sent:at])
        self.rest = data[at:]
        return b''.join(out)


def _size(data: bytes, at: int) -> int | None:
    """Return the bytes of the command, or of a stream's header, that begins there; None if it has to be seen whole first."""
    if len(data) - at < _COMMAND.size:
        return None
    if data.startswith(_MAGIC[: _COMMAND.size], at):
        return _HEADER_BYTES
    length, kind, _ = _COMMAND.unpack_from(data, at)
    size: int = _COMMAND.size + length
    return None if kind in _CHANGES and len(data) - at < size <= _MOST else size


def _changed(data: bytes, at: int, size: int) -> bytes | None:
    """Return what goes on in place of the command that begins there, or None if the command does."""
    if (
        size > _MOST
        or not data.startswith(_ACL, at + _COMMAND.size)
        or _COMMAND.unpack_from(data, at)[1] not in _CHANGES
    ):
        return None
    value = data[at + _COMMAND.size + len(_ACL) : at + size]
    return command(_SET_ATTRIBUTE, _ASIDE + (value or _value(_DATA, b'')))
