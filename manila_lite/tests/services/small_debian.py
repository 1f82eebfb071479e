# SPDX-License-Identifier: Apache-2.0
"""A small Debian in a folder: unpacked from the archive that tools/setup-env makes, and entered with bubblewrap."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Names the archive, if it is not beside the environment.
ARCHIVE = 'MANILA_LITE_TEST_ROOT'
_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


def archive() -> Path:
    """Return the path of the archive, which may be missing."""
    return Path(os.environ.get(ARCHIVE) or f'{sys.prefix}.root.tar')


def missing() -> str:
    """Return a text about all that a small Debian lacks here, or ''."""
    lacks = ['root'] if os.geteuid() else []
    lacks += [] if shutil.which('bwrap') else ['bwrap (package bubblewrap)']
    lacks += [] if archive().exists() else [f'{archive()} (tools/packaging/root makes one)']
    return ', '.join(lacks)


class SmallDebian:
    """A small Debian in ``folder``, a new path."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()
        subprocess.run(['tar', '-C', folder, '--numeric-owner', '-xf', archive()], check=True, stdin=subprocess.DEVNULL)

    def words(self, *words: object, hidden: bool = True) -> list[str]:
        """Return the words of a command in it. ``hidden``: the command sees no network but a loopback of its own."""
        bound = ['bwrap', '--bind', self.folder, '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run', '--unshare-pid',
                 '--unshare-ipc', *(['--unshare-net'] if hidden else []), '--die-with-parent', '--cap-add', 'ALL', '--clearenv',
                 '--setenv', 'PATH', _PATH, '--setenv', 'LC_ALL', 'C.UTF-8', '--setenv', 'DEBIAN_FRONTEND', 'noninteractive',
                 '--chdir', '/']
        return [str(word) for word in (*bound, *words)]

    def run(self, *words: object) -> str:
        """Run a command in it, which must succeed; return its output, errors included."""
        done = subprocess.run(self.words(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=600)
        if done.returncode:
            raise AssertionError(f'{words}: exit status {done.returncode}\n{done.stdout}')
        return done.stdout

    def path(self, place: str) -> Path:
        """Return the path, outside of it, of a file in it."""
        return self.folder / place.lstrip('/')

    def mode(self, place: str) -> str:
        """Return owner, group and mode of a file in it."""
        return self.run('stat', '--format=%U:%G:%a', place).strip()
