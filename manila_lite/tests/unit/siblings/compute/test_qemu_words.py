# SPDX-License-Identifier: Apache-2.0
"""How QEMU and virtiofsd are started."""

import itertools
import shlex
from pathlib import Path

import testtools

from manila_lite.siblings.compute.drivers import qemu_words
from manila_lite.siblings.compute.drivers.interface import Server
from manila_lite.siblings.compute.drivers.local import Files

FILES = Files(Path('/var/lib/a,b c/servers/1'))
DEVICES = (qemu_words.Device('s1', 'data', '/mounts/1', '/run/share0'),
           qemu_words.Device('s2', 's2', '/mounts/2', '/run/share1'))


def words(**more):
    server = Server(**{'id': '1', 'project_id': 'p', 'name': 'n', 'memory': 64, 'vcpus': 2, **more})
    return qemu_words.qemu('qemu', 'tcg', 'q35', server, FILES, Path('/images'), DEVICES)


def values(found, option):
    """Return the values of an option of QEMU."""
    return [value for name, value in itertools.pairwise(found) if name == option]


class Qemu(testtools.TestCase):
    def test_memory_is_shared_where_shares_need_it(self):
        self.assertEqual(['memory-backend-memfd,id=mem,size=64M,share=on'], values(words(), '-object'))
        self.assertEqual(['memory-backend-ram,id=mem,size=64M'], values(words(shared_memory=False), '-object'))

    def test_a_device_for_each_share(self):
        found = words()
        self.assertIn('vhost-user-fs-pci,chardev=share0,tag=data', values(found, '-device'))
        self.assertIn('vhost-user-fs-pci,chardev=share1,tag=s2', values(found, '-device'))
        self.assertIn('socket,id=share1,path=/run/share1', values(found, '-chardev'))

    def test_commas_part_options_and_only_those(self):
        self.assertIn('unix:/var/lib/a,,b c/servers/1/qmp,server=on,wait=off', words())
        [network] = values(words(), '-netdev')
        command = network.partition('-cmd:')[2].replace(',,', ',')
        self.assertEqual('/var/lib/a,b c/servers/1/metadata', shlex.split(command)[-1])
        self.assertIn('restrict=on', network.split(','))

    def test_what_boots(self):
        found = words(kernel='k', initrd='i', cmdline='a b')
        self.assertEqual((['/images/k'], ['/images/i'], ['a b']),
                         tuple(values(found, option) for option in ('-kernel', '-initrd', '-append')))
        self.assertEqual(1, len(values(found, '-drive')), 'the config drive alone')
        self.assertEqual([], values(words(image='d'), '-kernel'))
        self.assertEqual(2, len(values(words(image='d'), '-drive')))


class Virtiofsd(testtools.TestCase):
    def test_both_flavours(self):
        self.assertEqual('v -f --socket-path=/run/share0 -o source=/mounts/1 -o cache=none -o sandbox=chroot',
                         ' '.join(qemu_words.virtiofsd('v', 'c', DEVICES[0], 'none', 'chroot')))
        self.assertEqual('v --socket-path=/run/share0 --shared-dir=/mounts/1 --cache=never --sandbox=namespace',
                         ' '.join(qemu_words.virtiofsd('v', 'rust', DEVICES[0], 'none', 'namespace')))
