# SPDX-License-Identifier: Apache-2.0
"""A raw NFS 4.0 client: each operation is sent as given, with any file handle, real or forged.

The forms are those of RFC 7530 and, for the calls beneath, RFC 5531.
"""

import os
import socket
import struct
from concurrent import futures

from manila_lite.tests import nfs_client, waiting

_PROGRAM, _VERSION, _COMPOUND = 100003, 4, 1
_AUTH_SYS, _LAST = 1, 0x80000000
#: In NFS 4.1 the answer to an open that gets no delegation.
_NONE_FOR_A_REASON = 3
#: Numbers of operations.
ACCESS, COMMIT, CREATE, GETATTR, GETFH, LINK, LOOKUP, LOOKUPP = 3, 5, 6, 9, 10, 11, 15, 16
LOCK, OPEN, OPEN_CONFIRM, SETCLIENTID, SETCLIENTID_CONFIRM = 12, 18, 20, 35, 36
EXCHANGE_ID, CREATE_SESSION, SEQUENCE, RECLAIM_COMPLETE = 42, 43, 53, 58
PUTFH, PUTROOTFH, READ, READDIR, READLINK, REMOVE, RENAME, SAVEFH, SETATTR, WRITE = (
    22,
    24,
    25,
    26,
    27,
    28,
    29,
    32,
    34,
    38,
)
#: The attribute that ``names`` and ``kind`` ask for: the type of a file.
_TYPE = 1 << 1
#: Names of statuses that tests expect; others are shown as numbers.
NAMES = {
    0: 'OK',
    1: 'PERM',
    2: 'NOENT',
    5: 'IO',
    13: 'ACCESS',
    17: 'EXIST',
    18: 'XDEV',
    20: 'NOTDIR',
    21: 'ISDIR',
    22: 'INVAL',
    30: 'ROFS',
    63: 'NAMETOOLONG',
    66: 'NOTEMPTY',
    69: 'DQUOT',
    70: 'STALE',
    10001: 'BADHANDLE',
    10006: 'SERVERFAULT',
    10020: 'NOFILEHANDLE',
    10029: 'SYMLINK',
    10013: 'GRACE',
    10010: 'DENIED',
    10011: 'EXPIRED',
    10022: 'STALE_CLIENTID',
    10023: 'STALE_STATEID',
    10025: 'BAD_STATEID',
    10033: 'NO_GRACE',
    10034: 'RECLAIM_BAD',
    10052: 'BADSESSION',
    10054: 'COMPLETE_ALREADY',
}


class Refused(Exception):
    """The server refused an operation; ``name`` is its answer."""

    def __init__(self, status):
        self.name = NAMES.get(status, str(status))
        super().__init__(f'NFS4ERR_{self.name}')


def opaque(data):
    """Return bytes in wire format: length, content, zeros up to a multiple of four."""
    return struct.pack('>I', len(data)) + data + bytes(-len(data) % 4)


def name(text):
    """Return a file's name in wire format."""
    return opaque(text if isinstance(text, bytes) else text.encode())


class Answer:
    """A reply of the server, read from its front."""

    def __init__(self, data):
        self.data = data
        self._at = 0

    def take(self, form):
        """Return the next numbers, by a format of ``struct``."""
        values = struct.unpack_from('>' + form, self.data, self._at)
        self._at += struct.calcsize('>' + form)
        return values

    def number(self):
        """Return the next number."""
        return self.take('I')[0]

    def opaque(self):
        """Return the next bytes."""
        length = self.number()
        content = self.data[self._at : self._at + length]
        self._at += length + -length % 4
        return content


def _status(answer):
    """Skip the bitmap, and return the attributes."""
    for _ in range(answer.number()):
        answer.number()
    return answer.opaque()


def _names(answer):
    names = []
    answer.take('8s')
    while answer.number():
        answer.take('Q')
        names.append(answer.opaque())
        _status(answer)
    return names


def _opened(answer):
    """Return the stateid and the flags of an open file."""
    stateid, flags = answer.take('16sIQQI')[::4]
    for _ in range(answer.number()):
        answer.number()
    if answer.number() not in (0, _NONE_FOR_A_REASON):
        raise ConnectionError('a delegation, which was not asked for')
    return stateid, flags


def _known_as(answer):
    """Return the number of a client of NFS 4.1, and the first number of its calls for sessions."""
    number, sequence, _, _, _ = answer.take('QIIIQ')
    for _ in range(2):
        answer.opaque()
    if answer.number():
        raise ConnectionError('the server describes itself, which was not expected')
    return number, sequence


#: Readers of results, for operations that have one.
_READERS = {
    GETFH: Answer.opaque,
    GETATTR: _status,
    READLINK: Answer.opaque,
    READDIR: _names,
    COMMIT: lambda answer: answer.take('8s'),
    ACCESS: lambda answer: answer.take('II'),
    READ: lambda answer: (answer.number(), answer.opaque())[1],
    WRITE: lambda answer: answer.take('II8s')[0],
    CREATE: lambda answer: (answer.take('IQQ'), [answer.number() for _ in range(answer.number())])[0],
    REMOVE: lambda answer: answer.take('IQQ'),
    LINK: lambda answer: answer.take('IQQ'),
    RENAME: lambda answer: answer.take('IQQIQQ'),
    SETCLIENTID: lambda answer: answer.take('Q8s'),
    OPEN: _opened,
    OPEN_CONFIRM: lambda answer: answer.take('16s')[0],
    LOCK: lambda answer: answer.take('16s')[0],
    EXCHANGE_ID: _known_as,
    CREATE_SESSION: lambda answer: answer.take('16sII24x4x24x4x')[0],
    SEQUENCE: lambda answer: answer.take('16sIIIII')[0],
    SETATTR: lambda answer: [answer.number() for _ in range(answer.number())],
}


def connected(address, port, netns, seconds):
    """Return a socket in the namespace. It stays where it was made, and only the thread that makes it has entered."""

    def connect():
        if netns:
            nfs_client.enter(netns)
        return socket.create_connection((address, port), timeout=seconds)

    with futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(connect).result()


class Client:
    """A connection from a network namespace; ``uid`` and ``gid`` are the identity that it claims.

    ``seconds``: for the connection, and for each answer.
    """

    #: The minor version of NFS 4.
    minor = 0

    def __init__(self, address, port=2049, *, netns=None, uid=0, gid=0, seconds=waiting.LIMIT):
        self._socket = connected(address, port, netns, seconds)
        self._who = opaque(struct.pack('>I', 0) + name('attacker') + struct.pack('>III', uid, gid, 0))

    def close(self):
        """Close the connection."""
        self._socket.close()

    def wait_for_answers(self, seconds):
        """Wait for each answer no longer than so many seconds from now on."""
        self._socket.settimeout(seconds)

    def compound(self, *operations):
        """Send operations, each a number with its arguments as bytes. Return the result of each, or None.

        :raises Refused: one was refused; the server does not look at later ones.
        """
        body = opaque(b'') + struct.pack('>II', self.minor, len(operations))
        body += b''.join(struct.pack('>I', number) + arguments for number, arguments in operations)
        answer = self._call(body)
        status, _, count = answer.number(), answer.opaque(), answer.number()
        results = []
        for _ in range(count):
            number, said = answer.take('II')
            if said:
                raise Refused(said)
            results.append(_READERS[number](answer) if number in _READERS else None)
        if status:
            raise Refused(status)
        return results

    def _call(self, body):
        xid = int.from_bytes(os.urandom(4))
        call = struct.pack('>IIIIII', xid, 0, 2, _PROGRAM, _VERSION, _COMPOUND)
        call += struct.pack('>I', _AUTH_SYS) + self._who + struct.pack('>II', 0, 0) + body
        self._socket.sendall(struct.pack('>I', _LAST | len(call)) + call)
        answer = Answer(self._record())
        if answer.take('III') != (xid, 1, 0):
            raise ConnectionError('the call was refused')
        answer.number()
        answer.opaque()
        if accepted := answer.number():
            raise ConnectionError(f'the call was not accepted: {accepted}')
        return answer

    def _record(self):
        record, last = b'', 0
        while not last:
            head = struct.unpack('>I', self._receive(4))[0]
            last = head & _LAST
            record += self._receive(head & ~_LAST)
        return record

    def _receive(self, count):
        received = b''
        while len(received) < count:
            if not (piece := self._socket.recv(count - len(received))):
                raise ConnectionError('the server hung up')
            received += piece
        return received

    # Operations for tests --------------------------------------------------------------------------

    def become(self, who, verifier=bytes(8)):
        """Make the server know a client of this name, for the time of its lease. Return its number there."""
        callback = struct.pack('>I', 0) + name('tcp') + name('0.0.0.0.0.0') + struct.pack('>I', 0)
        [(number, confirm)] = self.compound((SETCLIENTID, verifier + opaque(who) + callback))
        self.compound((SETCLIENTID_CONFIRM, struct.pack('>Q', number) + confirm))
        return number

    def reclaimed(self):
        """Do nothing: a server does not ask a client of NFS 4.0 whether it has its state back."""

    def walk(self, *names):
        """Return the handle of a path, from the root of all exports."""
        return self.compound((PUTROOTFH, b''), *((LOOKUP, name(word)) for word in names), (GETFH, b''))[-1]

    def lookup(self, handle, *names):
        """Return the handle of a path, from that directory."""
        return self.compound(
            (PUTFH, opaque(handle)), *((LOOKUP, name(word)) for word in names), (GETFH, b'')
        )[-1]

    def parent(self, handle):
        """Return the handle of the parent directory."""
        return self.compound((PUTFH, opaque(handle)), (LOOKUPP, b''), (GETFH, b''))[-1]

    def kind(self, handle):
        """Return the number of the file's type; 1 is a file, 2 a directory."""
        attributes = self.compound((PUTFH, opaque(handle)), (GETATTR, struct.pack('>II', 1, _TYPE)))[-1]
        return int.from_bytes(attributes[:4])

    def names(self, handle):
        """Return the names in a directory, at most some thousand."""
        wanted = struct.pack('>Q8sIIII', 0, bytes(8), 65536, 65536, 1, _TYPE)
        return self.compound((PUTFH, opaque(handle)), (READDIR, wanted))[-1]

    def read(self, handle, count=4096, offset=0):
        """Return a part of a file, without opening it."""
        return self.compound((PUTFH, opaque(handle)), (READ, bytes(16) + struct.pack('>QI', offset, count)))[
            -1
        ]

    def write(self, handle, data, offset=0, *, stable=True):
        """Write data into the file, and to its disk if ``stable``; without opening it."""
        where = struct.pack('>QI', offset, 2 if stable else 0)
        return self.compound((PUTFH, opaque(handle)), (WRITE, bytes(16) + where + opaque(data)))[-1]

    def commit(self, handle):
        """Write all of the file to the disk."""
        return self.compound((PUTFH, opaque(handle)), (COMMIT, struct.pack('>QI', 0, 0)))

    def space(self, handle):
        """Return the bytes that are available, free and total, as ``df`` shows them."""
        wanted = struct.pack('>III', 2, 0, 0b111 << 10)
        return struct.unpack('>QQQ', self.compound((PUTFH, opaque(handle)), (GETATTR, wanted))[-1])

    def truncate(self, handle):
        """Empty the file."""
        size = struct.pack('>II', 1, 1 << 4) + opaque(struct.pack('>Q', 0))
        return self.compound((PUTFH, opaque(handle)), (SETATTR, bytes(16) + size))

    def make(self, handle, word):
        """Make a directory."""
        return self.compound(
            (PUTFH, opaque(handle)), (CREATE, struct.pack('>I', 2) + name(word) + struct.pack('>II', 0, 0))
        )

    def remove(self, handle, word):
        """Remove a name from the directory."""
        return self.compound((PUTFH, opaque(handle)), (REMOVE, name(word)))


#: Of the calls of a session: no padding, sizes of a call and of an answer, operations in a call, calls at once, no RDMA.
_CHANNEL = struct.pack('>IIIIIII', 0, 1 << 20, 1 << 20, 1 << 12, 16, 1, 0)


class Client41(Client):
    """A connection of NFS 4.1: its operations are in a session, one call at a time (RFC 8881)."""

    minor = 1

    def __init__(self, *where, **more):
        super().__init__(*where, **more)
        self._session, self._calls = None, 0

    def compound(self, *operations):
        """See ``Client``."""
        if self._session is None:
            return super().compound(*operations)
        self._calls += 1
        turn = self._session + struct.pack('>IIII', self._calls, 0, 0, 0)
        return super().compound((SEQUENCE, turn), *operations)[1:]

    def become(self, who, verifier=bytes(8)):
        """Make the server know a client of this name, and begin its session. Return its number there."""
        self._session, self._calls = None, 0
        [(number, sequence)] = self.compound(
            (EXCHANGE_ID, verifier + opaque(who) + struct.pack('>III', 0, 0, 0))
        )
        how = struct.pack('>QII', number, sequence, 0) + _CHANNEL * 2 + struct.pack('>III', 1, 1, 0)
        [self._session] = self.compound((CREATE_SESSION, how))
        return number

    def reclaimed(self):
        """Tell the server that this client has all its state back, or had none."""
        try:
            self.compound((RECLAIM_COMPLETE, struct.pack('>I', 0)))
        except Refused as refused:
            if refused.name != 'COMPLETE_ALREADY':
                raise
