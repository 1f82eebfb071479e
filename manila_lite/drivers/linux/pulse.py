# SPDX-License-Identifier: Apache-2.0
"""Whether a program, with those that it started, still does anything."""

import time

import psutil

#: Seconds between two looks, at least.
_EVERY = 5.0


class Pulse:
    """One that does nothing for ``patience`` seconds is still; one that waits for a disk or an NFS server is not."""

    def __init__(self, pid: int, patience: float):
        self._pid = pid
        self._patience = patience
        self._seen: object = None
        self._moved = self._looked = time.monotonic()

    def is_still(self) -> bool:
        """Say whether nothing moved for so long."""
        now = time.monotonic()
        if now >= self._looked + min(_EVERY, self._patience):
            self._looked, seen = now, self._look()
            if seen is None or seen != self._seen:
                self._seen, self._moved = seen, now
        return now >= self._moved + self._patience

    def _look(self) -> object:
        """Return what changes as long as anything is done; nothing while they wait for what the kernel has to bring."""
        try:
            top = psutil.Process(self._pid)
            family = [top, *top.children(recursive=True)]
            if any(process.status() == psutil.STATUS_DISK_SLEEP for process in family):
                return None
            return [(process.pid, *process.io_counters()[:2], *process.cpu_times()[:2]) for process in family]
        except psutil.Error:
            return None     # one of them just ended
