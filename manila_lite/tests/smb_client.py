# SPDX-License-Identifier: Apache-2.0
"""A CIFS client: Samba's smbclient, in a network namespace."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from manila_lite.tests import waiting

_SECONDS = waiting.LIMIT
#: Words in smbclient's output that mean a failure.
_FAILED = ('NT_STATUS_', 'failed')
#: A line in the output of the command "du".
_SPACE = re.compile(r'(\d+) blocks of size (\d+)\. (\d+) blocks available')


def missing():
    """Return the name of the missing program, or ''."""
    return '' if shutil.which('smbclient') else 'smbclient (package smbclient)'


def _words(netns, path, user, password):
    return [
        'nsenter',
        f'--net=/run/netns/{netns}',
        'smbclient',
        '-s',
        '/dev/null',
        path.replace('\\', '/'),
        '-U',
        f'{user}%{password}',
    ]


def call(netns, path, user, password, command, *, text=None):
    """Connect, run one command of smbclient, and end; return (worked, output).

    ``path`` is that of an export location. ``text`` is the content of the file ``local`` meanwhile.
    """
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            Path(folder, 'local').write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run(
            [*_words(netns, path, user, password), '-c', command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = done.stdout + done.stderr
        if command.startswith('get ') and Path(folder, 'there').exists():
            said = Path(folder, 'there').read_text()
            return True, said
    return done.returncode == 0 and not any(word in said for word in _FAILED), said


def space(said):
    """Return the size and the free bytes of the share, from the output of the command "du"."""
    blocks, length, available = map(int, _SPACE.search(said).groups())
    return blocks * length, available * length


def ask(netns, path, user, password, command):
    """Run one command of rpcclient's, for other requests than those about files; return (worked, output)."""
    done = subprocess.run(
        [
            'nsenter',
            f'--net=/run/netns/{netns}',
            'rpcclient',
            '-s',
            '/dev/null',
            path.split('\\')[2],
            '-U',
            f'{user}%{password}',
            '-c',
            command,
        ],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


class Session:
    """A client that stays connected. ``seconds``: for an answer."""

    def __init__(self, netns, path, user, password, seconds=_SECONDS):
        self.seconds = seconds
        self._folder = tempfile.TemporaryDirectory()
        self._mine, theirs = pty.openpty()
        # A terminal is needed: smbclient would write into a pipe only at its end.
        self._client = subprocess.Popen(
            _words(netns, path, user, password),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self._folder.name,
            start_new_session=True,
            env={**os.environ, 'TERM': 'dumb'},
        )
        os.close(theirs)
        self._asked = 0
        try:
            self.call('ls')
        except BaseException:
            self.close()
            raise

    def call(self, command, text=''):
        """Run a command; return (worked, output)."""
        Path(self._folder.name, 'local').write_text(text)
        self._asked += 1
        # The output is complete when the next command has written its line.
        os.write(self._mine, f'{command}\n!echo ended-{self._asked}\n'.encode())
        said = self._said(re.compile(rf'^ended-{self._asked}\r?$', re.MULTILINE))
        return not any(word in said for word in _FAILED), said

    def _said(self, whole):
        said, end = '', time.monotonic() + self.seconds
        while not whole.search(said):
            if not select.select([self._mine], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f'smbclient does not end: {said}')
            said += os.read(self._mine, 4096).decode(errors='replace')
        return said

    def close(self):
        """End the client."""
        self._client.kill()
        self._client.wait(_SECONDS)
        os.close(self._mine)
        self._folder.cleanup()
