# SPDX-License-Identifier: Apache-2.0
"""A real NFSv4 client without the kernel's: libnfs, one process for each use, in a network namespace on request.

``python -m manila_lite.tests.nfs_client [--netns NAME] ADDRESS EXPORT ACTION ...`` prints what it read, or the
error of the server (for instance ``NFS4ERR_DQUOT``) and exits with 1. ``call`` does the same for tests.
With the action ``session`` it stays mounted and does what standard input says, a JSON list on each line; ``Session``
is that for tests.
"""

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from manila_lite.siblings import libnfs

#: Reading has no such limit.
_PIECE = 1 << 16
#: The smallest write of btrfs.
_BLOCK = 4096
_CLONE_NEWNET = 0x40000000
#: Numbers that have room for a struct statvfs.
_STATVFS = 16
#: Limit of a session, whatever hangs: that of a test, which limits.py has.
_SESSION_SECONDS = 600


class Mount(libnfs.Mount):
    """An export, mounted in user space, with whole files to read and write. Only one per process at a time."""

    def _open(self, path, flags):
        handle = ctypes.c_void_p()
        self.call('nfs_open', path.encode(), flags, ctypes.byref(handle))
        return handle

    def _create(self, path):
        """Create an empty file and open it again: the first handle cannot write."""
        handle = ctypes.c_void_p()
        self.call('nfs_creat', path.encode(), 0o644, ctypes.byref(handle))
        self.call('nfs_close', handle)
        return self._open(path, os.O_RDWR)

    def _exists(self, path):
        return path in self.names()

    def write(self, path, data):
        """Replace the file by one with exactly this data."""
        if self._exists(path):
            self.unlink(path)
        handle = self._create(f'/{path}')
        for start in range(0, len(data), libnfs.CHUNK):
            part = data[start : start + libnfs.CHUNK]
            self.call('nfs_pwrite', handle, ctypes.c_uint64(start), ctypes.c_uint64(len(part)), part)
        self.call('nfs_close', handle)

    def put(self, path, data):
        """Create a file with the data, and sync it to the server's disk."""
        handle = self._create(f'/{path}')
        self.call('nfs_pwrite', handle, ctypes.c_uint64(0), ctypes.c_uint64(len(data)), data)
        self.call('nfs_fsync', handle)
        self.call('nfs_close', handle)

    def read(self, path):
        """Return the content of the file."""
        handle = self._open(f'/{path}', os.O_RDONLY)
        buffer = ctypes.create_string_buffer(libnfs.CHUNK)
        found = b''
        while count := self.call(
            'nfs_pread', handle, ctypes.c_uint64(len(found)), ctypes.c_uint64(libnfs.CHUNK), buffer
        ):
            found += buffer.raw[:count]
        self.call('nfs_close', handle)
        return found

    def digest(self, path):
        """Return the SHA-256 of the file's content."""
        handle = self._open(f'/{path}', os.O_RDONLY)
        buffer = ctypes.create_string_buffer(_PIECE)
        told, start = hashlib.sha256(), 0
        while count := self.call(
            'nfs_pread', handle, ctypes.c_uint64(start), ctypes.c_uint64(_PIECE), buffer
        ):
            told.update(memoryview(buffer)[:count])
            start += count
        self.call('nfs_close', handle)
        return told.hexdigest()

    def fill(self, path, mebibytes):
        """Make the file take so many MiB on the server, by writing a piece of every block."""
        handle = self._open(f'/{path}', os.O_RDWR) if self._exists(path) else self._create(f'/{path}')
        piece = os.urandom(64)
        for start in range(0, mebibytes << 20, _BLOCK):
            self.call('nfs_pwrite', handle, ctypes.c_uint64(start), ctypes.c_uint64(len(piece)), piece)
        self.call('nfs_fsync', handle)
        self.call('nfs_close', handle)

    def space(self):
        """Return the size and the used bytes of the file system, as df shows them."""
        found = (ctypes.c_uint64 * _STATVFS)()
        self.call('nfs_statvfs', b'/', ctypes.byref(found))
        _block, unit, blocks, free = found[:4]
        return f'{blocks * unit} {(blocks - free) * unit}'

    def rename(self, old, new):
        """Rename the file."""
        self.call('nfs_rename', f'/{old}'.encode(), f'/{new}'.encode())

    def unlink(self, path):
        """Delete the file."""
        self.call('nfs_unlink', f'/{path}'.encode())


def enter(netns):
    """Move this process into the network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f'/run/netns/{netns}', os.O_RDONLY)
    if libc.setns(fd, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f'cannot enter {netns}')
    os.close(fd)


def _command(netns, *words):
    # As a file and not as a module: its package imports what the service runs on, of which a client needs nothing.
    return [sys.executable, '-P', __file__, *(['--netns', netns] if netns else []), *words]


def _environment():
    return os.environ | {'PYTHONPATH': str(Path(__file__).parents[2])}


def call(address, export, action, *words, netns=None, seconds=300):
    """Run one action in a process of its own; return (worked, output)."""
    done = subprocess.run(
        _command(netns, address, export, action, *map(str, words)),
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode == 0, done.stdout.strip() or done.stderr.strip()


class Session:
    """A client that stays mounted, in a process of its own; ``call`` returns (worked, output)."""

    def __init__(self, address, export, *, netns=None):
        self._process = subprocess.Popen(
            _command(netns, address, export, 'session'),
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._guard = threading.Timer(_SESSION_SECONDS, self._process.kill)
        self._guard.daemon = True
        self._guard.start()

    def call(self, action, *words):
        """Run one action on the present mount. If it could not be mounted, that is the answer."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps([action, *map(str, words)]) + '\n')
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer.startswith('['):
            return False, answer.strip() or 'the client ended'
        return tuple(json.loads(answer))

    def kill(self):
        """Have a call that another thread waits for end."""
        self._process.kill()

    def close(self):
        """End the client."""
        self._guard.cancel()
        self._process.kill()
        self._process.communicate()


def _serve(mount):
    for line in sys.stdin:
        action, *words = json.loads(line)
        try:
            answer = True, ACTIONS[action](mount, *words)
        except libnfs.Refused as refused:
            answer = False, str(refused)
        print(json.dumps(answer), flush=True)


ACTIONS = {
    'session': _serve,
    'list': lambda mount: '\n'.join(mount.names()),
    'read': lambda mount, path: mount.read(path).decode(),
    'write': lambda mount, path, text: mount.write(path, text.encode()),
    'put': lambda mount, path, text: mount.put(path, text.encode()),
    'fill': lambda mount, path, mebibytes: mount.fill(path, int(mebibytes)),
    'digest': lambda mount: '\n'.join(f'{mount.digest(name)}  {name}' for name in mount.names()),
    'space': lambda mount: mount.space(),
    'unlink': lambda mount, path: mount.unlink(path),
    'rename': lambda mount, old, new: mount.rename(old, new),
}


def main():
    """Run the action of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--netns')
    parser.add_argument('address')
    parser.add_argument('export')
    parser.add_argument('action', choices=ACTIONS)
    parser.add_argument('words', nargs='*')
    args = parser.parse_args()
    if args.netns:
        enter(args.netns)
    try:
        said = ACTIONS[args.action](Mount(args.address, args.export), *args.words)
    except libnfs.Refused as refused:
        print(refused)
        return 1
    if said is not None:
        print(said)
    return 0


if __name__ == '__main__':
    sys.exit(main())
