# SPDX-License-Identifier: Apache-2.0
"""Command lines of QEMU and virtiofsd."""

import itertools
from pathlib import Path

import fixtures
import testtools

from manila_lite.siblings.compute.drivers import qemu_arguments
from manila_lite.siblings.compute.drivers.interface import Nic, Server
from manila_lite.siblings.compute.drivers.local import Files
from manila_lite.siblings.compute.drivers.qemu_processes import CommandLines

FILES = Files(Path('/var/lib/a,b c/servers/1'))
DEVICES = (
    qemu_arguments.Device('s1', 'data', '/mounts/1', '/run/share0'),
    qemu_arguments.Device('s2', 's2', '/mounts/2', '/run/share1'),
)


def words(**more):
    server = Server(**{'id': '1', 'project_id': 'p', 'name': 'n', 'memory': 64, 'vcpus': 2, **more})
    return qemu_arguments.qemu('qemu', 'tcg', 'q35', server, FILES, Path('/images'), DEVICES)


def values(arguments, option):
    """Return the values of an option of QEMU."""
    return [value for name, value in itertools.pairwise(arguments) if name == option]


class Qemu(testtools.TestCase):
    def test_guest_memory_is_shared_only_if_requested(self):
        self.assertEqual(['memory-backend-memfd,id=mem,size=64M,share=on'], values(words(), '-object'))
        self.assertEqual(
            ['memory-backend-ram,id=mem,size=64M'], values(words(shared_memory=False), '-object')
        )

    def test_each_share_has_a_device(self):
        arguments = words()
        self.assertIn('vhost-user-fs-pci,chardev=share0,tag=data', values(arguments, '-device'))
        self.assertIn('vhost-user-fs-pci,chardev=share1,tag=s2', values(arguments, '-device'))
        self.assertIn('socket,id=share1,path=/run/share1', values(arguments, '-chardev'))

    def test_commas_in_values_are_doubled(self):
        self.assertIn('unix:/var/lib/a,,b c/servers/1/qmp,server=on,wait=off', words())

    def test_qemu_starts_no_program(self):
        self.assertNotIn('cmd:', ' '.join(words()))
        self.assertIn('spawn=deny', values(words(), '-sandbox')[0].split(','))
        self.assertEqual(['tap,id=net,ifname=m1,script=no,downscript=no'], values(words(), '-netdev'))

    def test_each_network_has_an_interface(self):
        nics = tuple(
            Nic(name, name, '192.0.2.5', f'fa:16:3e:00:00:0{number}', '192.0.2.0/24', mtu=1400)
            for number, name in enumerate('ab')
        )
        server = {'id': '11111111-2222-3333-4444-555555555555', 'nics': nics}
        arguments = words(**server)
        names = [
            value.partition('ifname=')[2].partition(',')[0] for value in values(arguments, '-netdev')[1:]
        ]
        self.assertEqual(['t1111111122220', 't1111111122221'], names)
        self.assertIn(
            'virtio-net-pci,netdev=nic1,mac=fa:16:3e:00:00:01,host_mtu=1400,romfile=',
            values(arguments, '-device'),
        )
        self.assertTrue(all(len(name) < 16 for name in names), 'or the kernel takes no such name')

    def test_kernel_or_disk_image_sets_the_boot_options(self):
        arguments = words(kernel='k', initrd='i', cmdline='a b')
        self.assertEqual(
            (['/images/k'], ['/images/i'], ['a b']),
            tuple(values(arguments, option) for option in ('-kernel', '-initrd', '-append')),
        )
        self.assertEqual(1, len(values(arguments, '-drive')), 'the config drive alone')
        self.assertEqual([], values(words(image='d'), '-kernel'))
        self.assertEqual(2, len(values(words(image='d'), '-drive')))


class Virtiofsd(testtools.TestCase):
    def test_c_and_rust_virtiofsd_get_their_own_options(self):
        self.assertEqual(
            'v -f --socket-path=/run/share0 -o source=/mounts/1 -o cache=none -o sandbox=chroot',
            ' '.join(qemu_arguments.virtiofsd('v', 'c', DEVICES[0], 'none', 'chroot')),
        )
        self.assertEqual(
            'v --socket-path=/run/share0 --shared-dir=/mounts/1 --cache=never --sandbox=namespace',
            ' '.join(qemu_arguments.virtiofsd('v', 'rust', DEVICES[0], 'none', 'namespace')),
        )


class Recorded(testtools.TestCase):
    def test_guests_of_earlier_releases_are_found(self):
        """They run in the network namespace of the agent, or in that of the bridges, which their record names."""
        files = Files(Path(self.useFixture(fixtures.TempDir()).path))
        (files / 'run.json').write_text('{"qemu": ["q"], "shares": {}, "sockets": {}, "netns": "bridges"}')
        known = CommandLines.read(files)
        self.assertEqual((['q'], False), (known.qemu, known.apart))
        self.assertNotEqual(
            known, CommandLines(['q'], apart=True), 'it is started anew when it is switched on'
        )
