# SPDX-License-Identifier: Apache-2.0
"""A native client of CephFS: it mounts a share by ceph-fuse, with the id and the key of an access rule."""

import contextlib
import os
import subprocess

from manila_lite.tests.services.ceph import FuseMount
from scenarios import settings
from scenarios.service import begin


class Client:
    """A mounted share. ``root``: where; ``path``: of the share in the file system."""

    def __init__(self, demo, cluster, ident, key, path):
        self.ident = ident
        self._demo = demo
        self._there = contextlib.ExitStack()
        mount = FuseMount(cluster.ceph, settings.FILESYSTEM, ident, key, path)
        begin(f'the mount of {ident}', mount, self._there)
        self.root = mount.mount()
        demo.beside.append(self)
        demo.say(f'$ ceph-fuse --id {ident} -r {path} {self.root}')

    def sh(self, line):
        """Show a command, and run it in the share; return (worked, output)."""
        self._demo.say(f'{self.ident}$ {line}')
        done = subprocess.run(['sh', '-c', line], cwd=self.root, capture_output=True, text=True, timeout=300)
        return not done.returncode, done.stdout.strip() or done.stderr.strip()

    def call(self, action, name, text):
        """Write a file, and sync it; return (worked, error): the action of a client that a ``Writer`` has."""
        try:
            with (self.root / name).open('w') as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as bad:
            return False, bad.strerror
        return True, ''

    def close(self):
        """Do nothing when a writer ends: the share stays mounted."""

    def stop(self):
        """Unmount."""
        self._there.close()
