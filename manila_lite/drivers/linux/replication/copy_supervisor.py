# SPDX-License-Identifier: Apache-2.0
"""Copies in the background, one thread each, with polling of their progress."""

import threading
from collections.abc import Callable

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

#: Number of failures without progress after which a copy is given up.
_TRIES = 5
_PATIENCE = 60.0
#: The message of ``btrfs send`` for a file that cannot be read, and that for people.
_READ_ERROR = 'send ioctl failed with -5'
_UNREADABLE = 'a file cannot be read (input/output error); the log of the kernel at the source says which.'


class _Attempt(threading.Thread):
    """One attempt of a copy to get close to its source."""

    def __init__(self, copy: BtrfsCopy):
        super().__init__(daemon=True, name='copy')
        self.copy = copy
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.copy.approach()
        except Exception as bad:
            self.error = bad

    def end(self) -> None:
        """Stop the copy, and wait for the thread.

        :raises CommandFailed: the thread does not end.
        """
        self.copy.stop()
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


class CopySupervisor:
    """The copies of one backend, by migration. Safe for threads, if no two ask about the same migration."""

    def __init__(self) -> None:
        self._running: dict[str, _Attempt] = {}
        self._failures: dict[str, tuple[int, int]] = {}

    def poll(self, migration: str, make: Callable[[], BtrfsCopy]) -> bool:
        """Say whether the copy is close to its source; if not, go on with it. A failed copy starts again after the data
        it has.

        :raises errors.Final: the copy is impossible, or fails again and again at the same place.
        """
        attempt = self._running.get(migration)
        if attempt is None:
            self._running[migration] = _Attempt(make())
            return False
        if attempt.is_alive():
            return False
        if attempt.error is None:
            return True
        self._vet(migration, attempt.copy, attempt.error)
        self._running[migration] = _Attempt(make())
        return False

    def _vet(self, migration: str, copy: BtrfsCopy, bad: Exception) -> None:
        """Count the failure, and check that another attempt makes sense.

        :raises errors.Final: it makes none.
        """
        if isinstance(bad, errors.Final):
            raise bad
        times, before = self._failures.get(migration, (0, 0))
        here = copy.pieces()
        times = 1 if copy.rounds or here > before else times + 1
        self._failures[migration] = times, here
        LOG.warning(
            'The copy for migration %s broke (%d in a row) and is begun again: %s', migration, times, bad
        )
        if times >= _TRIES:
            why = _UNREADABLE if _READ_ERROR in str(bad) else bad
            raise errors.Final(f'The copy broke {times} times at the same place: {why}')

    def progress(self, migration: str) -> values.MigrationProgress:
        """Return the progress of the copy; zero if this process has not polled the copy yet."""
        attempt = self._running.get(migration)
        return attempt.copy.progress() if attempt else values.MigrationProgress(0)

    def end(self, migration: str) -> None:
        """Stop the copy.

        :raises CommandFailed: it does not end.
        """
        if attempt := self._running.get(migration):
            attempt.end()
        self._running.pop(migration, None)
        self._failures.pop(migration, None)

    def end_all(self) -> None:
        for migration in list(self._running):
            self.end(migration)
