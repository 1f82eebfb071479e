# SPDX-License-Identifier: Apache-2.0
"""A separate process that stops servers, and resumes them when its parent says so or dies.

``python moment_guard.py SECONDS PID ...`` stops these processes and their children, prints ``still``, and waits for the
end of its standard input. At the end it prints the result. It imports only the standard library, so that it starts at
once.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

STILL = 'still'
#: The results: the servers stood still all the time; it took too long; another process resumed one of them, or one
#: ended.
KEPT, LATE, BROKEN = 'kept', 'late', 'broken'
_PROC = Path('/proc')


def _fields(stat: Path) -> list[str]:
    """Return the fields of a process or thread from its state on; empty if it ended."""
    try:
        return stat.read_text(errors='replace').rpartition(')')[2].split()
    except OSError:
        return []


def _children(parents: Iterable[int]) -> set[int]:
    wanted, children = set(map(str, parents)), set()
    for entry in _PROC.iterdir():
        if (
            entry.name.isdecimal()
            and (fields := _fields(entry / 'stat'))
            and fields[0] not in 'ZX'
            and fields[1] in wanted
        ):
            children.add(int(entry.name))
    return children


def is_still(pid: int) -> bool:
    """Say whether every thread of the process is stopped, so that none is in a system call."""
    threads = [_fields(thread / 'stat') for thread in (_PROC / str(pid) / 'task').glob('*')]
    return bool(threads) and all(fields and fields[0] == 'T' for fields in threads)


class Servers:
    """Stopped processes, held by pidfd: no other process ever gets the signal."""

    def __init__(self, pids: Iterable[int]):
        self._handles = {pid: os.pidfd_open(pid) for pid in pids}

    def stop(self, end: float) -> bool:
        """Stop the processes and their children. Returns whether all were stopped before the clock's ``end``."""
        fresh = set(self._handles)
        while fresh:
            for pid in fresh:
                signal.pidfd_send_signal(self._handles[pid], signal.SIGSTOP)
            while not all(map(is_still, fresh)):
                if time.monotonic() > end:
                    return False
                time.sleep(0.001)
            fresh = self._more()
        return True

    def _more(self) -> set[int]:
        """Return children that are not stopped yet. A stopped process makes no others."""
        children = _children(self._handles) - set(self._handles)
        self._handles |= {pid: os.pidfd_open(pid) for pid in children}
        return children

    @property
    def are_still(self) -> bool:
        """Say whether all of the processes are stopped."""
        return all(map(is_still, self._handles))

    def go_on(self) -> None:
        """Resume all of the processes."""
        for handle in self._handles.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGCONT)


def _say(word: str) -> None:
    sys.stdout.write(f'{word}\n')
    sys.stdout.flush()


def main(words: list[str]) -> str:
    """Stop the servers until the input ends, or the seconds are over. Returns the result."""
    end = time.monotonic() + float(words[0])
    servers = Servers(map(int, words[1:]))
    try:
        if not servers.stop(end):
            return LATE
        _say(STILL)
        ended, _, _ = select.select([sys.stdin], [], [], max(0.0, end - time.monotonic()))
        if not ended:
            return LATE
        return KEPT if servers.are_still else BROKEN
    finally:
        servers.go_on()


if __name__ == '__main__':
    _say(main(sys.argv[1:]))
