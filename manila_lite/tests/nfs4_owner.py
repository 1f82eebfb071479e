# SPDX-License-Identifier: Apache-2.0
"""An NFS client (4.0 or 4.1) that has a file open and locked, and goes on with both when its server comes up elsewhere.

It does what a kernel does: it connects again, asks for its open and its lock back while the server lets clients reclaim
them, and repeats the call that was not answered.
"""

import contextlib
import os
import struct
import threading
import time

from manila_lite.tests import waiting
from manila_lite.tests.security import nfs4

#: Length of each record in the file.
RECORD = 16
#: Seconds for a connection, and for an answer.
_REACHED, _PATIENCE = 0.25, 1.0
_PORT = 2049
_PAUSE = 0.05
_WRITE_SHARE, _WRITE_LOCK, _CONFIRM, _ALL, _SYNC = 2, 2, 2, 0xFFFFFFFFFFFFFFFF, 2
#: Seconds without an answer that count as a pause: a planned switch is over within one.
PAUSED = 0.25
#: Refusals that mean that the server does not know this client's state.
_UNKNOWN = ('STALE_CLIENTID', 'STALE_STATEID', 'EXPIRED', 'BAD_STATEID')


class Owner:
    """The state of one client of NFS 4.0 at one server: a file that it opened for writing and locked as a whole."""

    _version = nfs4.Client

    def __init__(self, address, netns, directory, file):
        self._words = address, netns
        self._way = directory.strip('/').split('/')
        self._file = file
        self._name = os.urandom(8).hex().encode()
        self._verifier = os.urandom(8)
        self._client = self._handle = self._lock = None
        self._sequence = 0
        #: What each attempt to have the state back ended with.
        self.reclaims = []

    def take(self):
        """Open the file and lock it, for the first time."""
        self._connect(waiting.LIMIT)  # a late answer would leave a lock that nobody knows
        directory = self._client.walk(*self._way)
        how = struct.pack('>III', 1, 0, 0) + nfs4.opaque(b'') + struct.pack('>I', 0) + nfs4.name(self._file)
        self._open(directory, how, reclaim=0)
        self._client.wait_for_answers(_PATIENCE)

    def write(self, data, offset):
        """Write the data to the server's disk, under the lock.

        :raises OSError: no answer. ``nfs4.Refused``: a refusal.
        """
        if self._client is None:
            self._connect()
        where = self._lock + struct.pack('>QI', offset, _SYNC) + nfs4.opaque(data)
        self._client.compound((nfs4.PUTFH, nfs4.opaque(self._handle)), (nfs4.WRITE, where))

    def take_again(self):
        """Have the open and the lock back."""
        try:
            self._open(self._handle, struct.pack('>III', 0, 1, 0), reclaim=1)
        except nfs4.Refused as refused:
            self.reclaims.append(refused.name)
            raise
        self.reclaims.append('OK')

    def hang_up(self):
        """Close the connection, if there is one."""
        if self._client is not None:
            self._client.close()
        self._client = None

    def _connect(self, seconds=_PATIENCE):
        address, netns = self._words
        nfs4.connected(address, _PORT, netns, _REACHED).close()
        self._client = self._version(address, netns=netns, seconds=seconds)

    def _next(self):
        self._sequence += 1
        return struct.pack('>I', self._sequence)

    def _open(self, place, how, reclaim):
        self._sequence = 0
        who = struct.pack('>Q', self._client.become(self._name, self._verifier)) + nfs4.opaque(self._name)
        if not reclaim:
            self._client.reclaimed()
        opened = self._client.compound(
            (nfs4.PUTFH, nfs4.opaque(place)),
            (nfs4.OPEN, self._next() + struct.pack('>II', _WRITE_SHARE, 0) + who + how),
            (nfs4.GETFH, b''),
        )
        (stateid, flags), self._handle = opened[1:]
        file = (nfs4.PUTFH, nfs4.opaque(self._handle))
        if flags & _CONFIRM:
            stateid = self._client.compound(file, (nfs4.OPEN_CONFIRM, stateid + self._next()))[-1]
        lock = (
            struct.pack('>IIQQI', _WRITE_LOCK, reclaim, 0, _ALL, 1)
            + self._next()
            + stateid
            + struct.pack('>I', 0)
            + who
        )
        self._lock = self._client.compound(file, (nfs4.LOCK, lock))[-1]
        if reclaim:
            self._client.reclaimed()


class Owner41(Owner):
    """The same for NFS 4.1: each connection has a session, and the server hears when the client has its state back."""

    _version = nfs4.Client41

    def _connect(self, seconds=_PATIENCE):
        super()._connect(seconds)
        self._client.become(self._name, self._verifier)


class Writer(threading.Thread):
    """A thread that appends one record after the other; each goes to the server's disk before it is answered.

    ``acknowledged`` counts the records that were answered. ``gaps`` has (seconds, monotonic time of its end) of each pause
    between two answers that was longer than ``PAUSED``. ``refusals`` has all refusals but those of the grace period.
    """

    def __init__(self, address, netns, directory, file='log', pause=0.02, version=Owner):
        super().__init__(daemon=True)
        self.file = file
        self._owner = version(address, netns, directory, file)
        self._pause = pause
        self._ending = threading.Event()
        self.acknowledged, self.gaps, self.refusals = 0, [], []
        self.reclaims = self._owner.reclaims
        self._owner.take()
        self.start()

    def run(self):
        last = time.monotonic()
        while not self._ending.wait(self._pause):
            if not self._write():
                continue
            now = time.monotonic()
            if now - last > PAUSED:
                self.gaps.append((now - last, now))
            last = now
            self.acknowledged += 1
        self._owner.hang_up()

    def _write(self):
        try:
            self._owner.write(record(self.acknowledged), self.acknowledged * RECORD)
        except OSError:
            self._owner.hang_up()
        except nfs4.Refused as refused:
            if refused.name in _UNKNOWN:
                self._take_again()
            elif refused.name != 'GRACE':
                self.refusals.append(refused.name)
        else:
            return True
        return False

    def _take_again(self):
        try:
            self._owner.take_again()
        except OSError:
            self._owner.hang_up()
        except nfs4.Refused:
            self._ending.wait(_PAUSE)

    @property
    def longest(self):
        """The longest pause between two answers, in seconds; 0 if none was longer than ``PAUSED``."""
        return max((seconds for seconds, _ in self.gaps), default=0.0)

    def goes_on(self, more=5, seconds=120):
        """Wait until some more records are written."""
        wanted = self.acknowledged + more
        waiting.until(
            lambda: self.acknowledged >= wanted or not self.is_alive(),
            lambda: f'{self.acknowledged} records, {self.refusals[-3:]}, {self.reclaims[-3:]}',
        )
        if self.acknowledged < wanted:
            raise AssertionError(f'the writer ended after {self.acknowledged} records')

    def end(self):
        """Stop writing."""
        self._ending.set()
        self.join(waiting.LIMIT)


def record(number):
    """Return the record with a number."""
    return f'{number:0{RECORD - 1}d}\n'.encode()


def missing(content, count):
    """Return the numbers below ``count`` whose record is not in the content."""
    return [
        number
        for number in range(count)
        if content[number * RECORD : (number + 1) * RECORD] != record(number)
    ]


@contextlib.contextmanager
def writing(address, netns, directory, **more):
    """Write as long as the context lasts."""
    writer = Writer(address, netns, directory, **more)
    try:
        yield writer
    finally:
        writer.end()
