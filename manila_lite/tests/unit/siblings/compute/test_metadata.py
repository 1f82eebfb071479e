# SPDX-License-Identifier: Apache-2.0
"""Metadata of a guest: files, answers to its requests, and the lease of its address."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.siblings.compute.drivers import config_drive, dhcp, metadata, metadata_server
from manila_lite.siblings.compute.drivers.interface import MountedShare, Server
from manila_lite.tests import waiting

SERVER = Server(
    '11111111-2222-3333-4444-555555555555',
    'p',
    'a "name"',
    64,
    1,
    metadata={'k': 'v'},
    user_data=base64.b64encode(b'#!/bin/sh\n').decode(),
)
SHARES = (MountedShare('s1', 'data', '192.0.2.1:/a'), MountedShare('s2', 's2', '192.0.2.1:/b'))


class Told(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix='mlm-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.files = metadata.files(SERVER, SHARES)

    def ask(self, path, method='GET'):
        """Ask as a guest does; return (status, body)."""
        answer = metadata_server.answer(
            f'{method} {path} HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n'.encode(), self.files
        )
        head, _, body = answer.partition(b'\r\n\r\n')
        return int(head.split()[1]), body.decode()

    def test_metadata_files_and_folders_are_served_and_others_not_found(self):
        for version in ('latest', '2025-04-04'):
            status, body = self.ask(f'/openstack/{version}/meta_data.json')
            self.assertEqual(200, status)
            self.assertEqual(metadata.document(SERVER, SHARES), json.loads(body))
        self.assertEqual(
            [
                {'type': 'share', 'share_id': 's1', 'tag': 'data', 'bus': 'none', 'address': 'none'},
                {'type': 'share', 'share_id': 's2', 'tag': 's2', 'bus': 'none', 'address': 'none'},
            ],
            json.loads(body)['devices'],
        )
        self.assertEqual((200, '#!/bin/sh\n'), self.ask('//openstack/latest/user_data?x=1'))
        self.assertEqual((200, '2025-04-04\nlatest'), self.ask('/openstack/'))
        self.assertEqual((200, 'meta_data.json\nuser_data'), self.ask('/openstack/latest'))
        for path in (
            '/openstack/2012-08-10/meta_data.json',
            '/../etc/passwd',
            '/openstack/latest/meta_data.json/x',
        ):
            self.assertEqual(404, self.ask(path)[0], path)
        self.assertEqual(501, self.ask('/openstack', 'POST')[0])

    def test_strange_requests_get_an_answer_or_none(self):
        for head in (
            b'',
            b'\r\n\r\n',
            b'GET',
            b'GET / HTTP/9.9\r\n\r\n',
            b'\xff\x00 / HTTP/1.1\r\n\r\n',
            b'A' * 8192,
            b'GET / HTTP/1.1\r\n' + b'a: b\r\n' * 1000,
            b'GET /\x00\xff HTTP/1.1\r\n\r\n',
        ):
            answer = metadata_server.answer(head, {})
            self.assertNotIn(b' 200 ', answer[:20], head[:20])

    @unittest.skipUnless(shutil.which('xorriso'), 'a config drive needs the package xorriso')
    def test_a_config_drive_has_the_same_files(self):
        image = self.folder / 'config.iso'
        for shares in (SHARES, ()):
            config_drive.make(image, metadata.files(SERVER, shares))
        self.assertEqual([image], list(self.folder.iterdir()))
        subprocess.run(
            ['xorriso', '-osirrox', 'on', '-indev', str(image), '-extract', '/', str(self.folder / 'out')],
            check=True,
            capture_output=True,
            timeout=waiting.LIMIT,
        )
        files = {
            str(file.relative_to(self.folder / 'out')): file.read_bytes()
            for file in (self.folder / 'out').rglob('*')
            if file.is_file()
        }
        for place, _, _ in os.walk(self.folder / 'out'):
            os.chmod(place, 0o755)
        self.assertEqual(metadata.files(SERVER, ()), files)


def question(kind, options=b'', mac=b'\x52\x54\0\x12\x34\x56', **more):
    """Return a datagram of a DHCP client."""
    fields = {'op': 1, 'hardware': 1, 'length': 6, 'present': bytes(4), 'cookie': b'\x63\x82\x53\x63', **more}
    head = struct.pack(
        '!BBBBIHH4s12s16s192s4s',
        fields['op'],
        fields['hardware'],
        fields['length'],
        0,
        77,
        0,
        0x8000,
        fields['present'],
        bytes(12),
        mac,
        bytes(192),
        fields['cookie'],
    )
    return head + bytes([53, 1, kind]) + options + b'\xff'


class Lease(testtools.TestCase):
    def asked(self, *words, **more):
        """Ask; return the kind of the answer, the address in it, and its options."""
        answer = dhcp.reply(question(*words, **more))
        if answer is None:
            return None
        self.assertEqual((2, 77, 300), (answer[0], struct.unpack('!I', answer[4:8])[0], len(answer)))
        options = dhcp._options(answer[240:])
        return options[53][0], '.'.join(map(str, answer[16:20])), set(options)

    def test_a_guest_gets_one_address_and_no_gateway(self):
        given = {1, 51, 53, 54}
        self.assertEqual((2, '169.254.0.15', given), self.asked(1))
        self.assertEqual(
            (5, '169.254.0.15', given),
            self.asked(3, bytes([50, 4, 169, 254, 0, 15, 54, 4, 169, 254, 169, 254])),
        )
        self.assertEqual((5, '169.254.0.15', given), self.asked(3, present=bytes([169, 254, 0, 15])))

    def test_another_address_is_refused(self):
        self.assertEqual((6, '0.0.0.0', {53, 54}), self.asked(3, bytes([50, 4, 10, 0, 0, 1])))

    def test_other_datagrams_get_no_answer(self):
        for words, more in (
            ((2,), {}),
            ((1,), {'op': 2}),
            ((1,), {'length': 16}),
            ((1,), {'cookie': bytes(4)}),
            ((3, bytes([54, 4, 10, 0, 0, 1])), {}),
            ((8,), {}),
        ):
            self.assertIsNone(self.asked(*words, **more), words)
        whole = question(1)
        for size in range(len(whole) - 2):
            self.assertIsNone(dhcp.reply(whole[:size]))
        self.assertIsNone(dhcp.reply(bytes(2048)))


class Ending(testtools.TestCase):
    """The end of a guest's server, as a connection is accepted."""

    def accept(self):
        """Accept the connection in place of the socket, and have the server end before it can note that."""
        self.listener.end()
        return self.server, None

    def test_connection_that_was_accepted_this_moment_is_not_waited_for(self):
        self.patch(metadata_server, '_SECONDS', 2.0)
        client, self.server = socket.socketpair()
        self.addCleanup(client.close)
        self.listener = metadata_server._Listener(1, self, self, {})
        self.listener._serve()  # a silent client is late, which is an error
        self.assertEqual(b'', client.recv(1))
