# SPDX-License-Identifier: Apache-2.0
"""The task of a pool guard, and the files by which it and the share manager tell each other how things are.

All of them are in ``guard`` in the state directory of the backend, on the host's own disk.
"""

import dataclasses
import json
import os
import socket
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite.drivers.linux.failover.mark import Mark
from manila_lite.host import clock, durable


@dataclasses.dataclass(frozen=True)
class FailoverTask:
    """The task: to have the pool on ``device`` mounted in the folder ``state``, for share servers on the bridges in the
    namespace ``fabric``. ``token``: see ``Mark``. ``seen`` is the mark that the device must have at first.
    """

    device: str
    state: str
    fabric: str
    token: str
    seen: str = ''

    @property
    def root(self) -> Path:
        """The mount point of the pool."""
        return Path(self.state, 'pool')

    @property
    def servers(self) -> Path:
        """The mount point of the folder of share servers, which is in the pool."""
        return Path(self.state, 'servers')

    @property
    def files(self) -> 'Files':
        return Files(Path(self.state, 'guard'))

    def marked(self, beat: int = 0, *, free: bool = False) -> Mark:
        return Mark(self.token, socket.gethostname(), self.state, beat, free)

    def write(self) -> Path:
        """Write the task for a guard. Return the file."""
        file = self.files.folder / 'task.json'
        _replace(file, json.dumps(dataclasses.asdict(self)))
        return file

    @classmethod
    def read(cls, file: Path) -> 'FailoverTask':
        return cls(**json.loads(file.read_text()))


class Files:
    """The files in which share manager and guard tell each other how things are."""

    def __init__(self, folder: Path):
        self.folder = folder
        #: There from the mount of the pool until the guard begins to let go. Its text differs for each guard.
        self.serving = folder / 'serving'
        #: There from the moment at which the guard begins, or is told, to let go, until the share manager has taken note.
        self.fenced = folder / 'fenced'
        #: The lock of changes: see ``changes.py``.
        self.changes = folder / 'changes.lock'
        #: Has the ids of share servers whose networks are still to be removed.
        self.left = folder / 'left.json'
        #: Has the guard's pid.
        self.record = folder / 'guard.json'
        self.log = folder / 'guard.log'

    def token(self) -> str:
        """Return a name of this host, made at the first call, and of its boot: a copy of its disk is another host."""
        file = self.folder / 'host.id'
        if not file.exists() or not file.stat().st_size:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            durable.replace(
                file, uuidutils.generate_uuid(dashed=False)
            )  # or this host would not know its own mark
        return f'{file.read_text()}.{_boot()}'

    def begin_to_serve(self) -> None:
        """Say that the pool is mounted now."""
        _replace(self.serving, uuidutils.generate_uuid(dashed=False))

    def served_by(self) -> str:
        """Return the text of the guard that has the pool mounted, or ''."""
        return durable.text(self.serving)

    def allow_until(self, until: float) -> None:
        """Write the time until which this host may serve, in seconds since its boot."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(self.folder / 'until', json.dumps([_boot(), until]))

    def may_serve(self) -> bool:
        try:
            boot, until = json.loads((self.folder / 'until').read_text())
            return bool(boot == _boot() and clock.boottime() < until)
        except (OSError, ValueError):
            return False


def _boot() -> str:
    return Path('/proc/sys/kernel/random/boot_id').read_text().strip()


def _replace(file: Path, text: str) -> None:
    """Replace the file's text atomically. It says something of this boot only."""
    draft = file.with_suffix('.new')
    draft.write_text(text)
    os.replace(draft, file)
