# SPDX-License-Identifier: Apache-2.0
"""Requests of guests for their metadata: no process for each, few a second, and none that keeps another guest waiting."""

import itertools
import os
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.host import namespaces
from manila_lite.host.commands import ENV, run
from manila_lite.siblings.compute.drivers import dhcp, metadata_server
from manila_lite.tests import waiting
from manila_lite.tests.unit.siblings.compute.test_metadata import question

FILES = {'openstack/latest/meta_data.json': b'{}'}


class Guest:
    """Two namespaces with a cable: that of QEMU, which is a process that sleeps here, and that of the guest."""

    def __init__(self, test):
        self.name = f'mlg-{uuidutils.generate_uuid()[:8]}'
        run('ip', 'netns', 'add', self.name)
        test.addCleanup(run, 'ip', 'netns', 'del', self.name)
        self.qemu = subprocess.Popen(['unshare', '--net', 'sleep', 'infinity'], env=ENV)
        test.addCleanup(self.end)
        waiting.until(
            lambda: Path(f'/proc/{self.qemu.pid}/comm').read_text() == 'sleep\n', 'its namespace is there'
        )
        run(
            'ip',
            '-n',
            self.name,
            'link',
            'add',
            'eth0',
            'type',
            'veth',
            'peer',
            'name',
            'tap',
            'netns',
            str(self.qemu.pid),
        )
        run('ip', '-n', self.name, 'address', 'add', '169.254.0.15/16', 'dev', 'eth0')
        run('ip', '-n', self.name, 'link', 'set', 'eth0', 'up')

    def end(self):
        """End QEMU."""
        self.qemu.kill()
        self.qemu.wait(waiting.LIMIT)

    def serve(self, server, files=None):
        """Have the server serve this guest."""
        server.serve(self.name, self.qemu.pid, 'tap', files or FILES)

    def inside(self, do):
        """Call a function as the guest, once its link is up: before that the kernel drops packets, and gives up soon."""
        waiting.until(
            lambda: 'state UP' in run('ip', '-n', self.name, 'link', 'show', 'eth0'), 'its link is up'
        )
        return namespaces.inside(Path('/run/netns', self.name), do)

    def connect(self):
        """Connect to the server."""
        return self.inside(lambda: socket.create_connection((dhcp.SERVER, 80), timeout=waiting.LIMIT))

    def ask(self, path='/openstack/latest/meta_data.json'):
        """Ask for a file; return the whole answer."""
        with self.connect() as peer:
            peer.sendall(f'GET {path} HTTP/1.1\r\n\r\n'.encode())
            return b''.join(iter(lambda: peer.recv(65536), b''))


@unittest.skipIf(os.geteuid(), 'namespaces need root')
class Metadata(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.server = metadata_server.Metadata()
        self.addCleanup(self.server.end_all)
        self.one, self.two = Guest(self), Guest(self)
        self.one.serve(self.server)
        self.two.serve(self.server, {'two': b'2'})

    def test_each_guest_gets_its_own_files(self):
        self.assertIn(b'{}', self.one.ask())
        self.assertIn(b' 404 ', self.two.ask())
        self.assertTrue(self.two.ask('/two').endswith(b'2'))
        self.one.serve(self.server, {'two': b'changed'})
        self.assertTrue(self.one.ask('/two').endswith(b'changed'))

    def test_no_process_is_started_and_answers_are_few(self):
        def children():
            return {child.pid for child in psutil.Process().children(recursive=True)}

        before, began = children(), time.monotonic()
        seen = set()
        for _ in range(20):
            self.assertIn(b' 200 ', self.one.ask())
            seen |= children()
        self.assertEqual(set(), seen - before)
        self.assertGreater(time.monotonic() - began, 19 * metadata_server._PAUSE)

    def test_silent_connections_of_a_guest_do_not_concern_others(self):
        self.patch(metadata_server, '_SECONDS', waiting.LIMIT)
        before = set(threading.enumerate())
        silent = [self.one.connect() for _ in range(4)]
        for peer in silent:
            self.addCleanup(peer.close)
            peer.sendall(b'GET / HTTP/1.1\r\n')
        self.assertIn(b' 404 ', self.two.ask())
        self.assertEqual(set(), set(threading.enumerate()) - before, 'a guest has one thread')
        began = time.monotonic()
        self.server.end(self.one.name)
        self.assertLess(time.monotonic() - began, metadata_server._SECONDS, 'the end waits for no guest')

    def test_an_endless_head_is_cut_off(self):
        with self.one.connect() as peer, self.assertRaises((ConnectionError, BrokenPipeError)):
            for number in itertools.count():
                peer.sendall(b'a: %d\r\n' % number * 1000)
        self.assertIn(b' 200 ', self.one.ask())

    def test_a_guest_gets_its_address(self):
        asking = self.one.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.addCleanup(asking.close)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'eth0')
        asking.bind(('', dhcp.CLIENT))
        asking.settimeout(waiting.LIMIT)
        for sent in (b'', b'x', os.urandom(1400), question(1)):
            asking.sendto(sent, ('255.255.255.255', dhcp.PORT))
        self.assertEqual(socket.inet_aton(dhcp.GUEST), asking.recv(2048)[16:20])

    def test_a_new_agent_and_a_new_qemu_are_served(self):
        other = metadata_server.Metadata()
        self.addCleanup(other.end_all)
        self.one.serve(other)
        self.server.end_all()
        self.assertIn(b' 200 ', self.one.ask())
        again = Guest(self)
        again.name, name = self.one.name, again.name
        again.serve(other)
        again.name = name
        self.assertIn(b' 200 ', again.ask())
        again.end()
        self.assertRaises(errors.Unavailable, again.serve, other)

    def test_nothing_else_listens(self):
        for port in (22, 111, 8774):
            self.assertRaises(
                ConnectionRefusedError,
                self.one.inside,
                lambda port=port: socket.create_connection((dhcp.SERVER, port), timeout=waiting.LIMIT),
            )
