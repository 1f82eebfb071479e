# SPDX-License-Identifier: Apache-2.0
"""A moment in which no file server answers: a client could have seen exactly the state of the shares at that moment.

A client sends a request that depends on an answer only after it has the answer. If no server writes or answers while
the shares are snapshotted one after another, no snapshot shows an effect whose cause another one lacks. The file system
itself cannot be frozen for that: btrfs makes no snapshots of a frozen one.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from manila_lite import errors
from manila_lite.drivers.linux.protocols import quiesce_guard
from manila_lite.host.commands import ENV

#: Seconds that servers may stand still. A client's lease is longer (``Lease_Lifetime``).
_SECONDS = 15.0
_LATE = (
    f'Not all shares could be checked within {_SECONDS:g} s, the time that clients wait. Try again when there is '
    'less to do, or use a group without consistent snapshots.'
)


@contextlib.contextmanager
def turn(path: Path) -> Iterator[int]:
    """Hold the turn at this directory, which only one caller of all processes can have. Yields a descriptor for
    ``still``.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def still(servers: Sequence[psutil.Process], fair_share_key: int | None = None) -> Iterator[None]:
    """Stop the servers and their children while the body runs; if this process dies, they go on.

    The work of the body counts only if this ends without an error. ``fair_share_key`` is the descriptor that ``turn`` yields.
    If this process dies, the turn ends only after the servers were resumed: otherwise that would resume servers that
    the next process has just stopped.

    :raises errors.Final: the servers could not be stopped, or the body took too long; then the servers went on during
        the body.
    :raises errors.Unavailable: a server ended, or another process resumed it.
    """
    words = [sys.executable, '-I', '-S', str(Path(quiesce_guard.__file__)), str(_SECONDS)]
    guard = subprocess.Popen(
        [*words, *(str(server.pid) for server in servers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd='/',
        start_new_session=True,
        env=ENV,
        pass_fds=() if fair_share_key is None else (fair_share_key,),
    )
    ended = ''
    try:
        with guard:
            ended = _said(guard)
            if ended == quiesce_guard.STILL:
                yield
                guard.stdin.close()  # type: ignore[union-attr]
                ended = _said(guard)
    finally:
        if ended not in (quiesce_guard.KEPT, quiesce_guard.LATE, quiesce_guard.BROKEN):
            _go_on(servers)
    if ended == quiesce_guard.LATE:
        raise errors.Final(_LATE)
    if ended != quiesce_guard.KEPT:
        raise errors.Unavailable('A file server resumed or ended before all shares were checked.')


def _said(guard: subprocess.Popen[str]) -> str:
    """Return the guard's next word; '' if the guard was killed."""
    return guard.stdout.readline().strip() if guard.stdout else ''


def _go_on(servers: Sequence[psutil.Process]) -> None:
    """Resume the servers after the guard was killed."""
    for server in servers:
        with contextlib.suppress(psutil.Error):
            for process in (*server.children(recursive=True), server):
                with contextlib.suppress(psutil.Error):
                    process.send_signal(signal.SIGCONT)
