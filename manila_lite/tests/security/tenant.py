# SPDX-License-Identifier: Apache-2.0
"""Hostile tenants: changes by root of a client to a share while the service works in it."""

import contextlib
import hashlib
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

from manila_lite.tests.factories import files

_EXCHANGE = """
import ctypes, os, sys
change, one, other = ctypes.CDLL(None).renameat2, os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
print('begun', flush=True)
while os.getppid() == int(sys.argv[3]):
    for _ in range(1000):
        change(-100, one, -100, other, 2)
"""


@contextlib.contextmanager
def swapping(one, other):
    """Exchange two names of a folder again and again meanwhile, as fast as another process can."""
    with subprocess.Popen(
        (sys.executable, '-c', _EXCHANGE, str(one), str(other), str(os.getpid())), stdout=subprocess.PIPE
    ) as swapper:
        swapper.stdout.readline()
        try:
            yield
        finally:
            swapper.kill()


def nest(place, levels, name='d'):
    """Make so many nested directories, and a file in the last."""
    inner = os.open(place, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=inner)
        outer, inner = inner, os.open(name, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(os.open('end', os.O_CREAT | os.O_WRONLY, dir_fd=inner))
    os.close(inner)


def plant(place, outside):
    """Plant one of each kind of file that a program could stumble over; all of them can be copied."""
    here = os.fsencode(place)
    for name in files.NAMES:
        Path(os.fsdecode(os.path.join(here, name))).write_bytes(name)
    (place / 'absolute').symlink_to(outside)
    (place / 'relative').symlink_to(os.path.relpath(outside, place))
    (place / 'file').symlink_to(next(outside.iterdir()))
    (place / 'loop').symlink_to('loop')
    (place / 'up').symlink_to('/../../../../..')
    os.mkfifo(place / 'pipe')
    os.mknod(place / 'zero', stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.mknod(place / 'disk', stat.S_IFBLK | 0o666, os.makedev(7, 0))
    with socket.socket(socket.AF_UNIX) as bound:
        where = os.open(place, os.O_RDONLY)
        bound.bind(f'/proc/self/fd/{where}/socket')
        os.close(where)
    (place / 'one').write_text('one')
    os.link(place / 'one', place / 'two')
    (place / 'root').write_text('#!/bin/sh\n')
    os.chown(place / 'root', 1234, 5678)
    (place / 'root').chmod(0o6755)
    (place / 'good').mkdir()
    (place / 'good' / 'data').write_bytes(b'data' * 10000)


def tree(place):
    """Return the files below a folder, by names in bytes: kind, mode, owner, and content or target of the link."""
    entries = {}
    for folder, folders, names in os.walk(os.fsencode(place)):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            about = os.lstat(path)
            links = 0 if stat.S_ISDIR(about.st_mode) else about.st_nlink
            entries[os.path.relpath(path, os.fsencode(place))] = (
                oct(about.st_mode),
                about.st_uid,
                about.st_gid,
                about.st_rdev,
                links,
                _content(path, about),
            )
    return entries


def _content(path, about):
    if stat.S_ISLNK(about.st_mode):
        return os.readlink(path)
    return (
        hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()
        if stat.S_ISREG(about.st_mode)
        else ''
    )


class Outside:
    """A folder of this machine that belongs to no share; it holds secrets."""

    SECRET = b'only for the host to know'

    def __init__(self, place):
        self.place = place
        place.mkdir()
        for number in range(60):
            (place / f'f{number}').write_bytes(self.SECRET)
        self._was = self._look()

    def _look(self):
        about = {name: os.lstat(self.place / name) for name in os.listdir(self.place)}
        return {
            name: (status.st_mtime_ns, status.st_ctime_ns, status.st_size) for name, status in about.items()
        }

    def is_untouched(self):
        """Say whether no file there was made, changed, or given another owner or mode."""
        return self._look() == self._was

    def leaked(self, place):
        """Return the files below a folder that hold the secrets."""
        return [
            name
            for name, about in tree(place).items()
            if about[-1] == hashlib.sha256(self.SECRET).hexdigest()
        ]
