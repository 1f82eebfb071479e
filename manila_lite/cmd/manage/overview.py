# SPDX-License-Identifier: Apache-2.0
"""The present work of a service, in figures and words: operations, pools, services and bad requests, from their rows."""

import collections
import dataclasses
import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_utils import timeutils

from manila_lite import context
from manila_lite.api.events.audience import Audience
from manila_lite.api.v2.operations import OPERATION
from manila_lite.cmd.manage.watch import fraction, time_left, to_gib
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import overview, pool_reports, request_notes, services

#: Operations that are looked at, at most.
MOST = 200
#: Requests of the last hour that are shown, at most.
WORST = 5
#: Seconds for which ended operations are counted, as the words for them; the longest is that of parked ones.
PERIODS = {'minute': 60, 'hour': 3600}
#: Seconds of the past from which the rate of a copy is computed.
_WINDOW = 30.0

Line = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Overview:
    """A service at a time. ``ended``: how many operations ended in each of ``PERIODS``, by state. ``rate``: MiB/s.
    ``bad``: how many requests were slow, and failed, in the last hour; ``requests``: the worst of them.

    The lines have texts by head. Those of operations also have ``percent``, those of pools ``used`` (percent, or None if that
    is unknown), and all of them ``is_bad``.
    """

    at: datetime.datetime
    running: int
    waiting: int
    ended: Mapping[str, Mapping[str, int]]
    rate: float
    operations: Sequence[Line]
    pools: Sequence[Line]
    services: Sequence[Line]
    bad: request_notes.Counts
    requests: Sequence[Line]

    @property
    def summary(self) -> tuple[str, ...]:
        """The figures as lines."""
        now = (
            f'{self.at:%Y-%m-%d %H:%M:%S} UTC',
            f'operations: {self.running} running, {self.waiting} waiting',
            f'copying {self.rate:.1f} MiB/s',
        )
        ended = (
            f'last {name}: {", ".join(f"{counts.get(state, 0)} {state}" for state in rows.ENDED)}'
            for name, counts in self.ended.items()
        )
        return (
            '   '.join(now),
            '   '.join(ended),
            f'requests in the last hour: {self.bad.slow} slow, {self.bad.failed} failed (5xx)',
        )


class OverviewReader:
    """Looks at the rows of a service, and knows those of the looks before."""

    def __init__(self, given: context.Services):
        self._db, self._down = given.db, given.conf.service_down_time
        self._clocks = given.conf.operations.max_clock_difference
        self._reader = Audience.operator(given)
        self._rates: dict[str, Rate] = {}

    def read(self) -> Overview:
        """Return what there is now."""
        now = timeutils.utcnow()
        since = {name: now - datetime.timedelta(seconds=seconds) for name, seconds in PERIODS.items()}
        with self._db.reader() as conn:
            running, waiting = overview.count_open(conn)
            ended = {name: overview.count_ended(conn, begin) for name, begin in since.items()}
            found = overview.list_operations(conn, min(since.values()), MOST)
            pools, all_services = pool_reports.list_pools(conn), services.list_services(conn)
            bad, worst = request_notes.count(conn), request_notes.list_worst(conn, WORST)
        shown = OPERATION.render_all(found, self._reader)
        rates = self._measure(shown, now)
        return Overview(
            now,
            running,
            waiting,
            ended,
            sum(filter(None, rates.values())),
            [_operation(one, rates[one['id']], now) for one in shown],
            [self._pool(row) for row in pools],
            sorted((self._service(row) for row in all_services), key=lambda line: not line['is_bad']),
            bad,
            [_request(row, now) for row in worst],
        )

    def _measure(self, shown: Sequence[Line], now: datetime.datetime) -> dict[str, float | None]:
        self._rates = {one['id']: self._rates.get(one['id']) or Rate() for one in shown}
        return {one['id']: self._rates[one['id']].add(now, one['progress']['bytes_done']) for one in shown}

    def _pool(self, row: Any) -> Line:
        is_finite = math.isfinite(row.total_gb) and math.isfinite(row.free_gb) and row.total_gb > 0
        promised = row.provisioned_gb + row.claimed_gb
        is_up = services.is_up(row, self._down)
        return {
            'pool': row.host,
            'used': 100 * (row.total_gb - row.free_gb) / row.total_gb if is_finite else None,
            'GiB used': fraction(row.total_gb - row.free_gb, row.total_gb, '').strip()
            if is_finite
            else 'unknown',
            'GiB promised': f'{promised:.1f} ({promised / row.total_gb:.0%})'
            if is_finite
            else f'{promised:.1f}',
            'backend': _state(is_up=is_up, disabled=row.disabled),
            'is_bad': not is_up,
        }

    def _service(self, row: Any) -> Line:
        is_up, fault = services.is_up(row, self._down), services.clock_fault(row, self._down, self._clocks)
        ahead = services.clock_ahead_of(row)
        return {
            'service': row.binary,
            'host': row.host,
            'zone': row.zone or '',
            'state': _state(is_up=is_up, disabled=row.disabled),
            'heartbeat': _age(row.heartbeat_at, row.as_of),
            'clock': '' if ahead is None else f'{ahead:+.1f} s',
            'release': services.release_of(row) or '',
            'reason': fault or row.disabled_reason or '',
            'is_bad': not is_up or bool(fault),
        }


class Rate:
    """The rate of a copy, from the bytes that were seen at times."""

    def __init__(self) -> None:
        self._seen: collections.deque[tuple[datetime.datetime, int]] = collections.deque()

    def add(self, now: datetime.datetime, done: int | None) -> float | None:
        """Return the rate in MiB/s of the last half minute; None if it is not known yet."""
        if done is None:
            return None
        if self._seen and done < self._seen[-1][1]:  # it began anew
            self._seen.clear()
        self._seen.append((now, done))
        while (now - self._seen[0][0]).total_seconds() > _WINDOW:
            self._seen.popleft()
        began, first = self._seen[0]
        took = (now - began).total_seconds()
        return (done - first) / took / (1 << 20) if took > 0 else None


def _operation(one: Line, rate: float | None, now: datetime.datetime) -> Line:
    known = one['progress']
    figures = fraction(to_gib(known['bytes_done']), to_gib(known['bytes_total']), 'GiB') or fraction(
        known['done'], known['total'], 'done'
    )
    return {
        'operation': one['kind'],
        'resource': one['resource_id'],
        'state': _state_of(one),
        'phase': f'{one["phase"]} ({one["step"]} of {one["steps"]})',
        'percent': known['percent'],
        'figures': figures,
        'rate': '' if rate is None else f'{rate:.1f} MiB/s',
        'left': time_left(_seconds_left(known, rate)),
        'age': _age(one['created_at'], now),
        'host': one['host'],
        'error': one['error'] or '',
        'is_bad': one['state'] == rows.PARKED or bool(one['error']),
    }


def _request(row: Any, now: datetime.datetime) -> Line:
    return {
        'request': f'{row.method} {row.path}' if row.path else f'{row.requests} further requests',
        'status': row.code or '',
        'seconds': f'{row.seconds:.2f}',
        'age': _age(row.created_at, now),
        'host': row.api_host,
        'request id': row.request_id or '',
        'is_bad': bool(row.failed),
    }


def _seconds_left(known: Mapping[str, Any], rate: float | None) -> int | None:
    if known['seconds_left'] is not None or not rate or known['bytes_total'] is None:
        left: int | None = known['seconds_left']
        return left
    return int((known['bytes_total'] - known['bytes_done']) / (1 << 20) / rate)


def _state_of(one: Line) -> str:
    if one['state'] != rows.OPEN:
        return str(one['state'])
    return 'undoing' if one['undoing'] else 'running' if one['running'] else 'waiting'


def _state(*, is_up: bool, disabled: bool) -> str:
    return f'{"up" if is_up else "down"}{", disabled" if disabled else ""}'


def _age(since: datetime.datetime | None, now: datetime.datetime) -> str:
    """Return the time since then, roughly."""
    if since is None:
        return ''
    seconds = max(int((now - since).total_seconds()), 0)
    for length, unit in ((86400, 'd'), (3600, 'h'), (60, 'min')):
        if seconds >= 2 * length:
            return f'{seconds // length} {unit}'
    return f'{seconds} s'
