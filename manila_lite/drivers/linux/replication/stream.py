# SPDX-License-Identifier: Apache-2.0
"""One stream of subvolumes from a peer into a folder of this pool. Its bytes are counted here."""

import contextlib
import fcntl
import os
import select
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from manila_lite.drivers.linux.replication.peer_session import SILENCE, PeerSession
from manila_lite.drivers.linux.replication.stream_commands import Commands
from manila_lite.host.commands import ENV, CommandFailed

#: Size of a piece in bytes, and of the pipes between the processes.
_PIECE = 1 << 20
_SECONDS = 60.0


def receive(
    session: PeerSession, source: int, root: Path, folder: Path, lock: int, count: Callable[[int], None]
) -> None:
    """Receive the peer's subvolumes into the folder, each read-only under its name. ``root`` is the root of the pool. The
    default ACL of a top directory is set aside (``default_acl``).

    No content of the stream reaches anything outside of the folder. ``count`` is called with the number of bytes as
    they come. ``lock`` is held until nothing is received any more, also by a process that outlives this one.

    :raises CommandFailed: one side failed; all subvolumes here but the last one are complete.
    """
    with tempfile.TemporaryFile() as stderr:
        taker = subprocess.Popen(
            ('btrfs', '--quiet', 'receive', '--chroot', '-m', str(root), str(folder)),
            env=ENV,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=(lock,),
        )
        assert taker.stdin is not None
        try:
            _pump(source, taker.stdin.fileno(), count)
            taker.stdin.close()
            session.check_ended()
            _check_ended(taker)
        except (OSError, CommandFailed) as bad:
            stderr.seek(0)
            text = stderr.read().decode(errors='replace').strip()
            raise CommandFailed(f'the stream broke: {bad} {text}') from bad
        finally:
            taker.kill()
            taker.wait()
            with contextlib.suppress(OSError):
                taker.stdin.close()


def _pump(source: int, sink: int, count: Callable[[int], None]) -> None:
    for end in (source, sink):
        with contextlib.suppress(OSError):  # the size may be above the system's limit
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIECE)
    commands = Commands()
    with open(sink, 'wb', buffering=0, closefd=False) as out:
        while True:
            if not select.select([source], [], [], SILENCE)[0]:
                raise CommandFailed(f'no data arrived for {SILENCE:.0f} s')
            piece = os.read(source, _PIECE)
            if not piece:
                _write(out, commands.rest)
                return
            count(len(piece))
            _write(out, commands.translate(piece))


def _write(out: IO[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[out.write(left) :]


def _check_ended(taker: subprocess.Popen[bytes]) -> None:
    try:
        status = taker.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        raise CommandFailed('btrfs receive does not end') from None
    if status:
        raise CommandFailed(f'btrfs receive: exit status {status}')
