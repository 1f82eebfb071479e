# SPDX-License-Identifier: Apache-2.0
"""Copies that go on by themselves, each in a thread, and are looked at now and then."""

import threading
from collections.abc import Callable

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.linux.copying import Copy
from manila_lite.drivers.linux.run import CommandFailed

LOG = log.getLogger(__name__)

#: How often a copy is begun again that gets no further.
_TRIES = 5
_PATIENCE = 60.0


class _Follower(threading.Thread):
    """One try of a copy to get near."""

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
        """The thread has ended, soon.

        :raises CommandFailed: it does not end.
        """
        self.copy.stop()
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


class Followers:
    """The copies of one backend, by their migrations. Safe for threads, if no two ask about the same migration."""

    def __init__(self) -> None:
        self._running: dict[str, _Follower] = {}
        self._failures: dict[str, tuple[int, int]] = {}

    def look(self, migration: str, make: Callable[[], Copy]) -> bool:
        """Say whether the copy is near; if not, it goes on. One that broke is begun again, behind what it has.

        :raises errors.Final: it cannot be, or breaks again and again at the same place.
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
        """The failure is worth another try."""
        if isinstance(bad, errors.Final):
            raise bad
        times, before = self._failures.get(migration, (0, 0))
        here = copy.pieces()
        times = 1 if copy.rounds or here > before else times + 1
        self._failures[migration] = times, here
        LOG.warning('The copy for migration %s broke (%d in a row) and is begun again: %s', migration, times, bad)
        if times >= _TRIES:
            raise errors.Final(f'The copy broke {times} times at the same place: {bad}')

    def progress(self, migration: str) -> kinds.MigrationProgress:
        """Return how far the copy is; nowhere, if it was not looked at since this process began."""
        follower = self._running.get(migration)
        return follower.copy.progress() if follower else kinds.MigrationProgress(0)

    def end(self, migration: str) -> None:
        """Nothing of the copy runs.

        :raises CommandFailed: it does not end.
        """
        if follower := self._running.get(migration):
            follower.end()
        self._running.pop(migration, None)
        self._failures.pop(migration, None)

    def end_all(self) -> None:
        """No copy runs."""
        for migration in list(self._running):
            self.end(migration)
