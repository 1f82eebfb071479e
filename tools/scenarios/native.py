# SPDX-License-Identifier: Apache-2.0
"""Native clients of CephFS: each mounts a share by ceph-fuse, with the id and the key of an access rule."""

import contextlib
import errno
import hashlib
import os

from manila_lite.tests.services.ceph import FuseMount
from scenarios import private, settings
from scenarios.service import Trouble

_MIB = 1 << 20
#: Size of the files that are copied: a copy takes about as long for small ones.
_PIECE = 64 << 10
_MANY = 'many'


class Client:
    """A mounted share. ``root``: where; ``path``: of the share in the file system."""

    def __init__(self, cluster, ident, key, path):
        self.ident = ident
        self._there = contextlib.ExitStack()
        mount = FuseMount(cluster.ceph, settings.FILESYSTEM, ident, key, path)
        private.start(f'the mount of {ident}', mount, self._there)
        self.root = mount.mount()

    def write(self, name, text):
        """Write a file, and sync it."""
        with (self.root / name).open('w') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def read(self, name):
        """Return the text of a file."""
        return (self.root / name).read_text()

    def refused(self, name):
        """Check that the client may not write; return the error."""
        try:
            self.write(name, '')
        except OSError as bad:
            return bad.strerror
        raise Trouble(f'{self.ident} wrote {name}')

    def hole(self, mib):
        """Make a file of this size that has no data."""
        (self.root / 'hole').touch()
        os.truncate(self.root / 'hole', mib * _MIB)

    def free(self):
        """Return the free MiB, as df shows them."""
        about = os.statvfs(self.root)
        return about.f_bavail * about.f_frsize // _MIB

    def overfill(self):
        """Write until the share is full. Return the MiB written, and the error."""
        with (self.root / 'big').open('wb', buffering=0) as file:
            for done in range(256):
                try:
                    file.write(os.urandom(_MIB))
                    os.fsync(file.fileno())
                except OSError as bad:
                    if bad.errno != errno.EDQUOT:
                        raise
                    return done, bad.strerror
        raise Trouble(f'{self.ident} wrote 256 MiB, and was not refused')

    def fits(self, mib):
        """Say whether so much more can be written."""
        try:
            with (self.root / 'more').open('wb') as file:
                file.write(bytes(mib * _MIB))
                file.flush()
                os.fsync(file.fileno())
        except OSError as bad:
            if bad.errno != errno.EDQUOT:
                raise
            return False
        return True

    def clear(self):
        """Delete what the limit was reached with."""
        for name in ('hole', 'big', 'more'):
            (self.root / name).unlink(missing_ok=True)

    def fill(self, mib):
        """Write many small files, so much in all."""
        (self.root / _MANY).mkdir()
        for number in range(mib * _MIB // _PIECE):
            (self.root / _MANY / f'{number:05}').write_bytes(os.urandom(_PIECE))

    def digests(self):
        """Return the SHA-256 of each of the many files, by its name."""
        return {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (self.root / _MANY).iterdir()
        }

    def snapshot(self, wanted):
        """Return the name of a snapshot in the directory .snap."""
        return next(name for name in os.listdir(self.root / '.snap') if wanted in name)

    def end(self):
        """Unmount."""
        self._there.close()


class Clients:
    """The native clients of a scenario."""

    command = 'ceph-fuse'

    def __init__(self, demo, cluster):
        self._demo = demo
        self._cluster = cluster
        self._all = []

    def mount(self, ident, key, path):
        """Show and make a mount; return its client."""
        client = Client(self._cluster, ident, key, path)
        self._all.append(client)
        self._demo.say(f'$ ceph-fuse --id {ident} -r {path} {client.root}')
        return client

    def stop(self):
        """Unmount all."""
        while self._all:
            self._all.pop().end()
