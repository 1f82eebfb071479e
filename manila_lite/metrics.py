# SPDX-License-Identifier: Apache-2.0
"""Metrics of this process for Prometheus. Every label comes from a table or a class name, never from a caller."""

import functools
import itertools
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, disable_created_metrics

#: The label for values that are not known here: paths, methods, kinds of operations.
OTHER = 'other'
METHODS = frozenset(('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'))

#: Upper bounds of buckets in seconds: for requests, and for operations, which may copy for hours.
_FAST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the number of series without use

REGISTRY = CollectorRegistry()

_requests = Counter(
    'manila_lite_requests',
    'Requests answered, by route of the API.',
    ('route', 'method', 'status'),
    registry=REGISTRY,
)
_request_seconds = Histogram(
    'manila_lite_request_duration_seconds',
    'Time to answer a request.',
    ('route',),
    buckets=_FAST,
    registry=REGISTRY,
)
_ended = Counter(
    'manila_lite_operations_ended',
    'Operations that ended here: done, failed (and undone) or parked.',
    ('kind', 'outcome'),
    registry=REGISTRY,
)
_operation_seconds = Histogram(
    'manila_lite_operation_duration_seconds',
    'Time from the request until its operation ended.',
    ('kind',),
    buckets=_SLOW,
    registry=REGISTRY,
)
_run_seconds = Histogram(
    'manila_lite_operation_run_seconds',
    'Time that a claimed operation kept a worker thread.',
    ('kind',),
    buckets=_SLOW,
    registry=REGISTRY,
)
_wait_seconds = Histogram(
    'manila_lite_operation_wait_seconds',
    'Time that an operation was due before it was claimed.',
    ('kind',),
    buckets=_SLOW,
    registry=REGISTRY,
)
_wake_ups = Counter(
    'manila_lite_rpc_wakeups', 'Wake-ups sent to the bus, by outcome.', ('outcome',), registry=REGISTRY
)
_db_errors = Counter(
    'manila_lite_database_errors',
    'Statements and connections that failed, by class of the error.',
    ('error',),
    registry=REGISTRY,
)

_given_up = Counter(
    'manila_lite_connections_given_up',
    'Connections that the built-in server ended, by reason: too many of '
    'them (full, address), no descriptors or memory left, an answer unread, events read too slowly, or the '
    'status of a refusal.',
    ('why',),
    registry=REGISTRY,
)

for _outcome in ('sent', 'failed'):
    _wake_ups.labels(_outcome)


def request(route: str, method: str, status: int, seconds: float) -> None:
    """Count an answered request. ``route`` is the template of a path of the contract, or ``OTHER``."""
    count, durations = _of_route(route, method if method in METHODS else OTHER, status)
    count.inc()
    durations.observe(seconds)


# Looking labels up takes several times as long as counting.
@functools.lru_cache(maxsize=4096)
def _of_route(route: str, method: str, status: int) -> tuple[Counter, Histogram]:
    return _requests.labels(route, method, str(status)), _request_seconds.labels(route)


def expect(kinds: Iterable[str], outcomes: Iterable[str]) -> None:
    """Show ended operations of these kinds with 0: Prometheus sees no increase in a counter that begins with 1."""
    for kind, outcome in itertools.product(kinds, outcomes):
        _ended.labels(kind, outcome)


def claimed(kind: str, waited: float) -> None:
    """Count a claimed operation that had been due for ``waited`` seconds."""
    _wait_seconds.labels(kind).observe(max(0.0, waited))


def ran(kind: str, seconds: float) -> None:
    """Count the seconds for which an operation had a thread, whether it has ended or not."""
    _run_seconds.labels(kind).observe(seconds)


def ended(kind: str, outcome: str, age: float) -> None:
    """Count an ended operation that was requested ``age`` seconds ago."""
    _ended.labels(kind, outcome).inc()
    _operation_seconds.labels(kind).observe(max(0.0, age))


def wake_up(*, sent: bool) -> None:
    """Count a wake-up that was sent or dropped."""
    _wake_ups.labels('sent' if sent else 'failed').inc()


def gave_up(why: str) -> None:
    """Count a closed connection; ``why`` comes from the server's own table of reasons."""
    _given_up.labels(why).inc()


def database_error(error: BaseException) -> None:
    """Count an error of the database: a failed statement or connection."""
    _db_errors.labels(type(error).__name__).inc()


def families() -> list[tuple[Metric, tuple[str, ...]]]:
    """Return all metrics, each with the names of its labels, for the reference."""
    known: list[Any] = list(REGISTRY._collector_to_names)  # noqa: SLF001 - there is
    return [(family, one._labelnames) for one in known for family in one.collect()]  # noqa: SLF001 - no public way
