# SPDX-License-Identifier: Apache-2.0
"""Detection of a program that, with its child processes, does nothing any more."""

import time

import psutil

#: Least number of seconds between two readings of the counters.
_EVERY = 5.0


class Activity:
    """Activity of one program with its children. They are still after ``patience`` seconds without any.

    A program that waits for a disk or an NFS server is not still.
    """

    def __init__(self, pid: int, patience: float):
        self._pid = pid
        self._patience = patience
        self._seen: object = None
        self._moved = self._read_at = time.monotonic()

    def is_still(self) -> bool:
        """Say whether the program did nothing for so long."""
        now = time.monotonic()
        if now >= self._read_at + min(_EVERY, self._patience):
            self._read_at, seen = now, self._counters()
            if seen is None or seen != self._seen:
                self._seen, self._moved = seen, now
        return now >= self._moved + self._patience

    def _counters(self) -> object:
        """Return counters that change with any activity; None while a process waits for the kernel's input or output."""
        try:
            top = psutil.Process(self._pid)
            family = [top, *top.children(recursive=True)]
            if any(process.status() == psutil.STATUS_DISK_SLEEP for process in family):
                return None
            return [(process.pid, *process.io_counters()[:2], *process.cpu_times()[:2]) for process in family]
        except psutil.Error:
            return None  # a process just ended
