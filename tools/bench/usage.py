#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time and statements to measure how full the shares of a backend are.

The baseline is a hundredth of a core for the five minutes between two measurements: three seconds.
"""

import sys
import time
from typing import Any

import inside
import report
import sqlalchemy as sa

from manila_lite.manager.runtime.service import ShareManager
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests.factories import held

#: Seconds of a core, and statements, in five minutes.
_SECONDS, _STATEMENTS = 3.0, 100.0
#: With fewer shares, the fixed costs dominate.
_MANY = 10_000


def _collected(manager: ShareManager, collector: UsageCollector) -> tuple[float, int]:
    """Return the seconds of a core and the statements of one measurement."""
    seen: list[str] = []

    def saw(conn: Any, cursor: Any, statement: str, *rest: Any) -> None:
        seen.append(statement)

    engine = manager.services.db.engine
    sa.event.listen(engine, 'before_cursor_execute', saw)
    began = time.process_time()
    try:
        collector.collect()
    finally:
        sa.event.remove(engine, 'before_cursor_execute', saw)
    return time.process_time() - began, len(seen)


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    count = figures.pick(200, _MANY, _MANY)
    most = 1.0 if count >= _MANY else None
    seconds = figures.add('a hundredth of a core', _SECONDS, 's')
    statements = figures.add('twenty a minute', _STATEMENTS, 'statements')
    with inside.inside() as made:
        manager = ShareManager(made.services, 'alpha')
        manager.driver.store.prepare()
        report.say(f'{count:,} shares')
        held.make(made.services, manager.driver, count, type_id=made.type_id)
        collector = UsageCollector(made.services, manager.host, manager.driver)
        for what in ('the first measurement', 'a measurement between two points'):
            took, needed = _collected(manager, collector)
            figures.add(what, took, 's', seconds, most=most)
            figures.add(f'statements of {what}', float(needed), 'statements', statements, most=most)
    figures.note(
        f'{count:,} shares of the dummy backend, on SQLite. The first measurement writes three points of history each.'
    )


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
