# SPDX-License-Identifier: Apache-2.0
"""Clients that cost little, since they share the cores with what they measure: a socket for each request, and no parser."""

import collections
import concurrent.futures
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import product

_END = b'\r\n\r\n'


class Client(product.Client):
    """A client with a token, of an API that closes the connection after each answer, as uwsgi does."""

    def __init__(self, port: int, token: str):
        super().__init__(port, token=token)
        self._address = ('127.0.0.1', port)
        self._lines = ''.join(f'{name}: {value}\r\n' for name, value in self._headers.items())

    def fetch(self, method: str, path: str, body: dict | None = None) -> bytes:
        """Send a request that must succeed; return the body of the answer as it is."""
        sent = json.dumps(body).encode() if body is not None else b''
        head = (
            f'{method} /v2{path} HTTP/1.1\r\nHost: 127.0.0.1:{self._address[1]}\r\n{self._lines}'
            f'Connection: close\r\nContent-Length: {len(sent)}\r\n\r\n'
        )
        with socket.create_connection(self._address, timeout=120) as wire:
            wire.sendall(head.encode() + sent)
            status, text = _answer(wire)
        if status >= 400:
            raise RuntimeError(f'{method} {path}: {status} {text[:500]!r}')
        return text

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        """Send a request that must succeed; return the answer."""
        text = self.fetch(method, path, body)
        return json.loads(text) if text else {}


def _answer(wire: socket.socket) -> tuple[int, bytes]:
    """Return the status and the body: up to its length, so that the server's work after the answer is not waited for."""
    got = b''
    while _END not in got:
        got += _more(wire)
    head, _, text = got.partition(_END)
    lines = dict(line.lower().split(b':', 1) for line in head.split(b'\r\n')[1:])
    parts, missing = [text], int(lines.get(b'content-length', 0)) - len(text)
    while missing > 0:
        parts.append(_more(wire))
        missing -= len(parts[-1])
    return int(head.split(b' ', 2)[1]), b''.join(parts)


def _more(wire: socket.socket) -> bytes:
    if got := wire.recv(1 << 18):
        return got
    raise ConnectionError('the connection ended before the answer')


Job = Callable[[Any], Any]


def timed(client: product.Client, jobs: Iterable[Job]) -> tuple[list[float], list[Any]]:
    """Do one job after the other; return the milliseconds and the result of each."""
    times, results = [], []
    for job in jobs:
        began = time.perf_counter()
        results.append(job(client))
        times.append((time.perf_counter() - began) * 1e3)
    return times, results


def crowd(clients: Sequence[product.Client], jobs: Iterable[Job]) -> tuple[float, list[float], list[Any]]:
    """Have the clients do the jobs at once; return the seconds for all, and the milliseconds and the result of each."""
    waiting = collections.deque(jobs)

    def left() -> Iterable[Job]:
        with contextlib.suppress(IndexError):  # another client was quicker
            while True:
                yield waiting.popleft()

    with concurrent.futures.ThreadPoolExecutor(len(clients)) as threads:
        began = time.perf_counter()
        done = list(threads.map(lambda client: timed(client, left()), clients))
        seconds = time.perf_counter() - began
    return (
        seconds,
        [one for times, _ in done for one in times],
        [one for _, results in done for one in results],
    )


class Repeated:
    """A function that is called again and again in a thread until ``end``; ``done`` counts."""

    def __init__(self, act: Callable[[], None], pause: float = 0.0):
        self._enough = threading.Event()
        self.done = 0
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._calls = self._thread.submit(self._repeat, act, pause)

    def _repeat(self, act: Callable[[], None], pause: float) -> None:
        while not self._enough.wait(pause):
            act()
            self.done += 1

    def end(self) -> None:
        """Stop the calls; raise the error of the function, if it failed."""
        self._enough.set()
        self._calls.result()
