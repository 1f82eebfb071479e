# SPDX-License-Identifier: Apache-2.0
"""``python -I -S relay.py SOCKET``: copy standard input to the Unix socket, and the socket's output to standard output.

QEMU starts one process for each connection of a guest to the metadata, so this module imports little.
"""

import os
import select
import socket
import sys


def relay(into: int, out: int, peer: socket.socket) -> None:
    """Copy data in both directions until the socket has ended."""
    targets = {into: peer.fileno(), peer.fileno(): out}
    while targets:
        for source in select.select(list(targets), [], [])[0]:
            data = os.read(source, 65536)
            _send(targets[source], data)
            if not data:
                if source == peer.fileno():
                    return
                targets.pop(source)
                peer.shutdown(socket.SHUT_WR)


def _send(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data):]


if __name__ == '__main__':
    with socket.socket(socket.AF_UNIX) as connected:
        connected.connect(sys.argv[1])
        relay(0, 1, connected)
