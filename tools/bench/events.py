#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that listen to events at one API process: its processor time for each of them, and for each event that each gets.

The baseline: the same process with the same changes, while nobody listens.
"""

import contextlib
import selectors
import socket
import sys
import time

import product
import report

_REQUEST = 'GET /v2/events HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Auth-Token: u:p:member,reader\r\n\r\n'
#: Changes in a second, each of another share.
_CHANGES = 20


class Listeners:
    """Connections of so many clients of one project."""

    def __init__(self, port: int, number: int, stack: contextlib.ExitStack):
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self.events = 0
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(('127.0.0.1', port), timeout=60))
            one.sendall(_REQUEST.encode())
            if b' 200 ' not in one.recv(1 << 16).partition(b'\r\n')[0]:
                raise RuntimeError('a client may not listen')
            self._selector.register(one, selectors.EVENT_READ)

    def read(self, until: float) -> None:
        """Read and count events until that time of the monotonic clock."""
        while (left := until - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                self.events += key.fileobj.recv(1 << 18).count(b'\ndata: ')  # type: ignore[union-attr]


def watch(
    made: product.Product, process, number: int, shares: list[str], rounds: int, *, quiet: bool
) -> tuple[float, int]:
    """Return the processor time of the process while so many clients listen for ``rounds`` seconds, and the events they got.

    ``quiet``: nothing changes.
    """
    client = made.client()
    with contextlib.ExitStack() as stack:
        listeners = Listeners(made.port, number, stack)
        listeners.read(time.monotonic() + 2)  # the first look is not counted
        listeners.events = 0
        began, begin = product.processor_time(process), time.monotonic()
        for turn in range(rounds):
            for share in () if quiet else shares:
                client.ask('PUT', f'/shares/{share}', {'share': {'display_name': f'round {turn}'}})
            listeners.read(begin + turn + 1)
        listeners.read(time.monotonic() + 2)
        return product.processor_time(process) - began, listeners.events


def measure(figures: report.Report) -> None:
    """Add the figures."""
    number, rounds = figures.pick(20, 500, 500), figures.pick(3, 10, 30)
    with product.Product() as made:
        with made.config.open('a') as config:
            config.write(
                f'[events]\nmax_listeners = {number}\nmax_listeners_per_project = {number}\nlistener_time = 3600\n'
            )
        process = made.start('all_in_one')
        made.ready()
        client = made.client()
        shares = [client.create() for _ in range(_CHANGES)]
        for share in shares:
            client.wait(f'/shares/{share}', 'share', 'available', pause=0.05)
        nobody, _ = watch(made, process, 0, shares, rounds, quiet=False)
        idle, _ = watch(made, process, 0, shares, rounds, quiet=True)
        one, _ = watch(made, process, 1, shares, rounds, quiet=True)
        quiet, _ = watch(made, process, number, shares, rounds, quiet=True)
        busy, events = watch(made, process, number, shares, rounds, quiet=False)
    seconds = rounds + 2
    base = figures.add(f'{_CHANGES} changes a second, nobody listens', nobody / seconds * 100, '% of a core')
    figures.add(f'{number} clients listen', busy / seconds * 100, '% of a core', base)
    figures.add('nothing changes, nobody listens', idle / seconds * 100, '% of a core')
    figures.add('nothing changes, one client listens', one / seconds * 100, '% of a core')
    figures.add(f'nothing changes, {number} clients listen', quiet / seconds * 100, '% of a core')
    figures.add(
        'each client, nothing changes',
        max(quiet - one, 0.0) / seconds / number * 1e6,
        'us of processor time a second',
    )
    figures.add(
        'each event of each client',
        (busy - nobody - quiet + idle) / max(events, 1) * 1e6,
        'us of processor time',
    )
    figures.note(f'{events:,} events were read: {events / number:.0f} by each client.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
