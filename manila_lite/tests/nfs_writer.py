# SPDX-License-Identifier: Apache-2.0
"""A client that writes without a pause, during changes at its server."""

import threading

from manila_lite.tests import waiting


class Writer(threading.Thread):
    """A client that stays mounted and writes one file after another until told to end.

    ``session``: that of the client, as ``nfs_client.Session``; it is closed at the end.
    """

    def __init__(self, session):
        super().__init__(daemon=True)
        self.session = session
        self.ending = threading.Event()
        self.written, self.failed = [], []
        self.busy = threading.Condition()
        self.start()

    def run(self):
        while not self.ending.is_set() and not self.failed:
            name = f'file{len(self.written)}'
            worked, said = self.session.call('write', name, name)
            with self.busy:
                (self.written if worked else self.failed).append(name if worked else said)
                self.busy.notify_all()

    def goes_on(self, more=3):
        """Wait until some more files are written, or a write failed.

        :raises TimeoutError: neither; it hangs.
        """
        with self.busy:
            wanted = len(self.written) + more
            if not self.busy.wait_for(lambda: len(self.written) >= wanted or self.failed, waiting.LIMIT):
                raise TimeoutError(f'a client hangs after {len(self.written)} files')

    def end(self):
        """Stop writing; return the failure."""
        self.ending.set()
        self.join(waiting.LIMIT)
        self.session.close()
        return self.failed
