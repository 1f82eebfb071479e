# SPDX-License-Identifier: Apache-2.0
"""Loans of client machines to tests of another environment: JSON lines over a Unix socket.

Each line is ``[call, words...]``, and the answer is ``{"value": ...}`` or ``{"error": text}``.
"""

import json
import queue
import socketserver
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fixtures

from manila_lite.tests.conformance.machines import Machine
from manila_lite.tests.services import daemon


class Lender(fixtures.Fixture):
    """A server at the socket ``path`` that lends each machine to one test at a time."""

    def __init__(self, path: Path, machines: Sequence[Machine]) -> None:
        super().__init__()
        self.path = path
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._machines = machines
        self._calls = {'lend': self._lend, 'run': self._run, 'give_back': self._give_back}

    def _setUp(self) -> None:
        for number, _ in enumerate(self._machines):
            self._free.put(number)
        server = _Server(str(self.path), _Answers)
        server.answer = self._answer
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for end in (server.server_close, thread.join, server.shutdown):
            self.addCleanup(end)

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            call, *words = json.loads(line)
            return {'value': self._calls[call](*words)}
        except (AssertionError, LookupError, queue.Empty, daemon.Broken) as why:
            return {'error': f'{type(why).__name__}: {why}'}

    def _lend(self) -> dict[str, Any]:
        number = self._free.get(timeout=1)
        return {
            'number': number,
            'addresses': [address.partition('/')[0] for address in self._machines[number].addresses],
        }

    def _run(self, number: int, command: str) -> dict[str, Any]:
        return self._machines[number].run(command)

    def _give_back(self, number: int) -> None:
        self._machines[number].clean()
        self._free.put(number)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    answer: Any


class _Answers(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(json.dumps(self.server.answer(line)).encode() + b'\n')
