# SPDX-License-Identifier: Apache-2.0
"""The life cycle of a file server of one protocol: it is recognized after a restart of the share manager, restarted if
it died, and changed while it serves.

Its daemons outlive the share manager. They are restarted only if they died, or at ``start`` if their options changed.
Under systemd that needs ``KillMode=process`` in the share manager's unit.
"""

import abc
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

import psutil
from oslo_log import log

from manila_lite import values
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.file_servers.ganesha_exports import Seen
from manila_lite.host import ip
from manila_lite.host.commands import CommandFailed
from manila_lite.host.daemon import Daemon

LOG = log.getLogger(__name__)

_READY_SECONDS = 20.0
#: Seconds that a server with thousands of exports may need until it answers. One that runs longer and does not, never will.
_LONGEST_START = 300.0


class Served(Protocol):
    """The exports of a file server: see ``ganesha_exports.Exports`` for each method."""

    def load(self) -> None:
        """Load the exports of an earlier run."""

    def adopt(self) -> None:
        """Take over the exports that the server has, but whose files are missing."""

    def served(self) -> list[str]:
        """Return the names of the exports that a starting server would serve."""

    def clients_of(self, name: str) -> list[str]:
        """Return the clients of the export, or those that it had when it was last served."""

    def inspect(self, names: Sequence[str]) -> dict[str, Seen]:
        """Return the present state of each of these exports, all asked for at once."""

    def defects(
        self, name: str, path: Path, clients: Sequence[str], seen: Seen, mounted_as: str | None = None
    ) -> list[str]:
        """Return in words the differences between an export as it was seen and as ``put`` would make it."""

    def put(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """Export the directory to exactly these clients."""

    def suspend(self, name: str) -> None:
        """Keep a starting server from serving the export; it is remembered."""

    def withdraw(self, name: str) -> None:
        """Stop serving the export; it is remembered."""

    def forget(self, name: str) -> None:
        """Stop serving the export, and delete it."""

    def discard(self, name: str) -> None:
        """Delete the export for a starting server."""


class FileServer(abc.ABC):
    """The server of one protocol of one backend or share server. Safe for threads."""

    #: Name of the server in messages.
    NAME: ClassVar[str]
    #: Log files of the daemons, in the server's directory.
    LOGS: ClassVar[Sequence[str]]

    def __init__(self, state_dir: Path, home: Path, netns: str | None):
        """Remember the server's directory ``state``, and ``home``, that of its share server or backend; both may be the
        same.
        """
        self._state_dir = state_dir
        self._home = home
        self._netns = netns
        self._life = threading.Lock()
        self._stopped = False
        self._remount: Callable[[], None] = lambda: None
        #: Seconds that the server may need until it answers, if that is longer than usual.
        self.patience = 0.0
        #: Returns the context in which the daemons are started.
        self.launching: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext

    #: The exports of the server.
    exports: Served

    # Defined by each subclass -----------------------------------------------------------------

    @property
    @abc.abstractmethod
    def daemons(self) -> Mapping[str, Daemon]:
        """Return the server's daemons by name; the server runs if all of them do."""

    @property
    def process(self) -> psutil.Process | None:
        """Return the daemon that clients talk to, if it runs."""
        return list(self.daemons.values())[-1].process()

    @property
    @abc.abstractmethod
    def fits(self) -> bool:
        """Say whether the server, if it runs, was started with the present options in the present namespace."""

    @property
    def needed(self) -> bool:
        return True

    @abc.abstractmethod
    def blocks(self, rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
        """Return the rules that can be expressed, as clients of an export, and a result for every rule."""

    @abc.abstractmethod
    def _find(self) -> None:
        """Find running daemons, also if the process that started them died before it could record them."""

    @abc.abstractmethod
    def _spawn(self) -> None:
        """Start the daemons."""

    @abc.abstractmethod
    def _stop(self) -> None:
        """Stop the daemons."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Say whether the server can serve clients now."""

    def _vet(self) -> None:
        """Check that the running server may serve clients.

        :raises CommandFailed: it may not, and was stopped.
        """

    # Life -------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Say whether the server of this state directory runs, no matter which process started it."""
        return all(daemon.runs for daemon in self.daemons.values())

    @property
    def missed(self) -> bool:
        """Say whether the server should run, and does not."""
        return self.needed and not self.running

    def start(self, remount: Callable[[], None], *, even_if_stopped: bool = True) -> None:
        """Keep a server of an earlier run if it still answers, else start a new one. A server that is not needed may
        not run.

        ``remount`` is called while no server runs: it mounts everything that the new server will export.

        :raises CommandFailed: the server does not come up; with the end of its log. Or it was stopped, and
            ``even_if_stopped`` is false.
        """
        with self._life:
            if self._stopped and not even_if_stopped:
                raise CommandFailed(f'the {self.NAME} was stopped')
            self._stopped = False
            self._remount = remount
            self._find()
            self.exports.load()
            if self.running and not self.fits:
                LOG.warning('The options of the %s were changed; it is restarted', self.NAME)
                self._stop()
            if self.running:
                self._wait_or_replace()
            else:
                self._begin()
            if self.running:
                self.exports.adopt()

    def _wait_or_replace(self) -> None:
        """Wait for the running server to answer; replace it if it has had time enough and does not."""
        try:
            self._wait(self._answers)
        except CommandFailed as bad:
            process = self.process
            if process is not None and time.time() - process.create_time() < _LONGEST_START:
                raise
            LOG.warning('%s; it is restarted', bad)
            self._begin()

    def _begin(self) -> None:
        self._stop()  # the server needs all of its daemons
        self._remount()
        if self.needed:
            self._launch()
            self._wait(self._answers)
            self._vet()

    def restart_if_dead(self) -> bool:
        """Restart the server with its exports if it is needed and died. Returns whether it did not run.

        :raises CommandFailed: the server does not come up, with the end of its log; or it was stopped on purpose.
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
                LOG.error(
                    'The %s died; it is restarted. See %s/%s', self.NAME, self._state_dir, self.LOGS[-1]
                )
            self._begin()
            return True

    def stop(self) -> None:
        """Stop the daemons until ``start``."""
        with self._life:
            self._stopped = True
            self._find()
            self._stop()

    def _launch(self) -> None:
        with self.launching(), fencing.exclusive(self._home):
            if fencing.by(self._home):
                raise CommandFailed(f'the {self.NAME} has moved away')
            self._spawn()

    def inside(self, words: Sequence[str]) -> list[str]:
        """Return the words that start a program in the server's namespace."""
        # Not "ip netns exec": its private mount namespace would hide shares that are mounted later.
        return [*(('nsenter', f'--net=/run/netns/{self._netns}') if self._netns else ()), *words]

    @property
    def _space(self) -> str:
        """Return an identity of the namespace, which another namespace of the same name does not have."""
        return f'{self._netns} {ip.identity(self._netns)}' if self._netns else ''

    def _wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + max(self.patience, _READY_SECONDS)
        while not ready():
            dead = [
                name for name, daemon in self.daemons.items() if daemon.record.exists() and not daemon.runs
            ]
            if dead or time.monotonic() > end:
                raise CommandFailed(f'{self._trouble}: {self._last_words(dead)}')
            time.sleep(0.02)

    @property
    @abc.abstractmethod
    def _trouble(self) -> str:
        """Return the message for a server that does not come up, with the most frequent reason."""

    def _last_words(self, dead: Sequence[str]) -> str:
        said = f'{", ".join(dead)} ended' if dead else 'it does not answer'
        for name in self.LOGS:
            file = self._state_dir / name
            if file.exists() and (text := file.read_text(errors='replace').strip()):
                said += f'; {name}: ' + ' | '.join(text.splitlines()[-3:])
        return said

    # Exports ----------------------------------------------------------------------------------

    def export(
        self, name: str, path: Path, clients: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        self.restart_if_dead()
        return self.exports.put(name, path, clients, mounted_as)

    def withdraw(self, name: str) -> None:
        self.restart_if_dead()
        self.exports.withdraw(name)

    def forget(self, name: str) -> None:
        self.restart_if_dead()
        self.exports.forget(name)
