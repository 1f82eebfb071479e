# SPDX-License-Identifier: Apache-2.0
"""The kernel's own NFS client, in a virtual machine in two subnets of a share server."""

import shutil
import tempfile
import unittest
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite.drivers.linux.servers.fabric import bridge_of
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import base, guest, server_base

FOUR, SIX = (server_base.address(subnet, 5) for subnet in ('four', 'six'))
MINE_FOUR, MINE_SIX = (server_base.address(subnet, 77) for subnet in ('four', 'six'))
_MOUNT = {FOUR: 'proto=tcp,clientaddr=0.0.0.0', f'[{SIX}]': 'proto=tcp6,clientaddr=::'}


class KernelClient(server_base.ServerTest):
    """One guest for the class."""

    @classmethod
    def setUpClass(cls):
        if lacks := guest.missing():
            raise unittest.SkipTest(
                f'a kernel NFS client needs {lacks}; tools/setup-env --guests puts it in place'
            )
        super().setUpClass()
        folder = Path(tempfile.mkdtemp(prefix='ml-guest-'))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.guest = guest.Guest(folder, cls.machine.fabric, [cls.tap('four'), cls.tap('six')])
        cls.addClassCleanup(cls.guest.end)
        cls.guest.boot()
        for number, place in enumerate((f'{MINE_FOUR}/24', f'{MINE_SIX}/64')):
            for command in (f'ip address add {place} dev eth{number}', f'ip link set eth{number} up'):
                worked, said = cls.guest.run(command)
                assert worked, (command, said)

    @classmethod
    def tap(cls, subnet):
        """Return a new interface on the subnet's bridge, for a guest."""
        name = f't{uuidutils.generate_uuid(dashed=False)[:12]}'
        fabric = cls.machine.fabric
        base.ip('-n', fabric, 'tuntap', 'add', name, 'mode', 'tap')
        cls.addClassCleanup(base.ip, '-n', fabric, 'link', 'delete', name)
        base.ip('-n', fabric, 'link', 'set', name, 'master', bridge_of(server_base.network(subnet, 1)), 'up')
        return name

    def run_in_guest(self, command, ok=True):
        """Check that the command ends as expected; return its output."""
        worked, said = self.guest.run(command)
        self.assertEqual(ok, worked, f'{command}: {said}')
        return said

    def mount(self, address, share, ok=True, place='/mnt'):
        """Check that the guest can, or cannot, mount the share through the address."""
        options = f'vers=4.2,addr={address.strip("[]")},{_MOUNT[address]},soft,timeo=150'
        command = f'mount -t nfs4 -o {options} {address}:/shares/{share.id} {place}'
        self.run_in_guest(f'mkdir -p {place}')
        if not ok:
            self.run_in_guest(command, ok=False)
            return
        # Retry while the server is silent, as mount.nfs does and busybox does not.
        waiting.until(lambda: self.tried(command), command)
        self.addCleanup(self.guest.run, f'umount {place}')
        self.assertIn(f'{address}:/shares/{share.id} {place} nfs4 ', self.run_in_guest('cat /proc/mounts'))

    def tried(self, command):
        """Say whether the command succeeded; a timeout is the only error allowed."""
        worked, said = self.guest.run(command)
        self.assertTrue(worked or 'timed out' in said, f'{command}: {said}')
        return worked

    def connections(self):
        """Return the addresses of the NFS servers that the guest is connected to."""
        lines = self.run_in_guest('netstat -tn').splitlines()
        return {
            line.split()[4].rpartition(':')[0].removeprefix('::ffff:')
            for line in lines
            if 'ESTABLISHED' in line and line.split()[4].endswith(':2049')
        }

    def test_share_has_the_same_files_over_ipv4_and_ipv6(self):
        share = self.share()
        self.assertEqual([None, None], self.grant(share, (MINE_FOUR, 'rw'), ('fd66:2::/64', 'ro')))
        self.mount(FOUR, share)
        self.assertEqual({FOUR}, self.connections())
        self.run_in_guest('echo hello > /mnt/f && dd if=/dev/urandom of=/mnt/big bs=1M count=8 conv=fsync')
        digest = self.run_in_guest('sha256sum < /mnt/big')
        self.run_in_guest('umount /mnt')
        self.mount(f'[{SIX}]', share)
        self.assertEqual({SIX}, self.connections())
        self.assertEqual('hello', self.run_in_guest('cat /mnt/f'))
        self.assertEqual(digest, self.run_in_guest('sha256sum < /mnt/big'))
        self.assertIn('Read-only', self.run_in_guest('echo no > /mnt/g', ok=False))
        self.assertEqual('hello', self.works('two6', SIX, share, 'read', 'f'))

    def test_ipv4_and_ipv6_mounts_see_each_others_writes(self):
        share = self.share()
        self.grant(share, (MINE_FOUR, 'rw'), (MINE_SIX, 'rw'))
        self.mount(FOUR, share, place='/four')
        self.mount(f'[{SIX}]', share, place='/six')
        self.run_in_guest('echo one > /four/f && sync')
        self.assertEqual('one', self.run_in_guest('cat /six/f'))
        self.run_in_guest('echo two > /six/g && sync')
        self.assertEqual('two', self.run_in_guest('cat /four/g'))

    def test_guest_without_an_access_rule_is_refused_on_each_address(self):
        share = self.share()
        self.grant(share, (server_base.address('four', 101), 'rw'), (server_base.address('six', 101), 'rw'))
        for address in (FOUR, f'[{SIX}]'):
            self.mount(address, share, ok=False)
        self.grant(share, (MINE_SIX, 'rw'))
        self.mount(FOUR, share, ok=False)
        self.mount(f'[{SIX}]', share)
