# SPDX-License-Identifier: Apache-2.0
"""What is done to a side, phase by phase; each returns samples by figure. And the figures that are made of them."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import cloud
import product
import report

from manila_lite.tests import waiting

#: Rows of a list in detail.
PAGE = 200
#: The sample that is the sum over the processes of a product.
SUM = 'own'
Samples = dict[tuple[str, str], list[float]]


@dataclasses.dataclass
class Amounts:
    """How often each thing is done in a round."""

    rounds: int
    alone: int  # shares, asked for by one client
    burst: int  # shares, asked for by eight clients
    single: int  # shares, each waited for before the next
    reads: int
    lists: int


def _used(phase: str, used: dict[str, float]) -> Samples:
    return {(phase, name): [value] for name, value in used.items()}


def _made(side: cloud.Side, shares: list[str]) -> None:
    """Wait until the shares are available."""
    waiting.until(
        lambda: side.database.count(shares, 'available') == len(shares),
        lambda: f'not available: {side.client.ask("GET", "/shares/detail?limit=20")}',
    )


def alone(side: cloud.Side, amounts: Amounts) -> Samples:
    """Ask for shares by one client, and wait for all of them."""
    count = amounts.alone
    with side.meter.each(count) as used:
        times, shares = product.timed(side.client, [product.Client.create] * count)
        _made(side, shares)
    side.shares += shares
    return {('alone', 'rate'): [count / sum(times) * 1e3]} | _used('alone', used)


def burst(side: cloud.Side, amounts: Amounts) -> Samples:
    """Ask for shares by eight clients, and wait for all of them."""
    count = amounts.burst
    with side.meter.each(count) as used:
        seconds, times, shares = product.crowd(side.clients, [product.Client.create] * count)
        _made(side, shares)
    side.shares += shares
    return {('burst', 'rate'): [count / seconds], ('burst', 'times'): times} | _used('burst', used)


def single(side: cloud.Side, amounts: Amounts) -> Samples:
    """Ask for one share after the other, waiting for each, and for a rule of it."""
    found: Samples = {('single', name): [] for name in ('accepted', 'available', 'rule')}
    for number in range(amounts.single):
        began = time.perf_counter()
        share = side.client.create()
        accepted = time.perf_counter()
        side.client.wait(f'/shares/{share}', 'share', 'available')
        available = time.perf_counter()
        granted = side.client.ask(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': f'10.0.0.{number % 250 + 1}'}},
        )['access']['id']
        side.client.wait(f'/share-access-rules/{granted}', 'access', 'active', 'state')
        times = (accepted - began, available - accepted, time.perf_counter() - available)
        for samples, seconds in zip(found.values(), times, strict=True):
            samples.append(seconds * 1e3)
        side.shares.append(share)
    return found


def _reads(
    side: cloud.Side, phase: str, path: str, count: int, client: product.Client | None = None
) -> Samples:
    """Read by one client, or by all eight."""
    jobs: Iterable[product.Job] = [lambda one: one.fetch('GET', path)] * count
    with side.meter.each(count) as used:
        if client:
            times = product.timed(client, jobs)[0]
            seconds = sum(times) / 1e3
        else:
            seconds, times, _ = product.crowd(side.clients, jobs)
    return {(phase, 'times'): times, (phase, 'rate'): [count / seconds]} | _used(phase, used)


def shows(side: cloud.Side, amounts: Amounts) -> Samples:
    """Show a share, by one client."""
    return _reads(side, 'show', f'/shares/{side.shares[0]}', amounts.reads, side.client)


def types(side: cloud.Side, amounts: Amounts) -> Samples:
    """List the share types, by eight clients."""
    return _reads(side, 'types', '/types', amounts.reads * 4)


def page(side: cloud.Side, phase: str, path: str, count: int, client: product.Client) -> Samples:
    """Read a page of shares in detail; times are microseconds per row."""
    rows = len(client.ask('GET', path)['shares'])
    return {
        key: [value if key[1] in ('statements', 'rate') else value / rows * 1e3 for value in values]
        for key, values in _reads(side, phase, path, count, client).items()
    }


def lists(side: cloud.Side, amounts: Amounts) -> Samples:
    """List shares in detail, by one client."""
    return page(side, 'list', f'/shares/detail?limit={PAGE}', amounts.lists, side.client)


def deletes(side: cloud.Side, amounts: Amounts) -> Samples:
    """Delete all shares that were made by eight clients, and wait until they are gone."""
    shares, side.shares = side.shares, []
    with side.meter.each(len(shares)) as used:
        jobs = [lambda client, share=share: client.fetch('DELETE', f'/shares/{share}') for share in shares]
        seconds, times, _ = product.crowd(side.clients, jobs)
        waiting.until(lambda: not side.database.count(shares, 'deleting'), 'the shares are deleted')
    return {('delete', 'rate'): [len(shares) / seconds], ('delete', 'times'): times} | _used('delete', used)


PHASES = (alone, burst, single, shows, types, lists, deletes)


class Figure(NamedTuple):
    """A line of the table: the samples of a phase, and how they make one value; ``least`` or ``most`` is the goal, as ratio."""

    what: str
    unit: str
    phase: str
    sample: str
    value: Callable[[Sequence[float]], float] = statistics.median
    least: float | None = None
    most: float | None = None

    def of(self, samples: Samples) -> float:
        """Return the value."""
        return self.value(samples[self.phase, self.sample])


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return report.percentile(list(values), 0.99)


def with_sums(samples: Samples) -> Samples:
    """Add the sums over the parts of the product."""
    for phase in {phase for phase, name in samples if name in cloud.PARTS}:
        parts = zip(*(samples[phase, name] for name in cloud.PARTS), strict=True)
        samples[phase, SUM] = [sum(values) for values in parts]
    return samples
