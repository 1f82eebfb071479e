# SPDX-License-Identifier: Apache-2.0
"""Metrics from the database. The database is read now and then only, however often they are collected."""

import concurrent.futures
import dataclasses
import logging
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils, units
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from manila_lite import metrics
from manila_lite.db.core.engine import Database
from manila_lite.db.queries import metrics_queries, services
from manila_lite.manager.runtime.service import PLANS as MANAGER_PLANS
from manila_lite.scheduler.service import PLANS as SCHEDULER_PLANS

LOG = logging.getLogger(__name__)

#: Every kind of operation.
KINDS = frozenset(plan.kind for plan in (*MANAGER_PLANS, *SCHEDULER_PLANS))
#: Ages of open operations: the bounds in seconds, and the names of the intervals.
_BOUNDS = (60.0, 600.0, 3600.0)
AGES = ('under_1m', '1m_to_10m', '10m_to_1h', 'over_1h')
#: Seconds that a scrape waits for the database before it goes without; and the largest part of the time spent on reading.
_PATIENCE, _SHARE = 5.0, 1 / 20
#: The quotas of sizes in GiB, and the resource whose size each limits.
_SIZES = {'gigabytes': 'shares', 'snapshot_gigabytes': 'snapshots'}
#: How old the values shown may be, as a multiple of the time for which they are kept.
_STALE = 4


@dataclasses.dataclass(frozen=True)
class _Seen:
    """Values read from the database. ``at``: when, by the monotonic clock; ``seconds``: how long the reading took."""

    at: float
    seconds: float
    operations: dict[str, list[int]]
    pools: list[metrics_queries.Pool]
    replicas: list[metrics_queries.OldestReplica]
    schedules: list[metrics_queries.ScheduleTimes]
    heartbeats: list[Any]
    usage: dict[str, int]
    projects: dict[str, dict[str, int]]
    filled: list[metrics_queries.PoolUsage]
    fullest: list[metrics_queries.FullShare]
    held: dict[str, int]


class FromDatabase(Collector):
    """The collector of open operations, pools, services and usage."""

    def __init__(self, conf: cfg.ConfigOpts, db: Database):
        self._conf = conf
        self._db = db
        self._seen: _Seen | None = None
        self._reader = concurrent.futures.ThreadPoolExecutor(1, 'metrics-database')
        self._reading: concurrent.futures.Future[None] | None = None
        self._failed = False

    def close(self) -> None:
        """Stop reading. Does not wait for a query that the database does not answer."""
        self._reader.shutdown(wait=False, cancel_futures=True)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics last read. Old ones are read again first, if the database answers soon."""
        seen = self._renewed()
        if seen is not None and time.monotonic() - seen.at >= _STALE * self._kept(seen):
            seen = None
        yield _readable(known=seen is not None)
        if seen is not None:
            for make in _MAKERS:
                yield from make(seen, self._conf)

    def _kept(self, seen: _Seen) -> float:
        kept: float = max(self._conf.metrics.cache_seconds, seen.seconds / _SHARE)
        return kept

    def _renewed(self) -> _Seen | None:
        seen = self._seen
        if seen is None or time.monotonic() - seen.at > self._kept(seen):
            if self._reading is None or self._reading.done():
                self._reading = self._reader.submit(self._read)
            try:
                self._reading.result(_PATIENCE)
                self._failed = False
            except Exception as error:  # TimeoutError too: the reading goes on
                if not self._failed:
                    LOG.warning(
                        'Metrics from the database are missing until it answers: %s',
                        error or type(error).__name__,
                    )
                self._failed = True
        return self._seen

    def _read(self) -> None:
        conf, began = self._conf.metrics, time.monotonic()
        with self._db.reader() as conn:
            tables = (
                metrics_queries.open_operations(conn, _BOUNDS),
                metrics_queries.pools(conn, conf.max_rows),
                metrics_queries.oldest_replicas(conn, conf.max_rows),
                metrics_queries.schedule_times(conn, conf.max_rows),
                metrics_queries.heartbeats(conn, conf.max_rows),
                metrics_queries.usage(conn),
                metrics_queries.usage_by_project(conn, conf.projects) if conf.projects else {},
                metrics_queries.usage_by_pool(conn, conf.max_rows),
                metrics_queries.fullest_shares(conn, conf.fullest_shares, conf.max_rows)
                if conf.fullest_shares
                else [],
                metrics_queries.used_bytes_by_project(conn, conf.projects) if conf.projects else {},
            )
        now = time.monotonic()
        self._seen = _Seen(now, now - began, *tables)


_Samples = list[tuple[tuple[str, ...], float]]


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f'manila_lite_{name}', text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def _readable(*, known: bool) -> GaugeMetricFamily:
    return _gauge(
        'database_readable', 'Whether the values of the database could be read.', (), [((), int(known))]
    )


def _operations(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    counts = {(kind, age): 0 for kind in KINDS for age in AGES}
    for kind, numbers in seen.operations.items():
        for age, number in zip(AGES, numbers, strict=True):
            key = (kind if kind in KINDS else metrics.OTHER, age)
            counts[key] = counts.get(key, 0) + number
    yield _gauge(
        'operations_open',
        'Operations that have not ended, by the time since their request.',
        ('kind', 'age'),
        sorted(counts.items()),
    )


def _pools(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    for name, text in (('total', 'Capacity'), ('free', 'Free capacity'), ('allocated', 'Allocated capacity')):
        yield _gauge(
            f'pool_{name}_bytes',
            f'{text} of a pool, as last reported.',
            ('pool',),
            [((row.host,), getattr(row, f'{name}_gb') * units.Gi) for row in seen.pools],
        )
    yield _gauge(
        'pool_strange_objects',
        'Objects that clients of CephFS wrote beside their shares, by the last daily count.',
        ('pool',),
        [
            ((row.host,), row.capabilities['strange_objects'])
            for row in seen.pools
            if isinstance(row.capabilities.get('strange_objects'), int)
        ],
    )


def _replicas(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    now = timeutils.utcnow()
    yield _gauge(
        'replica_age_seconds',
        'Age of the data of the oldest replica on a pool, which would lose what is younger.',
        ('pool',),
        [((row.host,), max(0.0, (now - row.synced_at).total_seconds())) for row in seen.replicas],
    )


def _schedules(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    now = timeutils.utcnow()
    yield _gauge(
        'schedule_good_age_seconds',
        'Time since the last run of a schedule of which everything is good.',
        ('schedule',),
        [((row.id,), max(0.0, (now - row.good_at).total_seconds())) for row in seen.schedules],
    )
    yield _gauge(
        'schedule_period_seconds',
        'Time between the last run of a schedule and its next one.',
        ('schedule',),
        [((row.id,), (row.next_run_at - row.last_run_at).total_seconds()) for row in seen.schedules],
    )


def _services(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    passed = time.monotonic() - seen.at
    beats = [((row.binary, row.host), row) for row in seen.heartbeats]
    yield _gauge(
        'service_up',
        'Whether a service lives.',
        ('binary', 'host'),
        [(key, int(services.is_up(row, conf.service_down_time, passed))) for key, row in beats],
    )
    yield _gauge(
        'service_heartbeat_age_seconds',
        'Time since the last heartbeat of a service that was not stopped.',
        ('binary', 'host'),
        [
            (key, age + passed)
            for key, row in beats
            if (age := services.heartbeat_age(row)) is not None and not row.stopped
        ],
    )
    yield _gauge(
        'service_clock_ahead_seconds',
        'Time by which the clock of a service is ahead of that of the database.',
        ('binary', 'host'),
        [
            (key, ahead)
            for key, row in beats
            if (ahead := services.clock_ahead_of(row)) is not None and not row.stopped
        ],
    )


def _usage(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    yield from _counts_and_sizes('quota_used', 'all projects together', (), {(): seen.usage})
    if conf.metrics.projects:
        yield from _counts_and_sizes(
            'project_quota_used',
            'the projects with the most gigabytes',
            ('project',),
            {(project,): used for project, used in seen.projects.items()},
        )


def _fullness(seen: _Seen, conf: Any) -> Iterator[GaugeMetricFamily]:
    yield _gauge(
        'pool_shares_used_bytes',
        'Size of the data in the shares of a pool, as last measured.',
        ('pool',),
        [((row.host,), row.used_bytes) for row in seen.filled],
    )
    yield _gauge(
        'pool_shares_nearly_full',
        'Number of shares of a pool that are at least 95 % full.',
        ('pool',),
        [((row.host,), row.nearly_full) for row in seen.filled],
    )
    if conf.metrics.fullest_shares:
        yield _gauge(
            'share_percent_full',
            'Used part of each of the fullest shares of a pool, in percent of its size.',
            ('pool', 'share'),
            [((row.host, row.share_id), row.percent_full) for row in seen.fullest],
        )
    if conf.metrics.projects:
        yield _gauge(
            'project_shares_used_bytes',
            'Size of the data in the shares of the projects with the most of it.',
            ('project',),
            [((project,), used) for project, used in seen.held.items()],
        )


def _counts_and_sizes(
    name: str, whose: str, labels: tuple[str, ...], usage: dict[tuple[str, ...], dict[str, int]]
) -> Iterator[GaugeMetricFamily]:
    rows = [(key, resource, number) for key, used in usage.items() for resource, number in used.items()]
    yield _gauge(
        name,
        f'Number of resources of {whose}.',
        (*labels, 'resource'),
        [((*key, resource), number) for key, resource, number in rows if resource not in _SIZES],
    )
    yield _gauge(
        f'{name}_bytes',
        f'Size of the resources of {whose}.',
        (*labels, 'resource'),
        [
            ((*key, _SIZES[resource]), number * units.Gi)
            for key, resource, number in rows
            if resource in _SIZES
        ],
    )


_MAKERS = (_operations, _pools, _replicas, _schedules, _services, _usage, _fullness)


def families() -> list[tuple[Metric, tuple[str, ...]]]:
    """Return all metrics that can be shown, each with the names of its labels, for the reference."""
    nothing = _Seen(0, 0, {}, [], [], [], [], {}, {}, [], [], {})
    everything = SimpleNamespace(metrics=SimpleNamespace(projects=1, fullest_shares=1))
    return [
        (family, tuple(family._labelnames))  # noqa: SLF001 - there is no public way
        for family in (
            _readable(known=False),
            *(family for make in _MAKERS for family in make(nothing, everything)),
        )
    ]


__all__ = ['AGES', 'KINDS', 'FromDatabase', 'families']
