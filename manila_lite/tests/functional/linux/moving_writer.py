# SPDX-License-Identifier: Apache-2.0
"""A client that keeps writing while its server moves: another server, the same address."""

import threading
import time

from manila_lite.tests import nfs_client, waiting


class Writer(threading.Thread):
    """Thread that writes one file after the other; it mounts again when it is refused.

    ``acknowledged`` has the names of files that the server acknowledged; ``gap`` is the longest time in seconds
    between two of them. ``pause``: seconds that it waits after each file.
    """

    def __init__(self, address, export, netns, pause=0.0):
        super().__init__(daemon=True)
        self._pause = pause
        self._words = address, export
        self._netns = netns
        self._ending = threading.Event()
        self.acknowledged, self.refusals = [], []
        self.gap, self._last = 0.0, time.monotonic()
        self._number = 0
        self.start()

    def run(self):
        while not self._ending.is_set():
            self._session = session = nfs_client.Session(*self._words, netns=self._netns)
            try:
                while not self._ending.is_set() and self._write(session):
                    self._ending.wait(self._pause)
            finally:
                session.close()

    def _write(self, session):
        self._number += 1
        name = f'w{self._number}'
        worked, said = session.call('put', name, name)
        if not worked:
            self.refusals.append(said)
            return False
        now = time.monotonic()
        self.gap, self._last = max(self.gap, now - self._last), now
        self.acknowledged.append(name)
        return True

    def goes_on(self, more=5):
        """Wait until some more files are written.

        :raises TimeoutError: the client hangs.
        """
        wanted = len(self.acknowledged) + more
        try:
            waiting.until(lambda: len(self.acknowledged) >= wanted, 'a client writes')
        except waiting.Late:
            raise TimeoutError(
                f'a client writes no more after {len(self.acknowledged)} files: {self.refusals[-3:]}'
            ) from None

    def end(self):
        """Stop writing: after the present file, unless the server is gone, which a client waits for."""
        self._ending.set()
        self.join(waiting.LIMIT)
        if self.is_alive():
            self._session.kill()
        self.join(waiting.LIMIT)
