# SPDX-License-Identifier: Apache-2.0
"""Client machines of the scenario tests: emulated, with the kernel's own NFS client and mount.nfs of this machine.

They are booted once. A test borrows one, and what it mounted or wrote is gone when it gives it back.
"""

import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fixtures

from manila_lite.tests.functional.linux import base, guest
from manila_lite.tests.services import daemon, initramfs

#: Seconds for a command: the longest writes a gigabyte.
_PATIENCE = 600
#: A shell of busybox prefers its own commands to those of the path: these find the others first.
_SUDO = """#!/bin/busybox sh
found=$(which "$1") || { echo "sudo: $1: command not found" >&2; exit 1; }
shift
exec "$found" "$@"
"""
#: As that of util-linux, and unlike that of busybox, it leaves NFS to mount.nfs.
_MOUNT = """#!/bin/busybox sh
while getopts vt:o: option; do case $option in t) kind=$OPTARG;; o) options=$OPTARG;; esac; done
shift $((OPTIND - 1))
exec "$(which mount.$kind)" "$1" "$2" -v ${options:+-o "$options"}
"""
_PATH = '/usr/local/bin:/usr/sbin:/sbin:/bin'
_CLEAN = """grep ' nfs' /proc/mounts | cut -d' ' -f2 | while read -r place; do umount -f -l "$place"; done
rm -rf /mnt /stderr; mkdir /mnt; ! grep ' nfs' /proc/mounts""".replace('\n', '; ')


def missing() -> str:
    """Return the requirements that this machine lacks, or an empty text."""
    return ', '.join(filter(None, (base.missing(), initramfs.missing(guest.MODULES, 'mount.nfs'))))


class Machine(fixtures.Fixture):
    """One guest on a bridge, with an address of each family. ``boot`` waits for it."""

    def __init__(self, netns: str, bridge: str, number: int, addresses: Sequence[str]) -> None:
        super().__init__()
        self._netns = netns
        self._bridge = bridge
        self._number = number
        self._tap = f'guest{number}'
        #: As in Nova's API, with the length of the prefix.
        self.addresses = addresses
        self._one_at_a_time = threading.Lock()

    def _setUp(self) -> None:
        base.ip('-n', self._netns, 'tuntap', 'add', self._tap, 'mode', 'tap')
        base.ip('-n', self._netns, 'link', 'set', self._tap, 'master', self._bridge, 'up')
        self.addCleanup(self._end)
        self._start()

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix='ml-guest-'))
        entries = {
            **initramfs.with_libraries('mount.nfs'),
            'etc/netconfig': (0o100644, Path('/etc/netconfig').read_bytes()),
            'usr/local/bin/sudo': (0o100755, _SUDO.encode()),
            'usr/local/bin/mount': (0o100755, _MOUNT.encode()),
            'mnt': (0o40755, b''),
            'run': (0o40755, b''),
            'tmp': (0o41777, b''),
        }
        self._guest = guest.Guest(
            self._folder, self._netns, [self._tap], number=self._number, memory='512M', entries=entries
        )

    def boot(self) -> None:
        """Wait for the shell and set up the network."""
        self._guest.boot()
        for command in (
            *(f'ip address add {address} dev eth0' for address in self.addresses),
            'ip link set eth0 up',
        ):
            worked, said = self._guest.run(command)
            if not worked:
                raise daemon.Broken(f'{command}: {said}')

    def _end(self) -> None:
        self._guest.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, command: str) -> dict[str, Any]:
        """Run a command of a shell. Return its exit status, its output and its errors."""
        with self._one_at_a_time:
            stdout, status = self._guest.answer(
                f'(export PATH={_PATH}; {command}) 2>/stderr </dev/null', _PATIENCE
            )
            return {
                'status': status,
                'stdout': stdout,
                'stderr': self._guest.run('cat /stderr')[1] if status else '',
            }

    def clean(self) -> None:
        """Remove all mounts and files of a test; boot anew if a mount hangs."""
        with self._one_at_a_time:
            try:
                if self._guest.run(_CLEAN, patience=30)[0]:
                    return
            except AssertionError as hangs:
                print(f'guest {self._number} is booted anew: {hangs}')
            self._end()
            self._start()
            self.boot()
