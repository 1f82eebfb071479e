# SPDX-License-Identifier: Apache-2.0
"""Copies in the background, one thread each, with polling of their progress."""

import threading
from collections.abc import Callable

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.replication.replication import Copy
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

#: Number of failures without progress after which a copy is given up.
_TRIES = 5
_PATIENCE = 60.0


class _Follower(threading.Thread):
    """One attempt of a copy to get close to its source."""

    def __init__(self, copy: Copy):
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
        self._running: dict[str, _Follower] = {}
        self._failures: dict[str, tuple[int, int]] = {}

    def poll(self, migration: str, make: Callable[[], Copy]) -> bool:
        """Say whether the copy is close to its source; if not, go on with it. A failed copy starts again after the data
        it has.

        :raises errors.Final: the copy is impossible, or fails again and again at the same place.
        """
        follower = self._running.get(migration)
        if follower is None:
            self._running[migration] = _Follower(make())
            return False
        if follower.is_alive():
            return False
        if follower.error is None:
            return True
        self._vet(migration, follower.copy, follower.error)
        self._running[migration] = _Follower(make())
        return False

    def _vet(self, migration: str, copy: Copy, bad: Exception) -> None:
        """Count the failure, and check that another attempt makes sense.

        :raises errors.Final: it makes none.
        """
        if isinstance(bad, errors.Final):
            raise bad
        times, before = self._failures.get(migration, (0, 0))
        here = copy.pieces()
        times = 1 if copy.rounds or here > before else times + 1
        self._failures[migration] = times, here
        LOG.warning('The copy for migration %s broke (%d in a row) and is begun again: %s', migration, times, bad)
        if times >= _TRIES:
            raise errors.Final(f'The copy broke {times} times at the same place: {bad}')

    def progress(self, migration: str) -> values.MigrationProgress:
        """Return the progress of the copy; zero if this process has not looked at the copy yet."""
        follower = self._running.get(migration)
        return follower.copy.progress() if follower else values.MigrationProgress(0)

    def end(self, migration: str) -> None:
        """Stop the copy.

        :raises CommandFailed: it does not end.
        """
        if follower := self._running.get(migration):
            follower.end()
        self._running.pop(migration, None)
        self._failures.pop(migration, None)

    def end_all(self) -> None:
        """Stop all copies."""
        for migration in list(self._running):
            self.end(migration)
