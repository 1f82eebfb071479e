# SPDX-License-Identifier: Apache-2.0
"""The copies that this host makes for one backend: their mounts, start, retries, halt and end.

A copy is known by the id of what is copied, which also names its mount points. What is mounted there, and between which
directories a copy runs, is up to the subclass.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psutil
from oslo_log import log

from manila_lite import errors
from manila_lite.host import mounts, programs, sandbox
from manila_lite.host.commands import SECONDS, CommandFailed
from manila_lite.host.ids import SAFE_ID, vet_id
from manila_lite.host.locks import Locks
from manila_lite.host_copy import messages, rsync

LOG = log.getLogger(__name__)

#: Seconds that a killed process gets to end.
_END_SECONDS = 10.0
#: Letters of a path and of a reason in a text for people.
LETTERS = 100
#: Names of mount options with secrets. Those that name a file or a kind of login, as credentials and sec do, are none.
_SECRET = re.compile(r'(?i)pass|pwd|secret|token|key(?!ring)')
#: The message for the user, by the error that ended a copy. ``keeper``: its target, in words; ``option``: that of ``ratio``.
_WHY = (
    (messages.CannotKeepAll, 'Files have ACLs or extended attributes that {keeper} cannot keep.'),
    (
        messages.TooDeep,
        'Directories are nested too deeply to be copied, about 1000 levels, or have too long a path.',
    ),
    (messages.TooMany, 'There are too many files: the list of their attributes takes more than 1 GiB.'),
    (messages.TooMuch, 'The apparent size of the files is more than {ratio:g} times the share ({option}).'),
    (messages.NoRoom, 'There is not enough space for all files: {keeper} is full.'),
)
#: Returns why a copy failed for good, for people, by the copy and the number of failures.
Explain = Callable[[rsync.Copy, int], str]


class Copies:
    """Copies whose mount points are in ``folder``. ``what``: a noun for the log, such as backup."""

    what = 'share'
    #: Number of failures after which a copy is given up.
    tries = 5

    def __init__(self, folder: Path):
        self.folder = folder
        self._running: dict[str, rsync.Copy] = {}
        self._failed: dict[str, int] = {}
        #: Keeps other threads from starting, stopping or clearing a copy.
        self._exclusive = Locks(threading.RLock).of
        self._halted = False
        #: Returns whether this process may work at the backend.
        self.may_run: Callable[[], bool] = lambda: True

    def mount_points(self, copy_id: str) -> tuple[Path, ...]:
        """Return the mount points of a copy."""
        return (self.folder / copy_id,)

    def release(self, copy_id: str) -> None:
        """Remove the leftovers of a copy besides its mounts."""

    def kept(self) -> frozenset[str]:
        """Return the ids of the copies for which ``release`` has anything to remove."""
        return frozenset()

    def left(self) -> frozenset[str]:
        """Return the ids of the copies that run, or that left something on this host."""
        return frozenset(self._running) | names_in(self.folder) | self.kept()

    def is_running(self, copy_id: str) -> bool:
        """Say whether the copy runs in this process, or has just succeeded."""
        copy = self._running.get(copy_id)
        return copy is not None and (copy.is_alive() or copy.error is None)

    def poll(self, copy_id: str, begin: Callable[[], rsync.Copy], explain: Explain) -> rsync.Copy:
        """Return the copy. Starts it, or starts it again after a failure.

        :raises errors.Final: it failed too often, or would fail each time; with the explanation.
        """
        vet_id(copy_id)
        with self._exclusive(copy_id):
            copy = self._running.get(copy_id)
            if copy is not None and copy.is_alive():
                copy.polled_at = time.monotonic()
                return copy
            if copy is not None and copy.error is None:
                return copy
            if copy is not None:
                self._vet(copy_id, copy, explain)
            return self._begin(copy_id, begin)

    def met_bad_disk(self, copy_id: str) -> bool:
        """Say whether the last try failed because of the disk below a file."""
        copy = self._running.get(copy_id)
        return copy is not None and copy.met_bad_disk

    def forget(self, copy_id: str) -> None:
        """Have the next ``poll`` start another copy; the present one has ended well."""
        with self._exclusive(copy_id):
            self._stop(copy_id)
            self._failed.pop(copy_id, None)

    def clear(self, copy_id: str) -> None:
        """Stop the copy and remove its leftovers, so that the next copy is of a later moment.

        :raises CommandFailed: the copy does not stop.
        """
        vet_id(copy_id)
        with self._exclusive(copy_id):
            self._release(copy_id)
            self._failed.pop(copy_id, None)

    def halt(self) -> None:
        """Stop all copies in this process; none begins until ``resume``. Their leftovers stay for the process that
        continues.
        """
        self._halted = True
        for copy_id in list(self._running):
            try:
                with self._exclusive(copy_id):
                    self._stop(copy_id)
            except CommandFailed:
                LOG.exception('The copy of %s %s', self.what, copy_id)

    def resume(self) -> None:
        self._halted = False

    def _release(self, copy_id: str) -> None:
        self._stop(copy_id)
        for path in self.mount_points(copy_id):
            self.unmount(path)
        self.release(copy_id)

    def _stop(self, copy_id: str) -> None:
        if copy := self._running.get(copy_id):
            copy.stop()
            del self._running[copy_id]

    def _begin(self, copy_id: str, begin: Callable[[], rsync.Copy]) -> rsync.Copy:
        end_others(self.mount_points(copy_id))
        try:
            copy = self._running[copy_id] = begin()
            copy.may_run = self.may_run
        except Exception:
            # The count of failures is kept, so ``clear`` is not called.
            self._release(copy_id)
            raise
        if self._halted:
            self._stop(copy_id)
            raise CommandFailed('another process works at the backend now')
        return copy

    def _vet(self, copy_id: str, copy: rsync.Copy, explain: Explain) -> None:
        bad = copy.error
        if isinstance(bad, messages.NotOurs):
            return
        times = self._failed[copy_id] = self._failed.get(copy_id, 0) + 1
        LOG.warning('The copy of %s %s broke (%d times): %s', self.what, copy_id, times, bad)
        if times < self.tries and not isinstance(bad, messages.Hopeless):
            return
        self.clear(copy_id)
        raise errors.Final(explain(copy, times))

    # Mounts -----------------------------------------------------------------------------------

    @staticmethod
    def mount(export: str, path: Path, proto: str, options: str, seconds: float = SECONDS) -> None:
        """Mount the export, after an unmount: an old mount may be of a dead server or of another export.

        :raises CommandFailed: the mount failed; with the command and mount's message, but without secrets of the options.
        """
        words = ('-o', options) if options else ()
        mounts.unmount(path)
        try:
            mounts.mount(export, path, '-t', proto, *words, seconds=seconds)
        except CommandFailed as bad:
            raise CommandFailed(_without_secrets(str(bad), options)) from None

    def unmount(self, path: Path) -> None:
        unmount(path)


def unmount(path: Path) -> None:
    mounts.unmount(path)
    with contextlib.suppress(OSError):
        path.rmdir()


def _without_secrets(text: str, options: str) -> str:
    """Return the message of mount, which may repeat its options, with the secrets among them masked where they stand."""
    for word in sorted(options.split(','), key=len, reverse=True):  # a value may begin with that of another
        name, _, value = word.partition('=')
        if value and _SECRET.search(name):
            text = text.replace(word, f'{name}=***')
    return text


def end_others(paths: Iterable[Path]) -> None:
    """Kill the copies of other processes of this host at these mount points: such a process may hang, and not know that this
    one has taken over. The mount of the copy would outlive an unmount, in its own namespace.
    """
    mine = tuple(f'{path}/' for path in paths)
    for process in programs.running(
        sandbox.PROGRAM, lambda words: any(f'{word}/'.startswith(mine) for word in words)
    ):
        with contextlib.suppress(psutil.Error):
            LOG.warning('A copy of another process at %s is killed: %s', ' '.join(mine), process.pid)
            process.kill()
            process.wait(_END_SECONDS)


def names_in(folder: Path) -> frozenset[str]:
    """Return the ids of the copies that the entries of a folder are named after."""
    with contextlib.suppress(OSError):
        return frozenset(filter(SAFE_ID.fullmatch, (name.partition('.')[0] for name in os.listdir(folder))))
    return frozenset()


def explained(copy: rsync.Copy, otherwise: str, **words: object) -> str:
    """Return why the copy failed for good, with the first paths. ``otherwise``: the text for other errors."""
    paths = not_copied(copy.messages.failed)
    why = next((why for kind, why in _WHY if isinstance(copy.error, kind)), otherwise)
    return f'{why.format(**words)} {paths}'.rstrip()


def not_copied(failed: Mapping[str, str]) -> str:
    """Return a sentence with the paths that could not be copied and the reasons, or ''."""
    paths = '; '.join(f'{path[:LETTERS]} ({why[:LETTERS]})' for path, why in failed.items())
    return f'Not copied: {paths}.' if paths else ''
