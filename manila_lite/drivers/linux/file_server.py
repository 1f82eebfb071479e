# SPDX-License-Identifier: Apache-2.0
"""How a file server of one protocol lives: it is found again, started anew when it died, and changed while it serves.

Its daemons outlive the share manager. They are started anew only if they died, or at ``start`` if their options
were changed. Under systemd that needs ``KillMode=process`` in the share manager's unit.
"""

import abc
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import psutil
from oslo_log import log

from manila_lite import kinds
from manila_lite.drivers.linux import halting, ip
from manila_lite.drivers.linux.clients import Block
from manila_lite.drivers.linux.daemon import Daemon
from manila_lite.drivers.linux.exports import Seen
from manila_lite.drivers.linux.run import CommandFailed

LOG = log.getLogger(__name__)

_READY_SECONDS = 20.0


class Served(Protocol):
    """What a file server exports: see ``exports.Exports`` for each of these."""

    def load(self) -> None:
        """The exports of an earlier run are known."""

    def adopt(self) -> None:
        """What the server has, and no file, is known."""

    def served(self) -> list[str]:
        """Return the names of the exports that a server would start with."""

    def clients_of(self, name: str) -> list[str]:
        """Return the clients that the export has, or had when it was last served."""

    def look(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return what there is of each of these exports, in one look."""

    def amiss(self, name: str, path: Path, clients: Sequence[str], seen: Seen, mounted_as: str | None = None) -> list[str]:
        """Return in words what of an export that was seen is not as ``put`` would make it."""

    def put(self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None) -> Mapping[int, str]:
        """The directory is exported to exactly these clients."""

    def hold(self, name: str) -> None:
        """A server that starts does not serve it; it is remembered."""

    def withdraw(self, name: str) -> None:
        """It is not served; it is remembered."""

    def forget(self, name: str) -> None:
        """It is not served, and nothing of it is left."""

    def discard(self, name: str) -> None:
        """Nothing of it is left for a server that starts."""


class FileServer(abc.ABC):
    """The server of one protocol of one backend or share server. Safe for threads."""

    #: What it is called, in words.
    NAME: ClassVar[str]
    #: What it may have said before it ended: files in its directory.
    LOGS: ClassVar[Sequence[str]]

    def __init__(self, state: Path, home: Path, netns: str | None):
        """``state`` is its directory, and ``home`` that of the share server or backend, which may be the same."""
        self._state = state
        self._home = home
        self._netns = netns
        self._life = threading.Lock()
        self._stopped = False
        self._remount: Callable[[], None] = lambda: None

    #: What it exports.
    exports: Served

    # What each has of its own -----------------------------------------------------------------

    @property
    @abc.abstractmethod
    def daemons(self) -> Mapping[str, Daemon]:
        """Return its programs by their names; it runs if they all do."""

    @property
    def process(self) -> psutil.Process | None:
        """Return the program that clients talk to, if it runs."""
        return list(self.daemons.values())[-1].process()

    @property
    @abc.abstractmethod
    def fits(self) -> bool:
        """Say whether the server, if it runs, was started with the options of now, in the namespace of now."""

    @property
    def needed(self) -> bool:
        """Say whether it has to run."""
        return True

    @abc.abstractmethod
    def blocks(self, rules: Iterable[kinds.AccessRule]) -> tuple[list[Block], dict[str, kinds.RuleResult]]:
        """Return as clients of an export those rules that can be expressed, and a result for every rule."""

    @abc.abstractmethod
    def _find(self) -> None:
        """Programs are known that run already, also if whoever started them died before it could remember them."""

    @abc.abstractmethod
    def _spawn(self) -> None:
        """The programs are started."""

    @abc.abstractmethod
    def _stop(self) -> None:
        """No program runs."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Say whether clients can be served by now."""

    def _vet(self) -> None:
        """What answers may serve clients.

        :raises CommandFailed: it may not, and has ended.
        """

    # Life -------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Say whether the server of this state directory runs, whoever started it."""
        return all(daemon.process() is not None for daemon in self.daemons.values())

    @property
    def missed(self) -> bool:
        """Say whether it should run, and does not."""
        return self.needed and not self.running

    def start(self, remount: Callable[[], None], *, even_if_stopped: bool = True) -> None:
        """The server answers: the one that ran before if it still answers, else a new one. One that is not needed may not run.

        ``remount`` is called while no server runs: what a new one will export must be mounted by then.

        :raises CommandFailed: it does not come up; with the end of its log. Or it was stopped on purpose, and shall stay so.
        """
        with self._life:
            if self._stopped and not even_if_stopped:
                raise CommandFailed(f'the {self.NAME} was stopped')
            self._stopped = False
            self._remount = remount
            self._find()
            self.exports.load()
            if self.running and not self.fits:
                LOG.warning('The options of the %s were changed; it is started anew', self.NAME)
                self._stop()
            if not (self.running and self._came_up()):
                self._begin()
            if self.running:
                self.exports.adopt()

    def _came_up(self) -> bool:
        """Say whether the server that runs answers; one that does not would be of no use for ever."""
        try:
            self._wait(self._answers)
        except CommandFailed as bad:
            LOG.warning('%s; it is started anew', bad)
            return False
        return True

    def _begin(self) -> None:
        self._stop()    # a part of the programs alone is of no use
        self._remount()
        if self.needed:
            self._launch()
            try:
                self._wait(self._answers)
            except CommandFailed:
                self._stop()    # else it would count as one that runs
                raise
            self._vet()

    def awake(self) -> bool:
        """The server runs, if it is needed; one that died is started anew with the exports it had. Says whether it did not run.

        :raises CommandFailed: it does not come up; with the end of its log. Or it was stopped on purpose.
        """
        return self.missed and self._revive()

    def _revive(self) -> bool:
        with self._life:
            if self._stopped:
                raise CommandFailed(f'the {self.NAME} was stopped')
            self._find()
            if not self.missed:
                return False
            if any(daemon.record.exists() for daemon in self.daemons.values()):
                LOG.error('The %s died; it is started anew. See %s/%s', self.NAME, self._state, self.LOGS[-1])
            self._begin()
            return True

    def stop(self) -> None:
        """Its programs have ended, and stay so until ``start``."""
        with self._life:
            self._stopped = True
            self._find()
            self._stop()

    def _launch(self) -> None:
        with halting.alone(self._home):
            if halting.by(self._home):
                raise CommandFailed(f'the {self.NAME} has moved away')
            self._spawn()

    def _inside(self, words: Sequence[str]) -> list[str]:
        """Return the words that start a program in the namespace."""
        # Not "ip netns exec": its private mount namespace would hide shares that are mounted later.
        return [*(('nsenter', f'--net=/run/netns/{self._netns}') if self._netns else ()), *words]

    @property
    def _space(self) -> str:
        """Return what another namespace does not have."""
        return f'{self._netns} {ip.identity(self._netns)}' if self._netns else ''

    def _wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + _READY_SECONDS
        while not ready():
            dead = [name for name, daemon in self.daemons.items() if daemon.record.exists() and daemon.process() is None]
            if dead or time.monotonic() > end:
                raise CommandFailed(f'{self._trouble}: {self._last_words(dead)}')
            time.sleep(0.02)

    @property
    @abc.abstractmethod
    def _trouble(self) -> str:
        """Return that it does not come up, and what often is the reason."""

    def _last_words(self, dead: Sequence[str]) -> str:
        said = f'{", ".join(dead)} ended' if dead else 'it does not answer'
        for name in self.LOGS:
            file = self._state / name
            if file.exists() and (text := file.read_text(errors='replace').strip()):
                said += f'; {name}: ' + ' | '.join(text.splitlines()[-3:])
        return said

    # Exports ----------------------------------------------------------------------------------

    def export(self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None) -> Mapping[int, str]:
        """See ``Exports.put``."""
        self.awake()
        return self.exports.put(name, path, clients, mounted_as)

    def withdraw(self, name: str) -> None:
        """See ``Exports.withdraw``."""
        self.awake()
        self.exports.withdraw(name)

    def forget(self, name: str) -> None:
        """See ``Exports.forget``."""
        self.awake()
        self.exports.forget(name)
