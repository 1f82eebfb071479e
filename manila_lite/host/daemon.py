# SPDX-License-Identifier: Apache-2.0
"""A daemon that outlives the share manager: recognized by pid and start time, or by user, program and words; stopped by pid."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from manila_lite.host import programs
from manila_lite.host.commands import ENV
from manila_lite.host.waits import until

_BOOT = Path('/proc/sys/kernel/random/boot_id')


class Daemon:
    """One daemon, recorded in its own file."""

    def __init__(self, record: Path):
        self.record = record
        self._child: subprocess.Popen[bytes] | None = None

    def _remembered(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            record = json.loads(self.record.read_text())
            if isinstance(record, dict):
                return record
        return {}

    @property
    def start_key(self) -> str | None:
        """The key that ``start`` recorded: how the daemon was started."""
        return self._remembered().get('mark')

    @property
    def pid(self) -> int | None:
        """The pid of the running daemon, or None. Another process that has its pid now does not count."""
        if self._child is not None:
            self._child.poll()  # reaps a child that has ended
        record = self._remembered()
        # Of a daemon that ended before it was recorded there is no birth.
        return record['pid'] if record.get('birth') and _birth(record['pid']) == record['birth'] else None

    @property
    def runs(self) -> bool:
        """Whether the daemon runs: cheaper than ``process`` if it has many threads."""
        return self.pid is not None

    def process(self) -> psutil.Process | None:
        """Return the running daemon, or None."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(pid) if (pid := self.pid) is not None else None
        return None

    def find(self, words: Sequence[str]) -> psutil.Process | None:
        """Return the running daemon, also if the process that started it died before it could record it."""
        if process := self.process():
            return process
        for process in programs.running(words[0], list(words).__eq__):
            self._remember(process.pid, None)
            return self.process()
        return None

    def adopt(self, pid: int, words: Sequence[str]) -> None:
        """Record the process with this pid as the daemon, if these words started it and no other daemon runs."""
        with contextlib.suppress(psutil.Error):
            if not self.runs and programs.is_ours(psutil.Process(pid), words[0], list(words).__eq__):
                self._remember(pid, None)

    def start(self, words: Sequence[str], log: Path, *, start_key: str, env: Mapping[str, str]) -> None:
        """Start the daemon in a session of its own, so that the end of the share manager does not end it."""
        with log.open('ab') as out:
            self._child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd='/',
                start_new_session=True,
                env={**ENV, **env},
            )
        self._remember(self._child.pid, start_key)

    def _remember(self, pid: int, start_key: str | None) -> None:
        draft = self.record.with_suffix('.new')
        # The release before reads the key under this name.
        draft.write_text(json.dumps({'pid': pid, 'birth': _birth(pid), 'mark': start_key}))
        os.replace(draft, self.record)

    def stop(self, patience: float = 10.0) -> None:
        """Stop the daemon, by force after ``patience`` seconds, and delete its record."""
        for signo in (signal.SIGTERM, signal.SIGKILL):
            process = self.process()
            if process is None:
                break
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signo)
            until(lambda: not self.runs, patience)
        self.record.unlink(missing_ok=True)


def _birth(pid: int) -> str:
    """Return an identity that no other process ever has: the boot, and the start time in it; '' if the process has
    ended, with its last thread: until then its ports and mounts are in use.

    The start time is in ticks since boot: a time of day would move when the clock is set. For the file of the whole process
    the kernel adds up all its threads, of which NFS-Ganesha has thousands; its first thread has the same start.
    """
    try:
        fields = Path(f'/proc/{pid}/task/{pid}/stat').read_text(errors='replace').rpartition(')')[2].split()
        boot = _BOOT.read_text().strip()
    except (OSError, ValueError):
        return ''
    state, threads, start = fields[0], int(fields[17]), fields[19]
    return '' if state == 'X' or (state == 'Z' and threads <= 1) else f'{boot} {start}'
