# SPDX-License-Identifier: Apache-2.0
"""QEMU's monitor (QMP) at a Unix socket: one command, one answer."""

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from manila_lite import errors

#: Seconds that QEMU may take to answer.
_SECONDS = 30.0
_PAUSE = 0.05
#: Bytes of a message. QEMU runs a guest, and may be in its hands.
_MOST = 1 << 20


class Refused(errors.ManilaLiteError):
    """QEMU said no; the message has its reason."""

    code = 'qemu_refused'


class Monitor:
    """A connection to the monitor, open inside a ``with`` block."""

    def __init__(self, path: Path):
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._buffer = b''

    def __enter__(self) -> Self:
        """Connect. :raises errors.Unavailable: QEMU does not listen, or does not answer."""
        try:
            self._socket.settimeout(_SECONDS)
            self._socket.connect(str(self._path))
            self._line()
            self.do('qmp_capabilities')
        except OSError as bad:
            self._socket.close()
            raise errors.Unavailable(f'QEMU does not answer at {self._path}: {bad}') from bad
        return self

    def __exit__(
        self, kind: type[BaseException] | None, bad: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def do(self, command: str, fd: int | None = None, **arguments: Any) -> Any:
        """Run a command, and return QEMU's answer. ``fd``: a file descriptor that is sent along.

        :raises Refused: QEMU refuses the command.
        :raises errors.Unavailable: QEMU is gone.
        """
        sent = json.dumps(
            {
                'execute': command,
                'arguments': {name.replace('_', '-'): value for name, value in arguments.items()},
            }
        ).encode()
        try:
            socket.send_fds(self._socket, [sent], [] if fd is None else [fd])
            while True:
                answer = self._line()
                if 'return' in answer:
                    return answer['return']
                if 'error' in answer:
                    raise Refused(answer['error'].get('desc', command))
        except OSError as bad:
            raise errors.Unavailable(f'QEMU does not answer to {command}: {bad}') from bad

    def _line(self) -> dict[str, Any]:
        """Return the next message. Events come between answers."""
        while b'\n' not in self._buffer:
            part = self._socket.recv(65536)
            if not part:
                raise ConnectionError('it has ended')
            self._buffer += part
            if len(self._buffer) > _MOST:
                raise ConnectionError(f'it sent a message of more than {_MOST} bytes')
        line, _, self._buffer = self._buffer.partition(b'\n')
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise ConnectionError('it sent a message that is no JSON object')
        return message

    # Memory in a file -------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Stop the guest, and save its memory to the file, synced to disk.

        :raises Refused: a device does not allow it; the guest goes on then.
        """
        self.do('stop')
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self.do('getfd', fd=file, fdname='memory')
            self.do('migrate', uri='fd:memory')
            self._moved()
            os.fsync(file)
        except Refused:
            with contextlib.suppress(Refused):
                self.do('cont')
            raise
        finally:
            os.close(file)

    def load(self, path: Path) -> None:
        """Load the memory of the guest, started with ``-S -incoming defer``, from the file. The guest stays paused."""
        file = os.open(path, os.O_RDONLY)
        try:
            self.do('getfd', fd=file, fdname='memory')
            self.do('migrate-incoming', uri='fd:memory')
            self._moved()
        finally:
            os.close(file)

    def _moved(self) -> None:
        """Wait until the memory is transferred. :raises Refused: it could not be."""
        while True:
            migration = self.do('query-migrate')
            if migration.get('status') == 'completed':
                return
            if migration.get('status') in ('failed', 'cancelled'):
                raise Refused(migration.get('error-desc', 'the memory could not be moved'))
            time.sleep(_PAUSE)
