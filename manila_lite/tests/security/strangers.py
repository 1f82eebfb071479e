# SPDX-License-Identifier: Apache-2.0
"""Strangers who connect to file servers and say nothing."""

import subprocess
import sys

from manila_lite.tests import waiting

#: Connections that a server has from one address.
PER_ADDRESS = 20
#: Opens so many connections to an address and a port. Writes how many of them are closed whenever it gets a
#: line.
_STRANGER = """
import resource, select, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (9000, 9000))
address, port, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
poll, lines = select.poll(), []
for _ in range(number):
    try:
        lines.append(socket.create_connection((address, port), timeout=60))
        poll.register(lines[-1], select.POLLIN)
    except OSError:
        pass        # it was closed at once
print('there', flush=True)
while sys.stdin.readline():
    print(number - len(lines) + len(poll.poll(0)), flush=True)
"""


class Strangers:
    """Mixin of tests with a file server whose address the fabric has under the name ``AT``."""

    AT = 'nas'

    def stranger(self, host, port, number, v6=False):
        """Return a process at the host with so many silent connections. It ends with the test."""
        at = getattr(self.fabric, 'v6' if v6 else 'v4')
        process = subprocess.Popen(
            [
                'nsenter',
                f'--net=/run/netns/{self.fabric.name(host)}',
                sys.executable,
                '-c',
                _STRANGER,
                at(self.AT),
                str(port),
                str(number),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait, waiting.LIMIT)
        self.addCleanup(process.kill)
        self.assertEqual('there\n', process.stdout.readline())
        return process

    def closed(self, process):
        """Return how many of a stranger's connections the server has closed."""
        process.stdin.write('\n')
        process.stdin.flush()
        return int(process.stdout.readline())

    def places_come_back(self, port, **more):
        """Check that as many connections as before are served once the former ones have ended, several times."""

        def has_room():
            strangers = self.stranger('two', port, PER_ADDRESS, **more)
            closed = self.closed(strangers)
            strangers.kill()
            return not closed

        for _ in range(3):
            waiting.until(has_room, 'as many are served again')
