# SPDX-License-Identifier: Apache-2.0
"""The libvirt driver: its XML against libvirt's schema, and the contract with a libvirtd of its own, where one can run."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import testtools
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.host.commands import ENV, run
from manila_lite.host.mounts import unmount
from manila_lite.siblings.compute.drivers import libvirt_xml, taps
from manila_lite.siblings.compute.drivers.interface import MountedShare, Nic, Power, Server
from manila_lite.siblings.compute.drivers.libvirt import LibvirtDriver
from manila_lite.siblings.compute.drivers.local import Files
from manila_lite.tests import waiting
from manila_lite.tests.functional.siblings.compute import test_qemu_driver
from manila_lite.tests.process import until
from manila_lite.tests.services import groups, initramfs

_SCHEMA = Path('/usr/share/libvirt/schemas/domain.rng')
_LIBVIRTD = """unix_sock_dir = "{folder}"
auth_unix_rw = "none"
auth_unix_ro = "none"
log_outputs = "2:stderr"
"""
_QEMU = """user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
"""
#: libvirt requires these to exist, whatever user its guests run as.
_PASSWD, _GROUP = 'libvirt-qemu:x:64055:64055::/:/bin/false\n', 'libvirt-qemu:x:64055:\n'
#: The mount namespace separates this libvirtd from the machine's libvirt.
_START = """set -e
folder=$1
for place in /run/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
  mkdir -p "$place"
  mount -t tmpfs none "$place"
done
mkdir -p /etc/libvirt
for place in /etc/libvirt /etc/passwd /etc/group; do mount --bind "$folder/${place##*/}" "$place"; done
exec libvirtd -f "$folder/libvirt/libvirtd.conf" -p "$folder/pid"
"""


class Schema(testtools.TestCase):
    def setUp(self):
        super().setUp()
        groups.want('libvirt')
        if not _SCHEMA.exists() or not shutil.which('xmllint'):
            self.skipTest("libvirt's schema needs the packages libvirt-daemon and libxml2-utils")

    def test_domain_xml_is_valid(self):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        names = {'image': 'i', 'kernel': 'k', 'initrd': 'r', 'cmdline': 'a < b & "c"'}
        nic = Nic('n', 'n', '192.0.2.5', 'fa:16:3e:00:00:01', '192.0.2.0/24', mtu=1400)
        for number, (more, shares, network) in enumerate(
            (
                ({'image': 'i'}, [], ''),
                (names, [('/mnt/a b', 'a'), ('/mnt/c', 'x' * 36)], 'default'),
                ({'kernel': 'k', 'shared_memory': False}, [], ''),
            )
        ):
            server = Server(uuidutils.generate_uuid(), 'p', 'name & <more>', 64, 2, **more)
            conf = SimpleNamespace(virt_type='kvm', machine='q35', network=network)
            file = folder / f'{number}.xml'
            nics = [('br0', 't0', nic)] * number
            file.write_text(libvirt_xml.domain(conf, 'mlite-1', server, Files(folder), folder, shares, nics))
            done = subprocess.run(
                ['xmllint', '--noout', '--relaxng', str(_SCHEMA), str(file)],
                capture_output=True,
                text=True,
                timeout=waiting.LIMIT,
                check=False,
            )
            self.assertEqual(0, done.returncode, f'{done.stderr}\n{file.read_text()}')


def _missing():
    groups.want('libvirt')
    lacks = [program for program in ('libvirtd', 'virsh', 'unshare') if not initramfs.program(program)]
    return ', '.join(filter(None, (test_qemu_driver.missing(), *lacks)))


class Libvirt(test_qemu_driver.QemuCase, testtools.TestCase):
    """One libvirtd for the class."""

    DRIVER = LibvirtDriver

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := _missing():
            raise unittest.SkipTest(
                f'libvirt needs {lacks}; tools/setup-env --guests --libvirt puts it in place'
            )
        cls.daemon = Path(tempfile.mkdtemp(prefix='mlv-'))
        cls.addClassCleanup(shutil.rmtree, cls.daemon, ignore_errors=True)
        cls._files()
        # A shared mount, so that libvirtd also sees mounts that the driver makes below it later.
        cls.base = cls.daemon / 'base'
        cls.base.mkdir()
        subprocess.run(
            ['mount', '--bind', str(cls.base), str(cls.base)], check=True, env=ENV, timeout=waiting.LIMIT
        )
        cls.addClassCleanup(unmount, cls.base)
        subprocess.run(['mount', '--make-shared', str(cls.base)], check=True, env=ENV, timeout=waiting.LIMIT)
        log = cls.daemon / 'log'
        with log.open('wb') as out:
            words = [
                'unshare',
                '--mount',
                '--propagation',
                'slave',
                'sh',
                '-c',
                _START,
                'sh',
                str(cls.daemon),
            ]
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=ENV, start_new_session=True
            )
        cls.addClassCleanup(cls._end, process)
        cls.uri = f'qemu:///system?socket={cls.daemon}/libvirt-sock'
        until(lambda: process.poll() is not None or cls._answers(), 'libvirtd answers', log.read_text)
        if process.poll() is not None:
            raise AssertionError(f'libvirtd ended: {log.read_text()[-500:]}')

    @classmethod
    def _files(cls):
        folder = cls.daemon / 'libvirt'
        folder.mkdir()
        (folder / 'libvirtd.conf').write_text(_LIBVIRTD.format(folder=cls.daemon))
        (folder / 'qemu.conf').write_text(_QEMU)
        for name, line in (('passwd', _PASSWD), ('group', _GROUP)):
            (cls.daemon / name).write_text(Path('/etc', name).read_text() + line)

    @classmethod
    def _answers(cls):
        done = subprocess.run(['virsh', '-c', cls.uri, 'version'], capture_output=True, env=ENV, check=False)
        return done.returncode == 0

    @classmethod
    def _end(cls, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(waiting.LIMIT)

    def temporary(self):
        """Return a new directory below the shared mount; see ``Contract.temporary``."""
        return tempfile.mkdtemp(dir=self.base)

    def again(self):
        self.MORE = {'uri': self.uri, 'virt_type': 'qemu', 'power_off_timeout': 0.1}
        return super().again()

    def test_shares_in_a_guest(self):
        one, two = self.share('one'), self.share('two')
        self.driver.power_on(self.server, (one, two))
        self.assertEqual(frozenset(), self.driver.inspect(self.server, (one, two)).broken)
        self.assertRaises(errors.Final, self.driver.suspend, self.server)
        self.assertEqual(Power.RUNNING, self.power(self.server))
        self.kill('virtiofsd', str(self.driver.files(self.server) / 'share1'))
        until(
            lambda: self.driver.inspect(self.server, (one, two)).broken == {two.id}, 'its death is seen', str
        )
        self.driver.reboot(self.server, (one, two), hard=True)
        self.assertEqual(frozenset(), self.driver.inspect(self.server, (one, two)).broken)
        self.driver.power_off(self.server)
        until(lambda: not self.processes('virtiofsd'), 'none is left', str)

    def test_interfaces_have_filters_before_the_guest_runs(self):
        bridge = f'mlv{uuidutils.generate_uuid()[:8]}'
        run('ip', 'link', 'add', bridge, 'type', 'bridge')
        self.addCleanup(run, 'ip', 'link', 'delete', bridge)
        self.driver.conf.set_override('bridges', {'a': bridge}, LibvirtDriver.GROUP)
        server = self.one(nics=(Nic('a', 'a', '192.0.2.5', 'fa:16:3e:00:00:05', '192.0.2.0/24'),))
        tap, name = taps.name(server, 0), f'mlite-{server.id}'

        def held():
            return 'bytecode' in run('tc', 'filter', 'show', 'dev', tap, 'ingress')

        self.driver.power_on(server, ())
        self.assertTrue(held())
        self.assertEqual('running', self.state(name))
        # The agent died before the guest ran.
        run('virsh', '--connect', self.uri, 'suspend', name)
        run('tc', 'qdisc', 'delete', 'dev', tap, 'clsact')
        self.driver.power_on(server, ())
        self.assertEqual((True, 'running'), (held(), self.state(name)))
        self.driver.suspend(server)
        self.driver.resume(server)
        self.assertEqual((True, 'running'), (held(), self.state(name)))

    def state(self, name):
        """Return the state of a domain in libvirt's words."""
        return run('virsh', '--connect', self.uri, 'domstate', name).strip()

    def test_a_tag_of_37_bytes_is_refused(self):
        share = self.share('a' * 36)
        self.assertRaises(
            errors.Final, self.driver.power_on, self.server, (MountedShare(share.id, 'a' * 37, share.export),)
        )
        self.assertEqual(Power.OFF, self.power(self.server))
