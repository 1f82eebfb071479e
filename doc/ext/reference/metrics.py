# SPDX-License-Identifier: Apache-2.0
"""The metrics, from the collectors that show them."""

from collections.abc import Iterable, Iterator
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite import metrics
from manila_lite.cmd import metrics_collector
from reference import rst


def lines() -> Iterator[str]:
    """Yield both tables."""
    yield from rst.heading('Counted by each process', '-')
    yield 'Add them up over processes.'
    yield ''
    yield from _table(metrics.families())
    yield from rst.heading('Read from the database', '-')
    yield 'The same whichever process is asked: use ``max by (...)``, not ``sum``.'
    yield ''
    yield from _table(metrics_collector.families())


def _table(families: Iterable[tuple[Any, tuple[str, ...]]]) -> Iterator[str]:
    rows = [
        (
            rst.code(family.name + ('_total' if family.type == 'counter' else '')),
            family.type,
            rst.codes(labels),
            family.documentation,
        )
        for family, labels in families
    ]
    yield from rst.table(('metric', 'type', 'labels', 'what it is'), sorted(rows), (35, 10, 20, 35))
