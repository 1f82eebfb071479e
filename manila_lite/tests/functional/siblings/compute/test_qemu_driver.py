# SPDX-License-Identifier: Apache-2.0
"""The qemu driver, with guests that do nothing: processes, mounts, memory, disks."""

import contextlib
import os
import signal
import subprocess
import unittest
from pathlib import Path

import psutil
import testtools
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.host.commands import run
from manila_lite.host.mounts import is_mounted, unmount
from manila_lite.siblings.compute.drivers import qemu_host
from manila_lite.siblings.compute.drivers.interface import MountedShare, Nic, Power
from manila_lite.siblings.compute.drivers.qemu import QemuDriver
from manila_lite.tests import waiting
from manila_lite.tests.functional.siblings.compute import driver_contract
from manila_lite.tests.process import until
from manila_lite.tests.services import groups, initramfs


def missing():
    """Return the requirements of guests with shares that this machine lacks, or an empty text."""
    if os.geteuid():
        return 'root'
    groups.want('guests')
    lacks = [program for program in (initramfs.QEMU, 'xorriso') if not initramfs.program(program)]
    lacks += [path for path in ('/dev/net/tun',) if not os.path.exists(path)]
    with contextlib.suppress(errors.BadConfig):
        qemu_host.virtiofsd('')
        return ', '.join(lacks)
    return ', '.join([*lacks, 'virtiofsd'])


def need():
    """Skip the tests of a class, unless guests can run here."""
    if lacks := missing():
        raise unittest.SkipTest(f'guests need {lacks}; tools/setup-env --guests puts it in place')


class QemuCase(driver_contract.Contract):
    """A driver that mounts directories of the test's own folder, and leaves nothing behind."""

    DRIVER = QemuDriver

    MORE = {'accelerator': 'tcg', 'power_off_timeout': 0.1}

    def again(self):
        self.MORE = {**self.MORE, 'mount_local': {'192.0.2.1:/shares': str(self.folder / 'shares')}}
        self.addCleanup(self.leave_nothing)
        return super().again()

    def leave_nothing(self):
        """Remove processes and mounts that a failed test left."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
                process.wait(waiting.LIMIT)
        for place in sorted((self.folder / 's' / 'mounts').glob('*')):
            while is_mounted(place):
                unmount(place)

    def kill(self, program, words=''):
        """Kill the processes of one program for this test's guests, with these words in their command line."""
        for process in self.processes(program):
            with contextlib.suppress(psutil.Error):
                if words in ' '.join(process.cmdline()):
                    process.kill()

    def processes(self, program=''):
        """Return the processes of this test's guests, or those of one program."""
        processes = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if words and program in words[0] and any(str(self.folder) in word for word in words[1:]):
                    processes.append(process)
        return processes


class Qemu(QemuCase, testtools.TestCase):
    """Tests beyond the contract, of real processes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need()

    def test_a_virtiofsd_for_each_share_and_none_is_left(self):
        one, two = self.share('one'), self.share('two')
        self.driver.power_on(self.server, (one, two))
        self.assertEqual(2, len({tuple(process.cmdline()) for process in self.processes('virtiofsd')}))
        qemu = self.processes('qemu')[0].pid
        self.driver.power_on(self.server, (one, two))
        self.assertEqual(qemu, self.processes('qemu')[0].pid, 'a guest that runs as wanted stays')
        self.assertRaisesRegex(errors.Final, 'non-migratable', self.driver.suspend, self.server)
        self.assertEqual(Power.RUNNING, self.power(self.server))
        self.kill('virtiofsd', f'source={self.driver.directory_of(one)}')
        until(
            lambda: self.driver.inspect(self.server, (one, two)).broken == {one.id}, 'its death is seen', str
        )
        self.driver.power_on(self.server, (one, two))
        self.assertEqual(frozenset(), self.driver.inspect(self.server, (one, two)).broken)
        self.driver.power_off(self.server)
        self.assertEqual([], self.processes())
        self.driver.destroy(self.server)
        self.assertEqual([], list((self.folder / 's' / 'servers').iterdir()))

    def test_virtiofsd_is_missed_whichever_of_its_processes_was_killed(self):
        share = self.share()
        for child in (False, True):
            self.driver.power_on(self.server, (share,))
            pids = {one.pid: one.ppid() for one in self.processes('virtiofsd')}
            # The C version consists of two processes, the Rust version may have one.
            victims = [pid for pid, parent in pids.items() if (parent in pids) == child]
            self.assertTrue(victims or (child and len(pids) == 1), pids)
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
            if victims:
                until(
                    lambda: self.driver.inspect(self.server, (share,)).broken == {share.id},
                    'its death is seen',
                    str,
                )

    def test_killed_qemu_and_a_lost_pid_are_noticed(self):
        share = self.share()
        self.driver.power_on(self.server, (share,))
        for record in (self.folder / 's' / 'servers' / self.server.id).glob('*.json'):
            if record.name != 'run.json':
                record.unlink()
        self.assertEqual(Power.RUNNING, self.power(self.server, share, driver=self.again()))
        self.kill('qemu')
        until(lambda: self.power(self.server, share) == Power.OFF, 'its death is seen', str)
        self.driver.power_off(self.server)
        self.assertEqual([], self.processes())

    def test_interfaces_come_and_go_with_their_guest(self):
        space = f'mlc-{uuidutils.generate_uuid()[:8]}'
        run('ip', 'netns', 'add', space)
        self.addCleanup(run, 'ip', 'netns', 'del', space)
        run('ip', '-n', space, 'link', 'add', 'br0', 'type', 'bridge')
        self.MORE = {**self.MORE, 'bridges': {'a': 'br0', 'b': 'missing'}, 'bridge_netns': space}
        self.driver = self.again()
        self.assertEqual({'a', 'b'}, self.driver.capabilities().networks)

        def plugged():
            return [
                line.split(': ')[1]
                for line in run('ip', '-n', space, '-o', 'link', 'show', 'master', 'br0').splitlines()
            ]

        def held(name):
            """Say whether an interface has a filter."""
            return 'bytecode' in run('tc', '-n', space, 'filter', 'show', 'dev', name, 'ingress')

        nics = tuple(
            Nic('a', 'a', f'192.0.2.{number}', f'fa:16:3e:00:00:0{number}', '192.0.2.0/24')
            for number in (5, 6)
        )
        server = self.one(nics=nics)
        self.driver.power_on(server, ())
        self.assertEqual(2, len(plugged()))
        self.assertEqual([True, True], [held(name) for name in plugged()])
        before = plugged(), self.processes('qemu')[0].pid
        run('tc', '-n', space, 'qdisc', 'delete', 'dev', before[0][0], 'clsact')
        self.assertEqual(Power.RUNNING, self.power(server, driver=self.again()))
        self.assertTrue(held(before[0][0]), 'the agent looks after it')
        self.again().power_on(server, ())
        self.assertEqual(
            before, (plugged(), self.processes('qemu')[0].pid), 'a guest that runs as wanted stays'
        )
        self.driver.suspend(server)
        self.assertEqual([], plugged())
        self.driver.resume(server)
        self.assertEqual(before[0], plugged())
        self.assertEqual([True, True], [held(name) for name in plugged()])
        self.kill('qemu')
        until(lambda: not plugged(), 'they are gone with it', str)
        self.driver.power_on(server, ())
        self.assertEqual(before[0], plugged())
        self.driver.destroy(server)
        self.assertEqual([], plugged())
        for network in ('b', 'c'):
            other = self.one(nics=(Nic(network, network, '192.0.2.7', 'fa:16:3e:00:00:07', '192.0.2.0/24'),))
            self.assertRaises(errors.ManilaLiteError, self.driver.power_on, other, ())
            self.driver.destroy(other)
        self.assertEqual('', run('ip', '-n', space, '-o', 'link', 'show', 'type', 'tun'))

    def test_a_tag_of_37_bytes_is_refused_and_nothing_runs(self):
        share = self.share('a' * 36)
        self.driver.power_on(self.server, (share,))
        self.driver.power_off(self.server)
        self.assertRaisesRegex(
            errors.Final,
            '36 bytes',
            self.driver.power_on,
            self.server,
            (MountedShare(share.id, 'a' * 37, share.export),),
        )
        self.assertEqual([], self.processes())

    def test_saved_memory_is_not_used_after_a_new_start(self):
        self.driver.power_on(self.server, ())
        self.driver.suspend(self.server)
        self.driver.power_on(self.server, ())
        self.assertEqual(Power.RUNNING, self.power(self.server))
        self.driver.power_off(self.server)
        self.assertRaises(errors.Final, self.driver.resume, self.server)

    def test_disks_have_the_content_and_size_of_their_image(self):
        disk = self.folder / 's' / 'servers' / self.server.id / 'disk'
        disk.write_bytes(b'written by the guest')
        self.driver.create_image(self.server, 'copy')
        self.assertEqual(
            b'written by the guest', (self.folder / 'images' / 'projects' / 'p' / 'copy').read_bytes()
        )
        self.assertRaises(errors.Final, self.driver.create_image, self.server, 'disk.qcow2')
        self.driver.rebuild(self.server)
        self.assertEqual(driver_contract.HALT, disk.read_bytes())
        self.assertEqual(
            1 << 30, self.folder.joinpath('s', 'servers', self.one(disk=1).id, 'disk').stat().st_size
        )
        self.assertRaises(errors.Final, self.one, image='nothing')
        self.assertRaises(errors.Final, self.one, image=None, kernel='nothing')
        self.assertRaises(errors.Final, self.driver.create_image, self.one(image=None), 'copy')

    def test_a_console_cannot_fill_the_disk(self):
        self.driver.power_on(self.server, ())
        console = self.folder / 's' / 'servers' / self.server.id / 'console'
        console.write_bytes(b'first\n' + b'x' * (2 << 20) + b'\nlast\n')
        self.power(self.server)
        self.assertEqual(512 << 10, console.stat().st_size)
        self.assertEqual('last\n', self.driver.console(self.server, 1))

    def test_a_config_drive_has_the_label(self):
        self.driver.power_on(self.server, ())
        image = Path(self.folder, 's', 'servers', self.server.id, 'config.iso')
        said = subprocess.run(
            ['blkid', '-p', '-s', 'LABEL', '-o', 'value', str(image)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, 'PATH': f'{os.environ["PATH"]}:/usr/sbin:/sbin'},
        )
        self.assertEqual('config-2', said.stdout.strip(), said.stderr)


class Host(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need()

    def test_accelerator_is_used_if_a_test_guest_ran(self):
        qemu = qemu_host.program('qemu-system-x86_64')
        self.assertIsInstance(qemu_host.takes(qemu, 'tcg'), float)
        self.assertIsNone(qemu_host.takes(qemu, 'no-such-accelerator'))
        # Whether KVM is as fast depends on the machine and its load.
        able = ('kvm', 'tcg') if os.path.exists('/dev/kvm') and qemu_host.takes(qemu, 'kvm') else ('tcg',)
        self.assertIn(qemu_host.accelerator('auto', qemu), able)

    def test_slow_kvm_is_not_used(self):
        for kvm, tcg, fast in (
            (0.2, 0.1, True),
            (0.2, None, True),
            (1.4, 0.07, False),
            (None, 0.1, False),
            (5.0, 1.0, False),
        ):
            self.assertEqual(fast, qemu_host._is_as_fast(kvm, tcg), (kvm, tcg))

    def test_virtiofsd_is_found_and_a_wrong_path_is_refused(self):
        self.assertIn(qemu_host.flavour(qemu_host.virtiofsd('')), ('c', 'rust'))
        self.assertRaises(errors.BadConfig, qemu_host.virtiofsd, '/nowhere/virtiofsd')
