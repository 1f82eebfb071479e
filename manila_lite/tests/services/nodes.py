# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster: guests (QEMU without KVM, so that they run anywhere) with an SSH server and the kernel's NFS client.

A node keeps nothing over a reboot: it is an initramfs.
"""

import socket
import subprocess
import time
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite.siblings.dataproc.remote import host_key as key_pair
from manila_lite.tests import waiting
from manila_lite.tests.services import initramfs

MODULES = ('virtio_pci', 'virtio_net', 'nfsv4')
PROGRAMS = ('sshd', 'mount.nfs')
BEGIN = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /run/sshd /tmp /var/lib/nfs /usr/bin /usr/sbin /sbin /mnt /srv
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin:/sbin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
ln -sf /proc/self/mounts /etc/mtab
ln -s /usr/sbin/mount.nfs /sbin/mount.nfs
ln -s /usr/sbin/mount.nfs /sbin/mount.nfs4
for module in {modules}; do insmod /$module.ko || echo "no $module"; done
ip link set lo up
"""
_OWN = """. /etc/node
hostname $name
ip address add $cidr dev eth0
ip link set eth0 up
"""
END = """echo "$name is up"
/usr/sbin/sshd -e -f /etc/ssh/sshd_config
while :; do sleep 1000; done
"""
SSHD = """HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxSessions 20
SetEnv PATH=/bin:/usr/bin:/sbin:/usr/sbin
"""
ACCOUNTS = """root:x:0:0:root:/srv:/bin/sh
sshd:x:101:65534::/run/sshd:/bin/false
nobody:x:65534:65534::/tmp:/bin/false
"""
#: Lines in a node's fstab that are not ours.
FSTAB = """# made by the image
proc /proc proc defaults 0 0
tmpfs\t/tmp  tmpfs size=64m\t0 0
"""


def missing():
    """Return a text about all that this machine lacks for nodes, or ''."""
    return initramfs.missing(MODULES, *PROGRAMS)


class Image:
    """Kernel, initramfs and login key of all nodes of a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.key_file = self.folder / 'key'
        private, self.public = key_pair()
        self.key_file.touch(0o600)
        self.key_file.write_text(private)
        plain = {
            'etc/ssh/sshd_config': SSHD,
            'etc/ssh/authorized_keys': self.public,
            'etc/passwd': ACCOUNTS,
            'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
            'etc/fstab': FSTAB,
            'etc/netconfig': Path('/etc/netconfig').read_text(),
        }
        self.kernel, self.initrd = initramfs.build(
            MODULES,
            BEGIN + _OWN + END,
            {
                **initramfs.with_libraries(*PROGRAMS),
                **{
                    path: (0o100600 if 'ssh' in path else 0o100644, text.encode())
                    for path, text in plain.items()
                },
            },
        )


class Node:
    """A running node with one interface, on a bridge of a network namespace. ``cidr``: its address, with the prefix."""

    def __init__(self, image, name, netns, bridge, cidr):
        self.name, self.address = name, cidr.partition('/')[0]
        mark = uuidutils.generate_uuid(dashed=False)
        self._image, self._netns, self._tap = image, netns, f't{mark[:12]}'
        self._console = image.folder / f'{name}.console'
        self._console.write_text('')
        private, self.host_key = key_pair()
        initrd = image.folder / f'{name}.initrd'
        # The kernel unpacks several archives, one after the other.
        initrd.write_bytes(
            image.initrd
            + initramfs.archive(
                {
                    'etc/ssh/host_key': (0o100600, private.encode()),
                    'etc/node': (0o100644, f'name={name}\ncidr={cidr}\n'.encode()),
                }
            )
        )
        self._ip('tuntap', 'add', self._tap, 'mode', 'tap')
        self._ip('link', 'set', self._tap, 'master', bridge, 'up')
        self._process = subprocess.Popen(
            [
                'nsenter',
                f'--net=/run/netns/{netns}',
                initramfs.QEMU,
                '-accel',
                'tcg',
                '-M',
                'q35',
                '-cpu',
                'max',
                '-m',
                '256M',
                '-nodefaults',
                '-display',
                'none',
                '-serial',
                f'file:{self._console}',
                '-monitor',
                f'unix:{image.folder / name}.monitor,server=on,wait=off',
                '-kernel',
                str(image.kernel),
                '-initrd',
                str(initrd),
                '-append',
                'console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on',
                '-netdev',
                f'tap,id=n,ifname={self._tap},script=no,downscript=no',
                '-device',
                f'virtio-net-pci,netdev=n,mac=52:54:00:{mark[12:14]}:{mark[14:16]}:{mark[16:18]},romfile=',
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(image.folder / f'{name}.qemu').open('w'),
        )

    def _ip(self, *words):
        subprocess.run(
            ['ip', '-n', self._netns, *words], check=True, capture_output=True, timeout=waiting.LIMIT
        )

    def inventory(self):
        """Return the node's entry for an inventory file."""
        return {
            'address': self.address,
            'user': 'root',
            'key_file': str(self._image.key_file),
            'host_key': self.host_key,
        }

    def boots(self):
        """Return how often the node has booted."""
        return self._console.read_text(errors='replace').count(f'{self.name} is up')

    def wait(self, boots=1):
        """Wait until the node has booted so often."""
        end = time.monotonic() + waiting.LIMIT
        while self.boots() < boots:
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f'{self.name} did not come up: {self.tail()}')
            time.sleep(0.1)  # sleeps: between two looks; the guest is watched at each

    def pull(self):
        """Reset the node, as by its button."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(f'{self._image.folder / self.name}.monitor')
            monitor.sendall(b'system_reset\n')
            # The monitor has read the command when it answers after its greeting.
            monitor.settimeout(waiting.LIMIT)
            while b'system_reset' not in monitor.recv(4096):
                pass

    def tail(self):
        """Return the end of the output of the node and its QEMU."""
        return ''.join(
            path.read_text(errors='replace')[-2000:]
            for path in (self._console, self._image.folder / f'{self.name}.qemu')
        )

    def end(self):
        """Kill the node, as by pulling the plug, and delete its interface."""
        self._process.kill()
        self._process.wait()
        subprocess.run(
            ['ip', '-n', self._netns, 'link', 'delete', self._tap], capture_output=True, timeout=waiting.LIMIT
        )
