# SPDX-License-Identifier: Apache-2.0
"""Metadata of a guest, and its transport: a socket for each guest, behind a relay."""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import testtools

from manila_lite.siblings.compute.drivers import config_drive, metadata, relay
from manila_lite.siblings.compute.drivers.interface import Server, Share
from manila_lite.tests import waiting

SERVER = Server('11111111-2222-3333-4444-555555555555', 'p', 'a "name"', 64, 1, metadata={'k': 'v'},
                user_data=base64.b64encode(b'#!/bin/sh\n').decode())
SHARES = (Share('s1', 'data', '192.0.2.1:/a'), Share('s2', 's2', '192.0.2.1:/b'))


class Told(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp(prefix='mlm-'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.metadata = metadata.Metadata()
        self.addCleanup(self.metadata.end_all)
        self.socket = self.folder / 'socket'

    def ask(self, path, method='GET'):
        """Ask as a guest does, through a relay; return (status, body)."""
        mine, its = socket.socketpair()
        with mine:
            started = subprocess.Popen([sys.executable, '-I', '-S', relay.__file__, str(self.socket)], stdin=its, stdout=its)
            its.close()
            mine.settimeout(waiting.LIMIT)
            mine.sendall(f'{method} {path} HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n'.encode())
            answer = b''
            while part := mine.recv(65536):
                answer += part
            self.assertEqual(0, started.wait(waiting.LIMIT))
        head, _, body = answer.partition(b'\r\n\r\n')
        return int(head.split()[1]), body.decode()

    def test_metadata_files_and_folders_are_served_and_others_not_found(self):
        self.metadata.serve(self.socket, metadata.files(SERVER, SHARES))
        for version in ('latest', '2025-04-04'):
            status, body = self.ask(f'/openstack/{version}/meta_data.json')
            self.assertEqual(200, status)
            self.assertEqual(metadata.document(SERVER, SHARES), json.loads(body))
        self.assertEqual([{'type': 'share', 'share_id': 's1', 'tag': 'data', 'bus': 'none', 'address': 'none'},
                          {'type': 'share', 'share_id': 's2', 'tag': 's2', 'bus': 'none', 'address': 'none'}],
                         json.loads(body)['devices'])
        self.assertEqual((200, '#!/bin/sh\n'), self.ask('//openstack/latest/user_data?x=1'))
        self.assertEqual((200, '2025-04-04\nlatest'), self.ask('/openstack/'))
        self.assertEqual((200, 'meta_data.json\nuser_data'), self.ask('/openstack/latest'))
        for path in ('/openstack/2012-08-10/meta_data.json', '/../etc/passwd', '/openstack/latest/meta_data.json/x'):
            self.assertEqual(404, self.ask(path)[0], path)
        self.assertEqual(501, self.ask('/openstack', 'POST')[0])

    def test_changed_files_are_served_and_end_removes_the_socket(self):
        self.metadata.serve(self.socket, metadata.files(SERVER, SHARES))
        self.metadata.serve(self.socket, metadata.files(SERVER, ()))
        self.assertEqual([], json.loads(self.ask('/openstack/latest/meta_data.json')[1])['devices'])
        self.socket.unlink()
        self.metadata.serve(self.socket, metadata.files(SERVER, SHARES))
        self.assertEqual(200, self.ask('/openstack')[0])
        self.metadata.end(self.socket)
        self.metadata.end(self.socket)
        self.assertFalse(self.socket.exists())

    @unittest.skipUnless(shutil.which('xorriso'), 'a config drive needs the package xorriso')
    def test_a_config_drive_has_the_same_files(self):
        image = self.folder / 'config.iso'
        for shares in (SHARES, ()):
            config_drive.make(image, metadata.files(SERVER, shares))
        self.assertEqual([image], list(self.folder.iterdir()))
        subprocess.run(['xorriso', '-osirrox', 'on', '-indev', str(image), '-extract', '/', str(self.folder / 'out')],
                       check=True, capture_output=True, timeout=waiting.LIMIT)
        files = {str(file.relative_to(self.folder / 'out')): file.read_bytes()
                 for file in (self.folder / 'out').rglob('*') if file.is_file()}
        for place, _, _ in os.walk(self.folder / 'out'):
            os.chmod(place, 0o755)
        self.assertEqual(metadata.files(SERVER, ()), files)
