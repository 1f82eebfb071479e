# SPDX-License-Identifier: Apache-2.0
"""``manila-lite`` with real storage, under strace: which paths it and its children open, run, load or change."""

import contextlib
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil

from manila_lite.tests import process, waiting

_COMMAND = 'import sys; from manila_lite.cmd.all_in_one import main; sys.exit(main())'
_CALLS = (
    'open',
    'openat',
    'openat2',
    'creat',
    'execve',
    'execveat',
    'truncate',
    'chmod',
    'fchmodat',
    'chown',
    'lchown',
    'fchownat',
    'mkdir',
    'mkdirat',
    'mount',
    'rename',
    'renameat',
    'renameat2',
    'connect',
    'bind',
)
#: A call with the directory that a relative path is in, if strace names it, and the first path.
_LINE = re.compile(
    r'\d+ +(?P<call>\w+)\((?:(?:AT_FDCWD|\d+)<(?P<at>[^>]*)>, )?(?:\d+<[^>]*>, \{sa_family=AF_UNIX, sun_path=)?'
    r'"(?P<path>(?:[^"\\]|\\.)*)"(?P<rest>.*)'
)
#: File systems of the kernel.
_KERNEL = {('proc',), ('sys',), ('dev',)}


class TracedLite(process.Lite):
    """A ``manila-lite`` for one run. ``paths``: what it touched; after ``stop``."""

    def _setUp(self):
        super()._setUp()
        self._trace = self.state / 'trace'
        self.addCleanup(self._end_daemons)

    def spawn(self):
        """Start the process, and do not wait for it. Its parent traces it, and what it starts, from aside."""
        words = [
            'strace',
            '--daemonize',
            '--follow-forks',
            '--seccomp-bpf',
            '--decode-fds=path',
            '--string-limit=4096',
            '-qqq',
            f'--trace={",".join(_CALLS)}',
            f'--output={self._trace}',
            '--output-append-mode',
        ]
        with self.log.open('ab') as log:
            self.process = subprocess.Popen(
                [*words, sys.executable, '-c', _COMMAND, f'--config-file={self.config}'],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd='/',
            )

    def stop(self):
        """End it and its daemons, and wait until strace has written all."""
        self.kill(signal.SIGTERM)
        self._end_daemons()
        waiting.until(lambda: not self._processes(), 'the end of strace')

    def _end_daemons(self):
        for one in self._processes():
            with contextlib.suppress(psutil.Error):
                if one.name() != 'strace':
                    one.kill()

    def _processes(self):
        return list(_programs_of(str(self.state)))

    @property
    def paths(self):
        """Return each path, but those of the kernel, of files that are made and may not be there yet (O_EXCL), and of what the
        process itself had made in a directory like /tmp.
        """
        found, made = set(), set()
        for line in self._trace.read_text(errors='surrogateescape').splitlines():
            if not (seen := _LINE.match(line)) or not seen['path']:
                continue
            path = Path(seen['at'] or '/', seen['path'])
            # strace writes a call in two lines if another thread is seen meanwhile; the second one has no path.
            is_made = seen['rest'].endswith(('= 0', '<unfinished ...>'))
            if 'O_EXCL' in seen['rest'] or (seen['call'].startswith('mkdir') and is_made):
                made.add(path)
            else:
                found.add(path)
        temporary = {path for path in made if _is_shared(path.parent)}
        return {
            path
            for path in found
            if path.parts[1:2] not in _KERNEL
            and not _is_shared(path)
            and not temporary & {path, *path.parents}
        }


def _is_shared(folder):
    """Say whether everybody may put files there, and none may replace those of others."""
    return folder.is_dir() and bool(folder.stat().st_mode & stat.S_ISVTX)


def _programs_of(place):
    """Yield the processes with a path in their words."""
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(place in word for word in one.cmdline()):
                yield one


def missing():
    """Return what this machine lacks for it."""
    return '' if shutil.which('strace') else 'strace (package strace)'
