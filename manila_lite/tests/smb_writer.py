# SPDX-License-Identifier: Apache-2.0
"""A CIFS client that writes one file after the other, and goes on when its server comes up elsewhere.

It does what a program over a mount does that is told of a lost connection: it connects again, and writes the file once more.
"""

import contextlib
import threading
import time

from manila_lite.tests import nfs4_owner, smb_client, waiting
from manila_lite.tests.security import nfs4

#: Seconds for a connection, for an answer, and for smbclient to start, once the server takes connections.
_REACHED, _PATIENCE, _STARTS = 0.25, 1.0, 10.0
_PORT = 445


class Writer(threading.Thread):
    """A thread that writes files: see ``nfs4_owner.Writer``. ``path``: that of an export location."""

    def __init__(self, netns, path, user, password, pause=0.05):
        super().__init__(daemon=True)
        self._where, self._pause = (netns, path, user, password), pause
        self._session = None
        self._ending = threading.Event()
        self.acknowledged, self.gaps = 0, []
        self._connect(waiting.LIMIT, waiting.LIMIT)
        self.start()

    def _connect(self, reached=_REACHED, starts=_STARTS):
        netns, path = self._where[:2]
        nfs4.connected(path.split('\\')[2], _PORT, netns, reached).close()
        self._session = smb_client.Session(*self._where, seconds=starts)
        self._session.seconds = _PATIENCE

    def run(self):
        last = time.monotonic()
        while not self._ending.wait(self._pause):
            if not self._write():
                continue
            now = time.monotonic()
            if now - last > nfs4_owner.PAUSED:
                self.gaps.append((now - last, now))
            last = now
            self.acknowledged += 1
        self._hang_up()

    def _write(self):
        with contextlib.suppress(AssertionError, OSError):  # no answer in time
            if self._session is None:
                self._connect()
            worked, _ = self._session.call(f'put local {name(self.acknowledged)}', text(self.acknowledged))
            if worked:
                return True
        self._hang_up()
        return False

    def _hang_up(self):
        if self._session is not None:
            self._session.close()
        self._session = None

    @property
    def longest(self):
        """The longest pause between two answers, in seconds; 0 if none was longer than ``nfs4_owner.PAUSED``."""
        return max((seconds for seconds, _ in self.gaps), default=0.0)

    def goes_on(self, more=5):
        """Wait until some more files are written."""
        wanted = self.acknowledged + more
        waiting.until(lambda: self.acknowledged >= wanted, lambda: f'{self.acknowledged} files')

    def end(self):
        """Stop writing."""
        self._ending.set()
        self.join(waiting.LIMIT)


def name(number):
    """Return the name of a file: a hundred, so that each is written anew from time to time."""
    return f'file-{number % 100}'


def text(number):
    """Return the content of the file with this number."""
    return f'{number:015d}\n'
