# SPDX-License-Identifier: Apache-2.0
"""Virtual machine with its own kernel: QEMU without KVM, so that it runs anywhere, with a shell on a serial port.

The kernel is Debian's, unpacked by tools/guest-kernel or installed on the machine; the rest is busybox.
"""

import contextlib
import re
import socket
import subprocess
import time

from manila_lite.tests import waiting
from manila_lite.tests.services import initramfs

MODULES = ('virtio_pci', 'virtio_net', 'nfsv4')
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in {modules}; do insmod /$module.ko || echo "no $module"; done
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link set lo up
stty -F /dev/ttyS1 -echo -onlcr
exec </dev/ttyS1 >/dev/ttyS1 2>&1
while read -r number command; do eval "$command"; echo "END $number $?"; done
"""


def missing():
    """Return the requirements of a guest that this machine lacks, or an empty text."""
    return initramfs.missing(MODULES)


class Guest:
    """A running guest with an interface (eth0, eth1, ...) for each tap of the network namespace."""

    def __init__(self, folder, netns, taps, *, number=0, memory='256M', entries=()):
        """Start it. Guests on one bridge have a ``number`` each; ``entries``: further files, see ``initramfs.archive``."""
        self._folder = folder
        image, initrd = initramfs.build(MODULES, _INIT, entries)
        (folder / 'initrd').write_bytes(initrd)
        nics = [
            word
            for nic, tap in enumerate(taps)
            for word in (
                '-netdev',
                f'tap,id=n{nic},ifname={tap},script=no,downscript=no',
                '-device',
                f'virtio-net-pci,netdev=n{nic},mac=52:54:00:{number:02x}:66:{nic:02x},romfile=',
            )
        ]
        self._process = subprocess.Popen(
            [
                'nsenter',
                f'--net=/run/netns/{netns}',
                initramfs.QEMU,
                '-accel',
                'tcg',
                '-M',
                'q35',
                '-m',
                memory,
                '-nodefaults',
                '-no-reboot',
                '-display',
                'none',
                '-serial',
                f'file:{folder / "console"}',
                '-chardev',
                f'socket,id=shell,path={folder / "shell"},server=on,wait=off',
                '-serial',
                'chardev:shell',
                '-kernel',
                str(image),
                '-initrd',
                str(folder / 'initrd'),
                '-append',
                'console=ttyS0 quiet panic=-1 no_timer_check',
                *nics,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / 'qemu').open('w'),
        )
        self._shell = None
        self._sent = 0

    def boot(self):
        """Wait until the shell answers."""
        end = time.monotonic() + waiting.LIMIT
        while self._shell is None:
            with contextlib.suppress(OSError):
                self._shell = socket.socket(socket.AF_UNIX)
                self._shell.connect(str(self._folder / 'shell'))
                break
            self._shell = None
            self._must_live(end)
            time.sleep(0.1)  # sleeps: between two tries; the guest is watched at each
        while not self._answer('true', min(end, time.monotonic() + 3)):
            self._must_live(end)

    def _must_live(self, end):
        if self._process.poll() is not None or time.monotonic() > end:
            raise AssertionError(
                f'the guest did not come up: {(self._folder / "qemu").read_text()}'
                f'{(self._folder / "console").read_text(errors="replace")[-2000:]}'
            )

    def _answer(self, command, end):
        """Return (output, exit status) of a command, or None if it takes too long."""
        self._sent += 1
        mark = f'END {self._sent} '
        said = ''
        with contextlib.suppress(TimeoutError):
            self._shell.sendall(f'{self._sent} {command}\n'.encode())
            while not (mark in said and said.endswith('\n')):
                self._shell.settimeout(max(end - time.monotonic(), 0.1))
                part = self._shell.recv(65536).decode(errors='replace')
                if not part:
                    return None
                said += part
            printed, _, status = said.rpartition(mark)
            # An earlier command that timed out may have left output in front.
            return re.split(r'END \d+ \d+\n', printed)[-1].strip(), int(status)
        return None

    def run(self, command, patience=waiting.LIMIT):
        """Run a command in the guest; return (success, output)."""
        output, status = self.answer(command, patience)
        return status == 0, output

    def answer(self, command, patience=waiting.LIMIT):
        """Run a command in the guest; return (output, exit status)."""
        answer = self._answer(command, time.monotonic() + patience)
        if answer is None:
            raise AssertionError(
                f'{command} does not end within {patience} s\n'
                f'{(self._folder / "console").read_text(errors="replace")[-2000:]}'
            )
        return answer

    def end(self):
        """Kill the guest."""
        if self._shell:
            self._shell.close()
        self._process.kill()
        self._process.wait()
