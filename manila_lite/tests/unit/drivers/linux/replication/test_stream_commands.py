# SPDX-License-Identifier: Apache-2.0
"""Streams of commands: one attribute of top directories gets another name, and all else stays as it is."""

import struct

import testtools

from manila_lite.drivers.linux.replication import stream_commands

_HEADER = b'btrfs-stream\0' + struct.pack('<I', 1)
_ACL, _ASIDE = b'system.posix_acl_default', b'trusted.manila_lite.acls'
_SET, _REMOVE, _WRITE, _END = 13, 14, 15, 21


def _attribute(kind, path, name, *value):
    body = b''.join(
        struct.pack('<HH', number, len(part)) + part
        for number, part in zip((15, 13, 14), (path, name, *value), strict=False)
    )
    return stream_commands.command(kind, body)


class Commands(testtools.TestCase):
    OTHERS = (
        _attribute(_SET, b'', b'system.posix_acl_access', b'a'),
        _attribute(_SET, b'folder', _ACL, b'b'),
        _attribute(_REMOVE, b'folder', _ACL),
        stream_commands.command(_WRITE, _ACL * 3000),
        stream_commands.command(_SET, b'too long' * 40000),
        stream_commands.command(_END, b''),
    )

    def test_default_acl_of_a_top_directory_is_set_aside(self):
        given, expected = (
            b''.join((_HEADER, first, *self.OTHERS, _HEADER, second, *self.OTHERS))
            for first, second in (
                (_attribute(_SET, b'', _ACL, b'list'), _attribute(_REMOVE, b'', _ACL)),
                (_attribute(_SET, b'', _ASIDE, b'list'), _attribute(_SET, b'', _ASIDE, b'')),
            )
        )
        for size in (1, 7, 11, 4096, len(given)):
            commands = stream_commands.Commands()
            out = [commands.translate(given[at : at + size]) for at in range(0, len(given), size)]
            self.assertEqual(expected, b''.join(out) + commands.rest, size)

    def test_broken_stream_goes_on_as_it_is(self):
        for broken in (b'', b'no stream' * 10, _HEADER + _attribute(_SET, b'', _ACL, b'list')[:20]):
            commands = stream_commands.Commands()
            self.assertEqual(broken, commands.translate(broken) + commands.rest)

    def test_checksum_is_that_of_the_kernel(self):
        """Check the end of a stream that ``btrfs send`` wrote."""
        self.assertEqual(bytes.fromhex('000000001500506cc99d'), stream_commands.command(_END, b''))
