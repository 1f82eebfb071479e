# SPDX-License-Identifier: Apache-2.0
"""Clients of events, on plain sockets: what they read is what was sent."""

import json
import socket

from manila_lite.tests import waiting


class Stream:
    """A client of a stream. ``events`` are those that came, as (event, data); ``position`` is the last id; ``raw`` all of it.
    ``receive``: bytes that the kernel keeps for it."""

    def __init__(self, port, token, position=None, query='', accept='text/event-stream', receive=None):
        self.socket = socket.socket()
        self.socket.settimeout(waiting.LIMIT)
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.connect(('127.0.0.1', port))
        more = f'Last-Event-ID: {position}\r\n' if position else ''
        self.socket.sendall(
            f'GET /v2/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Auth-Token: {token}\r\n'
            'X-OpenStack-Manila-API-Version: 2.99\r\n'
            f'Accept: {accept}\r\n{more}\r\n'.encode()
        )
        self.events, self.position, self.comments = [], None, 0
        self.is_over = False
        self._wire, self._text, self.raw = b'', b'', b''
        while b'\r\n\r\n' not in self._wire:
            if not self._receive():
                raise ConnectionResetError('no answer')
        head, _, self._wire = self._wire.partition(b'\r\n\r\n')
        first, *lines = head.decode().split('\r\n')
        self.status = int(first.split()[1])
        self.headers = dict(line.lower().split(': ', 1) for line in lines)
        self._unchunk()
        self._parse()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _receive(self):
        data = self.socket.recv(1 << 16)
        self.is_over = self.is_over or not data
        self._wire += data
        return bool(data)

    def read(self, seconds=5.0):
        """Read what comes next, and parse it. Return whether anything came."""
        self.socket.settimeout(seconds)
        try:
            came = self._receive()
        except TimeoutError:
            return False
        self._unchunk()
        self._parse()
        return came

    def _unchunk(self):
        if 'transfer-encoding' not in self.headers:
            return
        while b'\r\n' in self._wire:
            size, _, rest = self._wire.partition(b'\r\n')
            length = int(size, 16)
            if len(rest) < length + 2:
                return
            self._text += rest[:length]
            self.raw += rest[:length]
            self._wire = rest[length + 2 :]
            self.is_over = self.is_over or not length

    def _parse(self):
        while b'\n\n' in self._text:
            block, _, self._text = self._text.partition(b'\n\n')
            fields = dict(line.split(': ', 1) for line in block.decode().split('\n'))
            self.comments += '' in fields
            self.position = fields.get('id', self.position)
            if 'data' in fields:
                self.events.append((fields['event'], json.loads(fields['data'])))

    def until(self, wanted, what):
        """Read until ``wanted(event, data)`` holds for an event; return its data."""

        def found():
            for event, data in self.events:
                if wanted(event, data):
                    return [data]
            if self.is_over:
                raise AssertionError(f'the stream is over: {self.events}')
            self.read(0.5)
            return None

        return waiting.until(found, lambda: f'{what}: {self.events}')[0]

    def begun(self):
        """Read the position that comes first; return this stream."""
        if self.status != 200:
            raise AssertionError(f'refused with {self.status}')
        waiting.until(lambda: self.position or (self.read(0.5), self.position)[1], 'no position')
        return self

    def document(self):
        """Return what came as one JSON document."""
        return json.loads(self._text)


def status_of(resource_id, *statuses):
    """Return a condition: an event says that the resource has one of these statuses."""
    return lambda event, data: (
        event == 'status' and data['resource_id'] == resource_id and data['status'] in statuses
    )
