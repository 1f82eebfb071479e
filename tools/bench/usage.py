#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time and statements to measure how full the shares of a backend are.

The baseline is a hundredth of a core for the five minutes between two measurements: three seconds.
"""

import datetime
import sys
import time
from typing import Any
from unittest import mock

import inside
import report
import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.manager.runtime.service import ShareManager
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests.factories import held

#: Seconds of a core, and statements, in five minutes.
_SECONDS, _STATEMENTS = 3.0, 100.0
#: With fewer shares, the fixed costs dominate.
_MANY = 10_000
#: Shares of a project: each has sums of its own.
_OF_PROJECT = 20


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
        for number in range(count // _OF_PROJECT):
            more = {'type_id': made.type_id, 'project': f'p{number}', 'pool': f'pool{number % 2 + 1}'}
            held.make(made.services, manager.driver, _OF_PROJECT, **more)
        collector = UsageCollector(made.services, manager.host, manager.driver)
        now = timeutils.utcnow()
        for what, minutes in (
            ('the first measurement', 0),
            ('the next one, five minutes later', 5),
            ('one more, without a point', 5),
        ):
            later = now + datetime.timedelta(minutes=minutes)
            with mock.patch.object(timeutils, 'utcnow', return_value=later):
                took, needed = _collected(manager, collector)
            figures.add(what, took, 's', seconds, most=most)
            figures.add(f'statements of {what}', float(needed), 'statements', statements, most=most)
    figures.note(
        f'{count:,} shares of {count // _OF_PROJECT:,} projects in two pools of the dummy backend, on SQLite. '
        'The first measurement writes three points of the history of each share, project and pool; the next one a point each.'
    )


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
