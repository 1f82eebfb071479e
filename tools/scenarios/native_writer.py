# SPDX-License-Identifier: Apache-2.0
"""A native client of CephFS that writes all the time, while something happens to the cluster or to its access."""

import threading
import time


class Writer(threading.Thread):
    """A native client that writes one file after another, each synced, until it is refused or told to end.

    ``gap``: the longest time in seconds between two files.
    """

    def __init__(self, client):
        super().__init__(daemon=True)
        self._client = client
        self._ending = threading.Event()
        self.written, self.failed = [], []
        self.gap = 0.0
        self.start()

    def run(self):
        while not self._ending.is_set() and not self.failed:
            name, began = f'log{len(self.written):05}', time.monotonic()
            try:
                self._client.write(name, name)
            except OSError as bad:
                self.failed.append(bad.strerror)
            else:
                self.written.append(name)
                self.gap = max(self.gap, time.monotonic() - began)

    def goes_on(self, more=3):
        """Wait until some more files are written, or one is refused.

        :raises TimeoutError: neither; it hangs.
        """
        wanted, end = len(self.written) + more, time.monotonic() + 60
        while len(self.written) < wanted and not self.failed:
            if time.monotonic() > end:
                raise TimeoutError(f'a native client hangs after {len(self.written)} files')
            time.sleep(0.02)

    def end(self):
        """Stop writing; return the failure."""
        self._ending.set()
        self.join(60)
        return self.failed
