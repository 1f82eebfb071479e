# SPDX-License-Identifier: Apache-2.0
"""A machine of its own with a kernel of its own: QEMU without KVM, so that it runs anywhere, and a shell on a serial port.

The kernel is Debian's, as tools/guest-kernel unpacked it or as the machine itself has it; the rest is busybox.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

_QEMU = 'qemu-system-x86_64'
_MODULES = ('virtio_pci', 'virtio_net', 'nfsv4')
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
    """Return what this machine lacks for a guest, or nothing."""
    path = f'{os.environ["PATH"]}:/usr/sbin:/sbin'
    lacks = [f'{program} (package {package})' for program, package in (
        (_QEMU, 'qemu-system-x86'), ('busybox', 'busybox-static')) if not shutil.which(program, path=path)]
    if not _kernel():
        lacks.append('a kernel with NFS as a module in /boot and /lib/modules (or from tools/guest-kernel)')
    if not os.path.exists('/dev/net/tun'):
        lacks.append('/dev/net/tun')
    return ', '.join(lacks)


def _kernel():
    """Return the files of a kernel and its modules by name, or nothing if there is none that can be used."""
    for root in (Path(sys.prefix, 'guest'), Path('/')):
        for image in sorted((root / 'boot').glob('vmlinuz-*'), reverse=True):
            modules = {file.stem.replace('-', '_'): file
                       for file in (root / 'lib/modules' / image.name.removeprefix('vmlinuz-')).rglob('*.ko')}
            if modules.keys() >= set(_MODULES):
                return image, modules
    return None


def _in_order(modules, wanted, found):
    """Add modules to ``found``, each after those that it needs. What is not a file is built in."""
    for name in wanted:
        if name in modules and name not in found:
            told = modules[name].read_bytes().partition(b'\0depends=')[2].partition(b'\0')[0].decode()
            _in_order(modules, told.replace('-', '_').split(','), found)
            found[name] = modules[name]
    return found


def _archive(files):
    """Return a cpio archive (newc) of files; ``files`` maps a path to (mode, content)."""
    whole = bytearray()
    for number, (path, (mode, content)) in enumerate([*files.items(), ('TRAILER!!!', (0, b''))], 1):
        name = path.encode() + b'\0'
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        for part in (b'070701' + b''.join(b'%08x' % field for field in fields) + name, content):
            whole += part + b'\0' * (-len(part) % 4)
    return bytes(whole)


class Guest:
    """A running guest with an interface (eth0, eth1, ...) for each tap of the network namespace."""

    def __init__(self, folder, netns, taps):
        self._folder = folder
        image, modules = _kernel()
        ordered = _in_order(modules, _MODULES, {})
        (folder / 'initrd').write_bytes(_archive({
            'bin': (0o40755, b''), 'bin/busybox': (0o100755, Path(shutil.which('busybox')).read_bytes()),
            'init': (0o100755, _INIT.format(modules=' '.join(ordered)).encode()),
            **{f'{name}.ko': (0o100644, file.read_bytes()) for name, file in ordered.items()}}))
        nics = [word for number, tap in enumerate(taps) for word in (
            '-netdev', f'tap,id=n{number},ifname={tap},script=no,downscript=no',
            '-device', f'virtio-net-pci,netdev=n{number},mac=52:54:00:00:66:{number:02x},romfile=')]
        self._process = subprocess.Popen(
            ['nsenter', f'--net=/run/netns/{netns}', _QEMU, '-accel', 'tcg', '-M', 'q35', '-m', '256M', '-nodefaults',
             '-no-reboot', '-display', 'none', '-serial', f'file:{folder / "console"}',
             '-chardev', f'socket,id=shell,path={folder / "shell"},server=on,wait=off', '-serial', 'chardev:shell',
             '-kernel', str(image), '-initrd', str(folder / 'initrd'), '-append', 'console=ttyS0 quiet panic=-1', *nics],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(folder / 'qemu').open('w'))
        self._shell = None
        self._sent = 0

    def boot(self, patience=300):
        """The shell answers. ``patience`` in seconds: nothing of the guest is compiled, and the machine may be busy."""
        end = time.monotonic() + patience
        while self._shell is None:
            with contextlib.suppress(OSError):
                self._shell = socket.socket(socket.AF_UNIX)
                self._shell.connect(str(self._folder / 'shell'))
                break
            self._shell = None
            self._must_live(end)
            time.sleep(0.1)
        while not self._answer('true', min(end, time.monotonic() + 3)):
            self._must_live(end)

    def _must_live(self, end):
        if self._process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f'the guest did not come up: {(self._folder / "qemu").read_text()}'
                                 f'{(self._folder / "console").read_text(errors="replace")[-2000:]}')

    def _answer(self, command, end):
        """Return what came back for a command, with its exit status at the end; nothing if that takes too long."""
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
            # Before it stands what came too late for an earlier one.
            return re.split(r'END \d+ \d+\n', printed)[-1].strip(), int(status)
        return None

    def run(self, command, patience=120):
        """Run a command in the guest; returns (whether it worked, what it printed)."""
        answer = self._answer(command, time.monotonic() + patience)
        if answer is None:
            raise AssertionError(f'{command} does not end within {patience} s\n'
                                 f'{(self._folder / "console").read_text(errors="replace")[-2000:]}')
        return answer[1] == 0, answer[0]

    def end(self):
        """The guest is gone."""
        if self._shell:
            self._shell.close()
        self._process.kill()
        self._process.wait()
