# SPDX-License-Identifier: Apache-2.0
"""Nodes that are only namespaces of this machine, each with an SSH server and an /etc: quick, but without a kernel.

``mount.nfs`` works there with FUSE if the machine's kernel has no NFS client. A node keeps its /etc over a reboot, and
no mounts.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from manila_lite.tests.services import groups, nodes
from manila_lite.tests.services.initramfs import program

_SCRIPT = """set -e
mount --bind "$1" /etc
for place in /run /srv /mnt; do mount -t tmpfs tmpfs "$place"; done
mkdir /run/sshd
mount --bind "$1/mount.nfs" "$2"
exec "$3" -D -e -f /etc/ssh/sshd_config
"""
_MOUNT = """#!/bin/sh
level=rw
case ",$4," in *,ro,*) level=ro;; esac
PYTHONPATH='{root}' exec '{python}' -m manila_lite.siblings.nfs_fuse --level $level -- "${{1%%:/*}}" "/${{1#*:/}}" "$2"
"""
_OF_MACHINE = ('ld.so.cache', 'os-release', 'netconfig', 'protocols', 'services')


class SpaceNode:
    """A running node in a network namespace that has the address already. ``key_file``: the private key for logins,
    with the public one beside it.
    """

    def __init__(self, folder, name, netns, address, key_file):
        self.name, self.address = name, address
        self._netns, self._key_file = netns, key_file
        self._log = Path(folder, f'{name}.log')
        self._etc = Path(folder, f'{name}.etc')
        (self._etc / 'ssh').mkdir(parents=True)
        for file in _OF_MACHINE:
            if os.path.exists(f'/etc/{file}'):
                shutil.copy(f'/etc/{file}', self._etc / file)
        private, self.host_key = nodes.key_pair()
        self._write('ssh/host_key', private, 0o600)
        self._write('ssh/sshd_config', nodes.SSHD)
        self._write('ssh/authorized_keys', Path(f'{key_file}.pub').read_text())
        self._write('passwd', nodes.ACCOUNTS)
        self._write('group', 'root:x:0:\nnogroup:x:65534:\n')
        self._write('fstab', nodes.FSTAB)
        self._write(
            'mount.nfs', _MOUNT.format(root=Path(nodes.__file__).parents[3], python=sys.executable), 0o755
        )
        (self._etc / 'mtab').symlink_to('/proc/self/mounts')
        self._start()

    def _write(self, name, text, mode=0o644):
        path = self._etc / name
        path.touch(mode)
        path.write_text(text)

    def _start(self):
        with self._log.open('a') as log:
            self._process = subprocess.Popen(
                [
                    'nsenter',
                    f'--net=/run/netns/{self._netns}',
                    'unshare',
                    '--mount',
                    '--propagation',
                    'slave',
                    '--pid',
                    '--fork',
                    '--kill-child',
                    '--mount-proc',
                    'sh',
                    '-c',
                    _SCRIPT,
                    'node',
                    str(self._etc),
                    os.path.realpath(program('mount.nfs')),
                    program('sshd'),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def inventory(self):
        """Return the node's entry for an inventory file."""
        return {
            'address': self.address,
            'user': 'root',
            'key_file': str(self._key_file),
            'host_key': self.host_key,
        }

    def fstab(self):
        """Return the node's /etc/fstab."""
        return (self._etc / 'fstab').read_text()

    def tail(self):
        """Return the end of the SSH server's output."""
        return self._log.read_text()[-2000:]

    def reboot(self):
        """Cut the node off, and start it again."""
        self.end()
        self._start()

    def end(self):
        """Kill the node with all its processes and mounts."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def missing():
    """Return a text about all that this machine lacks for such nodes, or ''."""
    groups.want('nodes')
    lacks = [name for name in ('sshd', 'mount.nfs', 'unshare', 'busybox') if not program(name)]
    return ', '.join(lacks + [place for place in ('/dev/fuse',) if not os.path.exists(place)])


def keys(folder):
    """Make a key pair; return the private key's file, with the public one beside it."""
    private, public = nodes.key_pair()
    file = Path(folder, 'node_key')
    file.touch(0o600)
    file.write_text(private)
    Path(f'{file}.pub').write_text(public)
    return file
