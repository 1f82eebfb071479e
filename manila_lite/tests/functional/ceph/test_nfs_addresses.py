# SPDX-License-Identifier: Apache-2.0
"""Addresses of the NFS server on an interface, as neighbours see them. Needs no cluster."""

import os
import shutil
import socket
import threading

import testtools

from manila_lite.drivers.cephfs.nfs import addresses
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.functional.linux import announcements, base

_V4, _V6 = '10.99.0.9', 'fd99::9'


class Addresses(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() or not shutil.which('ip'):
            self.skipTest('network namespaces need root and iproute2')
        self.fabric = base.Fabric(nas=1, one=11)
        self.addCleanup(self.fabric.down)
        self.fabric.up()

    def inside(self, call, *words, host='nas'):
        """Return the result of a call in the namespace of a host."""
        results = []

        def run():
            nfs_client.enter(self.fabric.name(host))
            try:
                results.append(call(*words))
            except CommandFailed as bad:
                results.append(bad)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(waiting.LIMIT)
        return results[0]

    def knock(self, address):
        """Return the refusal of a connection: a host that has the address sends one."""
        try:
            socket.create_connection((address, 9), 10).close()
        except OSError as refused:
            return refused

    def test_neighbours_hear_of_addresses_that_are_taken(self):
        mac = base.command('ip', '-n', self.fabric.name('nas'), '-brief', 'link', 'show', 'eth0').split()[2]
        for version, address in ((4, _V4), (6, _V6)):
            ears = announcements.Ears(self.fabric.name('one'), version)
            self.addCleanup(ears.close)
            self.assertEqual([address], self.inside(addresses.take, 'eth0', [address]))
            heard = []
            waiting.until(
                lambda ears=ears, heard=heard, address=address: (
                    heard.extend(ears.heard()) or (address, mac) in heard
                ),
                lambda heard=heard: heard,
            )

    def test_addresses_are_taken_once_and_left_again(self):
        self.assertEqual([_V4, _V6], self.inside(addresses.take, 'eth0', [_V4, _V6]))
        self.assertEqual([], self.inside(addresses.take, 'eth0', [_V4, _V6]))
        self.assertIsInstance(self.inside(self.knock, _V4, host='one'), ConnectionRefusedError)
        own = {self.fabric.v4('nas'), self.fabric.v6('nas')}
        self.assertLessEqual(own | {_V4, _V6}, self.inside(addresses.held, 'eth0'))
        self.inside(addresses.leave, 'eth0', [_V4, _V6])
        self.inside(addresses.leave, 'eth0', [_V4, _V6])
        held = self.inside(addresses.held, 'eth0')
        self.assertLessEqual(own, held)
        self.assertFalse(held & {_V4, _V6})

    def test_missing_interface_is_an_error_to_take_and_none_to_leave(self):
        self.assertIsInstance(self.inside(addresses.take, 'eth7', [_V4]), CommandFailed)
        self.assertIsNone(self.inside(addresses.leave, 'eth7', [_V4]))
