# SPDX-License-Identifier: Apache-2.0
"""One run of rsync, which copies all files of a directory to another one. It sees only these two: see ``cage``."""

import contextlib
import errno
import os
import random
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, ClassVar

from oslo_utils import units

from manila_lite.host import sandbox, trees
from manila_lite.host.commands import ENV, CommandFailed
from manila_lite.host_copy import special_files
from manila_lite.host_copy.activity import Activity
from manila_lite.host_copy.messages import Messages, NoRoom, NotOurs, TooMuch, last_words

#: Seconds that a stopped copy gets to end; that a copy runs on without being polled; and that a copy may do nothing:
#: it may have opened a pipe without a writer.
_PATIENCE, _FORGOTTEN, _STILL = 60.0, 900.0, 600.0
#: Seconds until the next look; seconds in which output gathers, for rsync writes a line for each file; bytes of it that fit.
_BREATH, _GATHER, _PIPE = 1.0, 0.05, 1 << 20
#: Copies all attributes that a tenant can set; with one ``--xattrs`` those that begin with ``user.rsync.%`` would be left out.
#: Deletions come first: there may not be enough space for both.
_RSYNC = (
    '--archive',
    '--hard-links',
    '--acls',
    '--xattrs',
    '--xattrs',
    '--filter=+x security.capability',
    '--filter=-x security.*',
    '--filter=-x trusted.*',
    '--numeric-ids',
    '--sparse',
    '--delete-before',
    '--info=progress2',
    '--no-inc-recursive',
    '--outbuf=L',
)
#: How unchanged files are found: in a backup that was begun before by size and exact time, in a share by content.
SAME, SAME_CONTENT = '--modify-window=-1', '--checksum'
#: Files are overwritten in place, since the share may not have enough space for a second version. Only blocks that differ are
#: written. ``SAME_CONTENT`` would not do: to its checksum a block that cannot be read is zeros, and these are in a file that an
#: earlier copy could not read, so the next one would take the two for the same.
IN_PLACE = ('--inplace', '--ignore-times', '--no-whole-file')
#: Each file is replaced by a new one. What the target has is not read, nor written over.
ANEW = ('--ignore-times', '--whole-file')
#: Nothing is copied: ``Copy.messages.differing`` has what would be.
COMPARE = ('--dry-run', '--itemize-changes')
#: Nothing is copied, and nothing is said but errors.
_VET = ('--dry-run', '--info=progress0')
_WORKED, _PARTLY, _VANISHED = 0, 23, 24
#: Bytes of the last output that are kept.
_SAID = 1000
#: Exit statuses of find(1) and chmod(1), the second one if there were messages; and how a message of the sandbox begins.
_ENDS, _SANDBOX = (0, 1), f'\n{sandbox.PROGRAM}: '.encode()


class Copy(threading.Thread):
    """A copy of all files of a directory to another one, which then holds nothing else.

    ``how``: the comparison of files, and ``IN_PLACE`` if wanted. ``untangle``: the target may hold any files. ``vet``: see
    first whether all can be read. ``at_most``: limit of the bytes to copy, with holes in files counted.

    ``messages`` has the progress, and the paths that could not be copied or that differ. ``took``: seconds, at the end.
    """

    #: The reader of messages.
    MESSAGES: ClassVar[type[Messages]] = Messages
    #: The standard input of the programs.
    _given: IO[bytes] | None = None
    #: Returns whether this process may go on. Asked about once a second.
    may_run: Callable[[], bool] = staticmethod(lambda: True)

    def __init__(
        self,
        source: Path,
        target: Path,
        *how: str,
        untangle: bool = False,
        vet: bool = False,
        at_most: int | None = None,
    ):
        super().__init__(daemon=True, name='data-copy')
        self._steps = (
            *((trees.untangled(target),) if untangle else ()),
            *((_words(source, target, *how, *_VET),) if vet else ()),
            _words(source, target, *how),
        )
        self._source, self.target = source, target
        self._at_most = at_most
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopped = False
        self._lock = threading.Lock()
        self.messages = self.MESSAGES()
        self.took = 0.0
        self.polled_at = time.monotonic()
        self.error: Exception | None = None
        self.start()

    @property
    def is_complete(self) -> bool:
        return not self.is_alive() and self.error is None

    @property
    def met_bad_disk(self) -> bool:
        """Whether a file could not be read, or written, because of the disk below it."""
        return os.strerror(errno.EIO) in self.messages.failed.values()

    def run(self) -> None:
        began = time.monotonic()
        try:
            self._work()
        except Exception as bad:
            self.error = bad
        self.took = time.monotonic() - began

    def _work(self) -> None:
        for words in self._steps:
            self._do(words)
        if self.messages.lacks_modes:
            self._set_modes()

    def _set_modes(self) -> None:
        """Set the modes that rsync cannot set. What is deleted meanwhile is no failure."""
        with self._begin(special_files.listing(self._source, self.target), subprocess.DEVNULL) as process:
            for batch in special_files.changes(_names(process.stdout)):
                status, said, _ = self._attend(self._begin(sandbox.words(self.target, *batch)))
                if self.messages.failed or status not in _ENDS or _SANDBOX in said:
                    raise CommandFailed(f'{last_words(said)} (exit status {status})')
        if self._stopped or process.returncode not in _ENDS:
            raise CommandFailed(f'find: exit status {process.returncode}')

    def _begin(
        self, words: tuple[str, ...], said: int = subprocess.STDOUT, out: int | IO[bytes] = subprocess.PIPE
    ) -> 'subprocess.Popen[bytes]':
        # The process dies with the thread that started it; this one waits for it.
        with self._lock:
            if self._stopped:
                raise CommandFailed('the copy was stopped')
            process = subprocess.Popen(
                words,
                env=ENV,
                stdin=self._given or subprocess.DEVNULL,
                stdout=out,
                stderr=said,
                bufsize=0,
                pipesize=_PIPE,
                start_new_session=True,
            )
            self._processes = [*(other for other in self._processes if other.poll() is None), process]
        return process

    def _do(self, words: tuple[str, ...]) -> None:
        status, said, kind = self._attend(self._begin(words))
        # Files that clients delete during the copy are no failure. All others are that could not be copied.
        if status not in (_WORKED, _VANISHED):
            kind = kind if status == _PARTLY or kind is NoRoom else CommandFailed
            raise kind(f'rsync: {last_words(said)} (exit status {status})')

    def _attend(self, begun: 'subprocess.Popen[bytes]') -> tuple[int, bytes, type[CommandFailed]]:
        """Return the exit status of a program, its last output, and the error that it means, when it has ended."""
        with begun as process:
            try:
                said, kind = self._listen(process)
            finally:
                _kill(process)
                _hear_out(process)
        return process.returncode, said, kind

    def _listen(self, process: subprocess.Popen[bytes]) -> tuple[bytes, type[CommandFailed]]:
        """Return the last output, and the error that it means, when all of the processes have ended."""
        pipe = _pipe_of(process)
        pulse = Activity(process.pid, _STILL)
        said = b'\n'
        self.messages.begin()
        while True:
            if select.select([pipe], [], [], _BREATH)[0]:
                piece = pipe.read(_PIPE)
                if not piece:
                    process.wait()
                    return said, self.messages.kind()
                said = (said + piece)[-_SAID:]
                done = self.messages.progress(said)
                if self._at_most is not None and done > self._at_most:
                    raise TooMuch(f'rsync: more than {self._at_most} bytes')
                self.messages.hear(piece)
                time.sleep(_GATHER)
            if not self.may_run():
                raise NotOurs('rsync: another process may work at the backend now')
            if time.monotonic() > self.polled_at + _FORGOTTEN:
                raise CommandFailed(f'rsync: the copy was not checked for {_FORGOTTEN:.0f} s')
            if pulse.is_still():
                raise CommandFailed(f'rsync: no progress for {_STILL:.0f} s')

    def stop(self) -> None:
        """Stop the copy.

        :raises CommandFailed: it does not stop.
        """
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


class Sample(Copy):
    """A comparison by checksum of ``count`` files, chosen at random from all regular files of the source."""

    def __init__(self, source: Path, target: Path, *how: str, count: int):
        self._count = count
        # Of a name that begins with # or ;, rsync would see a comment.
        self._find = sandbox.words(
            target, 'find', sandbox.SOURCE, '-xdev', '-type', 'f', '-printf', './%P\\0', source=source
        )
        super().__init__(source, target, SAME_CONTENT, *COMPARE, '--files-from=-', '--from0', *how)

    def run(self) -> None:
        with tempfile.TemporaryFile() as given:
            try:
                given.writelines(name + b'\0' for name in self._chosen())
                given.seek(0)
            except Exception as bad:
                self.error = bad
                return
            self._given = given
            super().run()

    def _chosen(self) -> list[bytes]:
        """Return names, each with the same chance: the first ones, which later ones replace ever less often."""
        chosen: list[bytes] = []
        if not self._count:
            return chosen
        with self._begin(self._find, subprocess.DEVNULL) as process:
            for number, name in enumerate(_names(process.stdout)):
                index = number if number < self._count else random.randrange(number + 1)
                if index < self._count:
                    chosen[index : index + 1] = [name]
        if process.returncode:
            raise CommandFailed(f'find: exit status {process.returncode}')
        return chosen


def _words(source: Path, target: Path, *how: str) -> tuple[str, ...]:
    return sandbox.words(
        target, 'rsync', *_RSYNC, *how, '--', f'{sandbox.SOURCE}/', f'{sandbox.TARGET}/', source=source
    )


def _names(told: IO[bytes] | None) -> Iterator[bytes]:
    """Yield the names that a program writes, each with a zero byte at its end."""
    assert told is not None
    rest = b''
    while piece := told.read(1 << 16):
        *names, rest = (rest + piece).split(b'\0')
        yield from names


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and all its children: a sandbox that is still being set up would outlive its parent."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _hear_out(process: subprocess.Popen[bytes]) -> None:
    """Wait until all of the processes have ended: each of them holds the pipe."""
    pipe = _pipe_of(process)
    while pipe.read(1 << 16):
        pass


def _pipe_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    pipe = process.stdout or process.stderr
    assert pipe is not None
    return pipe


def at_rate(mebibytes: float) -> tuple[str, ...]:
    """Return how to copy not more than so many MiB a second. 0: as many as possible."""
    return (f'--bwlimit={max(1, round(mebibytes * 1024))}',) if mebibytes else ()


def without(names: Iterable[str]) -> tuple[str, ...]:
    """Return how to leave out the files and directories of these names, wherever they are."""
    return tuple(f'--exclude={name}' for name in names)


def apparent(size: int, ratio: float) -> int | None:
    """Return the limit for the sum of the apparent file sizes of a share of ``size`` GiB, in bytes; None for no limit."""
    return int(ratio * max(size, 1) * units.Gi) or None
