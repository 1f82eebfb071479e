# SPDX-License-Identifier: Apache-2.0
"""A socket that systemd has opened for this process. It stays open while the service restarts, so no client is refused."""

import os
import socket

from manila_lite import errors

#: The first descriptor that is passed, by the protocol of sd_listen_fds(3).
_FIRST = 3


def take() -> socket.socket | None:
    """Return the socket that was passed to this process, or None. Programs that it starts are not told of it.

    :raises errors.BadConfig: there are several, or it is no TCP socket that listens.
    """
    pid, number = os.environ.pop('LISTEN_PID', ''), os.environ.pop('LISTEN_FDS', '')
    os.environ.pop('LISTEN_FDNAMES', None)
    if pid != str(os.getpid()):
        return None
    if number != '1':
        raise errors.BadConfig(f'systemd passed {number} sockets: the socket unit must have one ListenStream')
    try:
        os.set_inheritable(_FIRST, False)
        found = socket.socket(fileno=_FIRST)
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as bad:
        raise errors.BadConfig(f'systemd passed no socket: {bad.strerror}') from None
    if (
        found.family not in (socket.AF_INET, socket.AF_INET6)
        or found.type != socket.SOCK_STREAM
        or not listens
    ):
        raise errors.BadConfig(
            'systemd passed no socket for TCP: ListenStream of the socket unit must be ADDRESS:PORT'
        )
    found.setblocking(False)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections have it from here
    return found
