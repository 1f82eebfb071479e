# SPDX-License-Identifier: Apache-2.0
"""A daemon that outlives the share manager: found again by pid and start time, ended by pid."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from manila_lite.drivers.linux.run import ENV


class Daemon:
    """One program, remembered in a file of its own."""

    def __init__(self, record: Path):
        self._record = record
        self._child: subprocess.Popen | None = None

    def process(self) -> psutil.Process | None:
        """Return the running program, or nothing. A stranger that has its pid now does not count."""
        try:
            pid, started = json.loads(self._record.read_text())
            process = psutil.Process(pid)
            alive = process.create_time() == started and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, ValueError, psutil.NoSuchProcess):
            return None
        return process if alive else None

    def start(self, words: Sequence[str], log: Path, env: dict[str, str] | None = None) -> None:
        """The program runs, in a session of its own: what ends the share manager does not end it."""
        self.reap()
        with log.open('ab') as out:
            self._child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd='/',
                                           start_new_session=True, env={**ENV, **(env or {})})
        draft = self._record.with_suffix('.new')
        with contextlib.suppress(psutil.NoSuchProcess):
            draft.write_text(json.dumps([self._child.pid, psutil.Process(self._child.pid).create_time()]))
            os.replace(draft, self._record)

    def reap(self) -> None:
        """A child that ended leaves no zombie."""
        if self._child is not None:
            self._child.poll()

    def stop(self, patience: float = 10.0) -> None:
        """The program has ended."""
        process = self.process()
        for signo, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, patience)):
            if process is None:
                break
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signo)
            end = time.monotonic() + seconds
            while process is not None and time.monotonic() < end:
                time.sleep(0.02)
                self.reap()
                process = self.process()
        self._record.unlink(missing_ok=True)
