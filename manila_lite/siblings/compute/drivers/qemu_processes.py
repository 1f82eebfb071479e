# SPDX-License-Identifier: Apache-2.0
"""The processes of one guest: QEMU and a virtiofsd for each share. They outlive the agent, and a new agent finds them.

``run.json`` is written before the first of them starts and has their command lines. So a process can be identified even
if the agent died before it could store the pid.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil

from manila_lite import errors
from manila_lite.host import programs
from manila_lite.host.daemon import Daemon
from manila_lite.siblings.compute.drivers.local import Files
from manila_lite.siblings.compute.drivers.qemu_monitor import Monitor

_PAUSE = 0.05
#: Seconds in which a process must end, before it is killed. A guest whose NFS server does not answer ends by force only.
_END_SECONDS = 10.0
_VIRTIOFSD_SECONDS = 2.0


@dataclass(frozen=True)
class CommandLines:
    """Command lines of a guest's processes: virtiofsd by the share's id, with its socket. QEMU is started last."""

    qemu: list[str]
    shares: dict[str, list[str]] = field(default_factory=dict)
    sockets: dict[str, str] = field(default_factory=dict)
    #: Whether QEMU has a network namespace of its own. It had none in releases that gave metadata through a relay.
    apart: bool = False

    @classmethod
    def read(cls, files: Files) -> 'CommandLines | None':
        """Return the command lines of the guest that ran last, or None."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            known = json.loads((files / 'run.json').read_text())
            known.pop('netns', None)  # of earlier releases
            return cls(**known)
        return None

    def write(self, files: Files) -> None:
        """Store the command lines, to be read even after a crash."""
        draft = files / 'run.new'
        draft.write_text(json.dumps(asdict(self)))
        os.replace(draft, files / 'run.json')


class GuestProcesses:
    """The processes of a server."""

    def __init__(self, files: Files, daemons: dict[str, Daemon], patience: float):
        self._files = files
        # A process that this agent started is its child, and the same object must wait for it.
        self._daemons = daemons
        self._patience = patience
        self.commands = CommandLines.read(files)

    def _daemon(self, name: str) -> Daemon:
        key = f'{self._files.folder.name}/{name}'
        return self._daemons.setdefault(key, Daemon(self._files / f'{name}.json'))

    # Looking ----------------------------------------------------------------------------------

    def running(self) -> bool:
        """Say whether QEMU runs."""
        return self.commands is not None and self._daemon('qemu').find(self.commands.qemu) is not None

    @property
    def apart(self) -> bool:
        """Whether QEMU has a network namespace of its own."""
        return self.commands is not None and self.commands.apart

    def pid(self) -> int:
        """Return the process of QEMU. :raises errors.Unavailable: it has ended."""
        found = self._daemon('qemu').find(self.commands.qemu) if self.commands else None
        if found is None:
            raise errors.Unavailable('The guest has ended.')
        pid: int = found.pid
        return pid

    def broken(self) -> frozenset[str]:
        """Return the ids of shares that have no virtiofsd."""
        if self.commands is None:
            return frozenset()
        return frozenset(
            share for share, words in self.commands.shares.items() if self._daemon(share).find(words) is None
        )

    def monitor(self) -> Monitor:
        """Return QEMU's monitor."""
        return Monitor(self._files / 'qmp')

    # Starting ---------------------------------------------------------------------------------

    def start(self, commands: CommandLines, more: Iterable[str] = ()) -> None:
        """Start the processes, and wait until QEMU answers. ``more``: additional words of its command line, for this run.

        :raises errors.Final: a program ended at once; the message has its last output.
        :raises errors.Unavailable: a program did not answer in time.
        """
        self.clear()
        self.commands = replace(commands, qemu=[*commands.qemu, *more])
        self.commands.write(self._files)
        for share, words in self.commands.shares.items():
            self._begin(share, words)
        for share, socket in self.commands.sockets.items():
            self._until(share, Path(socket).is_socket)
        # unshare replaces itself by QEMU, so that the process has QEMU's command line.
        self._begin('qemu', ['unshare', '--net', *self.commands.qemu])
        self._until('qemu', self._answers)

    def _begin(self, name: str, words: list[str]) -> None:
        (self._files / f'{name}.log').unlink(missing_ok=True)
        self._daemon(name).start(words, self._files / f'{name}.log', start_key='', env={})

    def _until(self, name: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + self._patience
        while not ready():
            if not self._daemon(name).runs:
                raise errors.Final(f'{name} ended at once: {self._last(name)}')
            if time.monotonic() > end:
                raise errors.Unavailable(
                    f'{name} does not answer within {self._patience:g} s: {self._last(name)}'
                )
            time.sleep(_PAUSE)

    def _last(self, name: str) -> str:
        said = (self._files / f'{name}.log').read_text(errors='replace').strip()
        return said.splitlines()[-1] if said else 'it said nothing'

    def _answers(self) -> bool:
        with contextlib.suppress(errors.Unavailable), self.monitor():
            return True
        return False

    # Ending -----------------------------------------------------------------------------------

    def ended(self, seconds: float) -> bool:
        """Wait for QEMU to end by itself; return whether it did within so many seconds."""
        end = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        return True

    def clear(self) -> None:
        """End all processes of the guest, QEMU first."""
        if self.commands is None:
            return
        with contextlib.suppress(errors.ManilaLiteError):
            if self.running():
                with self.monitor() as monitor:
                    monitor.do('quit')
                self.ended(_END_SECONDS)
        self._end('qemu', self.commands.qemu, _END_SECONDS)
        for name, words in self.commands.shares.items():
            self._end(name, words, _VIRTIOFSD_SECONDS)
        for socket in ('qmp', *self.commands.sockets.values()):
            (self._files / socket).unlink(missing_ok=True)
        (self._files / 'run.json').unlink(missing_ok=True)
        self.commands = None

    def _end(self, name: str, words: list[str], seconds: float) -> None:
        """End all processes with this command line: virtiofsd consists of two."""
        self._daemon(name).stop(patience=seconds)
        self._daemons.pop(f'{self._files.folder.name}/{name}', None)
        for process in programs.running(words[0], words.__eq__):
            with contextlib.suppress(psutil.Error):
                process.kill()
                process.wait(seconds)
