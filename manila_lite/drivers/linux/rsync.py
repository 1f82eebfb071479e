# SPDX-License-Identifier: Apache-2.0
"""One run of rsync: all that is in a directory goes to another one. It sees these two and nothing else: see ``cage``."""

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from pathlib import Path

from manila_lite.drivers.linux import cage, trees
from manila_lite.drivers.linux.pulse import Pulse
from manila_lite.drivers.linux.run import ENV, CommandFailed

#: Seconds that a copy which was told to end has for that; after which one ends that nobody looks at any more; and after which
#: one ends that does nothing: it may have opened a pipe that nobody writes to.
_PATIENCE, _FORGOTTEN, _STILL = 60.0, 900.0, 600.0
_BREATH = 1.0
#: Everything of every file that a tenant can set. What is to go goes first: there may be no room for both.
_RSYNC = ('--archive', '--hard-links', '--acls', '--xattrs', '--filter=+x security.capability', '--filter=-x security.*',
          '--filter=-x trusted.*', '--numeric-ids', '--sparse', '--delete-before', '--info=progress2', '--no-inc-recursive',
          '--outbuf=L')
#: Which files are the same already: of a backup that was begun before, by size and the whole time; in a share, by content.
SAME, SAME_CONTENT = '--modify-window=-1', '--checksum'
#: A file is written over, since the share may have no room for a second one.
IN_PLACE = '--inplace'
_WORKED, _PARTLY, _VANISHED = 0, 23, 24
_SAID, _ALL = 1000, 100
_PROGRESS = re.compile(rb'[\r\n] *(?P<bytes>[0-9,]+) +(?P<percent>[0-9]+)% ')


class Hopeless(CommandFailed):
    """The copy would break each time."""


class CannotKeepAll(Hopeless):
    """Files have ACLs or extended attributes that cannot be where they are to be copied to."""


class TooDeep(Hopeless):
    """Directories are in each other deeper than rsync goes, or have too long a path."""


class TooMuch(Hopeless):
    """Files say that they hold more than they may."""


class NoRoom(CommandFailed):
    """There is no room for all, now."""


#: Said of a file among all that is said of progress, and what it comes to if the copy ends with it. Of names, rsync escapes
#: whatever could begin or end a line; a line can be longer than what is kept of it.
_WHAT = (
    (CannotKeepAll, re.compile(rb'rsync: \[\w+\] (?:set_acl|rsync_xal_(?:set|clear)): [^\r\n]*\(95\)[\r\n]')),
    (TooDeep, re.compile(rb'" failed: [^"\r\n]*\((?:12|36)\)[\r\n]')),
    (NoRoom, re.compile(rb': [^":\r\n]*\((?:28|122)\)[\r\n]')))


class Copy(threading.Thread):
    """One copy of all that is in a directory to another one, which then holds nothing else.

    ``how``: which files are the same, and ``IN_PLACE`` if so wanted. ``untangle``: the target may hold anything. ``at_most``
    bytes are copied, holes in files counted.
    """

    def __init__(self, source: Path, target: Path, *how: str, untangle: bool = False, at_most: int | None = None):
        super().__init__(daemon=True, name='backup')
        self._steps = (
            *((trees.untangled(target),) if untangle else ()),
            cage.words(target, 'rsync', *_RSYNC, *how, '--', f'{cage.SOURCE}/', f'{cage.TARGET}/', source=source))
        self._at_most = at_most
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self.percent = 0
        self.looked_at = time.monotonic()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            for words in self._steps:
                self._do(words)
        except Exception as bad:
            self.error = bad

    def _do(self, words: tuple[str, ...]) -> None:
        # The process dies with the thread that began it: this one, which waits for it.
        with self._lock:
            if self._stopped:
                raise CommandFailed('the copy was stopped')
            self._process = subprocess.Popen(words, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT, bufsize=0, start_new_session=True)
        with self._process as process:
            try:
                said, kind = self._listen(process)
            finally:
                _kill(process)
                _hear_out(process)
        # Of a plain directory, files may go while it is copied.
        if process.returncode not in (_WORKED, _VANISHED):
            kind = kind if process.returncode == _PARTLY or kind is NoRoom else CommandFailed
            raise kind(f'rsync: {_last_words(said)} (exit status {process.returncode})')

    def _listen(self, process: subprocess.Popen[bytes]) -> tuple[bytes, type[CommandFailed]]:
        """Return the last that was said, and what it comes to, when all of the processes have ended."""
        assert process.stdout is not None
        pulse = Pulse(process.pid, _STILL)
        said = b'\n'
        heard: set[type[CommandFailed]] = set()
        while True:
            if select.select([process.stdout], [], [], _BREATH)[0]:
                piece = process.stdout.read(1 << 16)
                if not piece:
                    process.wait()
                    return said, next((kind for kind, _ in _WHAT if kind in heard), CommandFailed)
                heard.update(kind for kind, pattern in _WHAT if pattern.search(said + piece))
                said = (said + piece)[-_SAID:]
                self._progress(said)
            if time.monotonic() > self.looked_at + _FORGOTTEN:
                raise CommandFailed(f'rsync: nobody looked at the copy for {_FORGOTTEN:.0f} s')
            if pulse.is_still():
                raise CommandFailed(f'rsync: nothing moved for {_STILL:.0f} s')

    def _progress(self, said: bytes) -> None:
        done, self.percent = _progress(said, self.percent)
        if self._at_most is not None and done > self._at_most:
            raise TooMuch(f'rsync: more than {self._at_most} bytes')

    def stop(self) -> None:
        """It does not go on.

        :raises CommandFailed: it does.
        """
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill(self._process)
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The program and all that it started are told to end: a cage that is still being made would outlive its maker."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _hear_out(process: subprocess.Popen[bytes]) -> None:
    """All of its processes have ended: each of them has the pipe."""
    assert process.stdout is not None
    while process.stdout.read(1 << 16):
        pass


def _progress(said: bytes, before: int = 0) -> tuple[int, int]:
    """Return the bytes and the percentage that rsync said last, the latter below 100: that is for the end alone."""
    found = _PROGRESS.findall(said)
    if not found:
        return 0, before
    done, percent = found[-1]
    return int(done.replace(b',', b'')), max(before, min(int(percent), _ALL - 1))


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors='replace').replace('\r', '\n').split('\n')]
    return '; '.join([line for line in lines if line.startswith(('rsync', 'bwrap', 'find'))][-2:]) or 'it failed'
