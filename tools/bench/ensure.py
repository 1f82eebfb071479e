#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares ensured per second of one core, with the SQL statements for each, and how soon a backend with that many answers.

The baseline is the driver alone, called for the same shares in the same batches: the rest is the product's. What is timed
by the clock is how long after its start a share manager has done what it was told over the bus, while it ensures.
"""

import sys
import time

import inside
import report

from manila_lite import context, engine
from manila_lite.db.queries import ensure as ensure_queries
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services
from manila_lite.manager.plans import ensure, ensure_results
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.operation_data.ensure import API, EnsureShares
from manila_lite.tests.factories import held
from manila_lite.workflow import ensure as runs

#: Ratio to the driver alone; statements per share; part of two seconds.
LEAST, STATEMENTS, SOON = 0.1, 0.1, 1.0
#: With fewer shares, the fixed costs of a run dominate.
_MANY = 10_000
_LOOK = 0.02


def _wait(manager: ShareManager, operation_id: str) -> None:
    while True:
        with manager.services.db.reader() as conn:
            if rows.get(conn, operation_id).state != rows.OPEN:
                return
        time.sleep(_LOOK)


def _alone(manager: ShareManager, count: int) -> float:
    """Return the shares that the driver alone ensures per second of processor time."""
    with manager.services.db.reader() as conn:
        shares = ensure_queries.list_shares_after(conn, manager.host, '', count, ())
    targets = ensure_results.targets(manager.services.db, shares)
    began = time.process_time()
    for start in range(0, len(targets), ensure.BATCH):
        manager.driver.ensure_shares(targets[start : start + ensure.BATCH])
    return count / (time.process_time() - began)


def _ask(manager: ShareManager) -> str:
    ctx = context.admin(manager.services)
    with ctx.db.writer() as conn:
        services.set_ensuring(conn, manager.host, True)
        wake = runs.ask(conn, ctx, services.get(conn, manager.host, 'manila-share'), EnsureShares(why=API))
    wake.send(ctx)
    return wake.operation_id


def _sync(manager: ShareManager, share_id: str) -> str:
    ctx = context.admin(manager.services)
    with ctx.db.writer() as conn:
        wake = engine.begin_once(
            conn,
            ctx,
            'access.sync',
            'share',
            share_id,
            topic='share',
            host=manager.host,
            lane=engine.FAST,
            unique_key=f'access:{share_id}',
        )
    wake.send(ctx)
    return wake.operation_id


def _is_at_it(manager: ShareManager) -> bool:
    """Say whether the backend is ensuring its shares."""
    with manager.services.db.reader() as conn:
        return bool(services.get(conn, manager.host, 'manila-share').ensuring)


def compare(
    figures: report.Report, made: inside.Inside, manager: ShareManager, share_id: str, count: int
) -> None:
    """Measure, and add the lines."""
    many = count >= _MANY
    base = figures.add('the driver alone', _alone(manager, count), 'shares/s of a core')
    began = time.monotonic()
    manager.start()
    try:
        _wait(manager, _sync(manager, share_id))
        soon = time.monotonic() - began
        two = figures.add('the time allowed', 2.0, 's')
        figures.add('from the start to an answer', soon, 's', two, most=SOON if many else None)
        while _is_at_it(manager):
            time.sleep(_LOOK)
        began = time.process_time()
        _wait(manager, _ask(manager))
        figures.add(
            'ensured on demand',
            count / (time.process_time() - began),
            'shares/s of a core',
            base,
            least=LEAST if many else None,
        )
        share = figures.add('a share', 1.0, 'share')
        needed = len(made.statements(lambda: _wait(manager, _ask(manager)), elsewhere=True))
        figures.add(
            'statements for each', needed / count, 'statements', share, most=STATEMENTS if many else None
        )
    finally:
        manager.stop()


def measure(figures: report.Report) -> None:
    """Measure, and add the lines."""
    count = figures.pick(200, 10_000, 10_000)
    with inside.inside() as made:
        manager = ShareManager(made.services, 'alpha')
        manager.driver.store.prepare()
        report.say(f'{count:,} shares')
        ids = held.make(made.services, manager.driver, count, type_id=made.type_id)
        compare(figures, made, manager, ids[-1][0], count)
    figures.note(f'{count:,} shares of the dummy backend with two export locations and one rule each.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
