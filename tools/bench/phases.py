# SPDX-License-Identifier: Apache-2.0
"""What is done to a side, phase by phase; each returns samples by figure."""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable

import sides
import wire

#: Rows of a list in detail.
PAGE = 200
Samples = dict[tuple[str, str], list[float]]


@dataclasses.dataclass
class Amounts:
    """How often each thing is done in a round."""

    rounds: int
    alone: int      # shares, asked for by one client
    burst: int      # shares, asked for by eight clients
    single: int     # shares, each waited for before the next
    reads: int
    lists: int


def _used(phase: str, used: dict[str, float]) -> Samples:
    return {(phase, name): [value] for name, value in used.items()}


def until(check: Callable[[], bool], what: Callable[[], str], pause: float = 0.02, seconds: float = 180) -> None:
    """Wait until the check is true."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise RuntimeError(what())
        time.sleep(pause)


def _made(side: sides.Side, goal: int) -> None:
    """Wait until so many shares are available."""
    until(lambda: side.database.available() >= goal, lambda: f'not available: {side.client.ask("GET", "/shares/detail")}')


def _create(client: wire.Client) -> str:
    return client.create()


def alone(side: sides.Side, amounts: Amounts) -> Samples:
    """Ask for shares by one client, and wait for all of them."""
    count, before = amounts.alone, side.database.available()
    with side.meter.each(count) as used:
        times, shares = wire.timed(side.client, [_create] * count)
        _made(side, before + count)
    side.shares += shares
    return {('alone', 'rate'): [count / sum(times) * 1e3]} | _used('alone', used)


def burst(side: sides.Side, amounts: Amounts) -> Samples:
    """Ask for shares by eight clients, and wait for all of them."""
    count, before = amounts.burst, side.database.available()
    with side.meter.each(count) as used:
        seconds, times, shares = wire.crowd(side.clients, [_create] * count)
        _made(side, before + count)
    side.shares += shares
    return {('burst', 'rate'): [count / seconds], ('burst', 'times'): times} | _used('burst', used)


def single(side: sides.Side, amounts: Amounts) -> Samples:
    """Ask for one share after the other, waiting for each, and for a rule of it."""
    found: Samples = {('single', name): [] for name in ('accepted', 'available', 'rule')}
    for number in range(amounts.single):
        began = time.perf_counter()
        share = side.client.create()
        accepted = time.perf_counter()
        side.client.wait(f'/shares/{share}', 'share', 'available')
        available = time.perf_counter()
        granted = side.client.ask('POST', f'/shares/{share}/action', {'allow_access': {
            'access_type': 'ip', 'access_to': f'10.0.0.{number % 250 + 1}'}})['access']['id']
        side.client.wait(f'/share-access-rules/{granted}', 'access', 'active', 'state')
        times = (accepted - began, available - accepted, time.perf_counter() - available)
        for samples, seconds in zip(found.values(), times, strict=True):
            samples.append(seconds * 1e3)
        side.shares.append(share)
    return found


def _reads(side: sides.Side, phase: str, path: str, count: int, *, crowd: bool = False) -> Samples:
    jobs: Iterable[wire.Job] = [lambda client: client.fetch('GET', path)] * count
    with side.meter.each(count) as used:
        if crowd:
            seconds, times, _ = wire.crowd(side.clients, jobs)
        else:
            times = wire.timed(side.client, jobs)[0]
            seconds = sum(times) / 1e3
    return {(phase, 'times'): times, (phase, 'rate'): [count / seconds]} | _used(phase, used)


def shows(side: sides.Side, amounts: Amounts) -> Samples:
    """Show a share, by one client."""
    return _reads(side, 'show', f'/shares/{side.shares[0]}', amounts.reads)


def types(side: sides.Side, amounts: Amounts) -> Samples:
    """List the share types, by eight clients."""
    return _reads(side, 'types', '/types', amounts.reads * 4, crowd=True)


def lists(side: sides.Side, amounts: Amounts) -> Samples:
    """List shares in detail, by one client; all figures are microseconds per row."""
    path = f'/shares/detail?limit={PAGE}'
    rows = len(side.client.ask('GET', path)['shares'])
    return {key: [value / rows * (1 if key[1] in ('statements', 'rate') else 1e3) for value in values]
            for key, values in _reads(side, 'list', path, amounts.lists).items()}


def _delete(share: str, client: wire.Client) -> None:
    client.fetch('DELETE', f'/shares/{share}')


def deletes(side: sides.Side, amounts: Amounts) -> Samples:
    """Delete all shares by eight clients, and wait until they are gone."""
    count = len(side.shares)
    with side.meter.each(count) as used:
        seconds, times, _ = wire.crowd(side.clients, [functools.partial(_delete, share) for share in side.shares])
        until(lambda: not side.client.ask('GET', '/shares?limit=1')['shares'], lambda: 'shares are not deleted', 0.1)
    side.shares = []
    return {('delete', 'rate'): [count / seconds], ('delete', 'times'): times} | _used('delete', used)


PHASES = (alone, burst, single, shows, types, lists, deletes)
