# SPDX-License-Identifier: Apache-2.0
"""A listener that several processes have: those that answer, and their master, which can stand in for them.

A process in which one thread holds the interpreter accepts nothing. While no process does, the master may accept, but what it
cannot answer it passes on: that connection waits for a process as if it were not accepted yet.
"""

import mmap
import os
import socket
import struct
import time
from typing import Any

#: The last process that did something, and when, by the clock that all processes of a machine share.
_PULSE = struct.Struct('=qd')


class Listener:
    """A socket that listens, and the way from the master to the processes. To be made before they are forked.

    ``app`` is the WSGI application that answers there.
    """

    def __init__(self, listening: socket.socket, app: Any):
        self.socket, self.app = listening, app
        self._give, self.passed = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._give, self.passed):
            end.setblocking(False)
        self._pulse = mmap.mmap(-1, _PULSE.size)

    def close(self) -> None:
        """Listen no more, in this process."""
        self.socket.close()

    # In the processes that answer

    def beat(self) -> None:
        """Note that this process lives."""
        _PULSE.pack_into(self._pulse, 0, os.getpid(), time.monotonic())

    def take(self) -> socket.socket:
        """Return a connection that was passed on. :raises OSError: there is none, or its client is gone."""
        _, files, _, _ = socket.recv_fds(self.passed, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not files:
            raise OSError('no descriptor is left for it')
        return socket.socket(fileno=files[0])

    # In the master

    def silent(self) -> float:
        """Return the seconds since a process that still exists was the last to note that it lives; 0 if none is left."""
        pid, noted = _PULSE.unpack_from(self._pulse)
        return time.monotonic() - noted if pid and os.path.exists(f'/proc/{pid}') else 0.0

    def pass_on(self, connection: socket.socket) -> None:
        """Pass a connection on. :raises BlockingIOError: too many wait already."""
        socket.send_fds(self._give, [b'+'], [connection.fileno()])
