# SPDX-License-Identifier: Apache-2.0
"""The check of a migration: scheduler and backend are asked whether it is possible, before anything changes."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import retry
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data.migrations import Answer, Reached

#: Seconds between polls for the backend's answer.
_LOOK = 0.1


def objection(to: str, options: Mapping[str, bool], support: Answer) -> str | None:
    """Return the reason why the backend or pool ``to`` cannot migrate with these ``options``, or None."""
    if not support.compatible:
        return support.reason or f'{to} does not support it.'
    wants = [name for name in options if options[name] and not getattr(support, name)]
    return f'{to} does not support: {", ".join(wants)}.' if wants else None


def ask(ctx: RequestContext, begin: Callable[[Any], engine.Wake], host: str) -> Answer:
    """Begin a check operation with ``begin`` and return the backend's answer. Not for use in a transaction.

    :raises errors.Conflict: there was no answer for ``[api] migration_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; the backend was not asked.
    """
    with ctx.waiting('backends'):
        row = _await_answer(ctx, begin)
    support = Reached.from_json(row.data).support
    if row.state == rows.OPEN or support is None:
        raise errors.Conflict(
            f'The backend {host} did not answer in time whether it can take part in the migration.',
            code='backend_silent',
        )
    return support


def _await_answer(ctx: RequestContext, begin: Callable[[Any], engine.Wake]) -> Any:
    """Return the row of the check operation when it has ended or the timeout is over. The row is deleted by then."""
    wake = _begin(ctx, begin)
    end = time.monotonic() + ctx.conf.api.migration_check_timeout
    while (row := _get(ctx, wake.operation_id)).state == rows.OPEN and time.monotonic() < end:
        time.sleep(_LOOK)
    _remove(ctx, wake.operation_id)
    return row


@retry
def _begin(ctx: RequestContext, begin: Callable[[Any], engine.Wake]) -> engine.Wake:
    with ctx.db.writer() as conn:
        return begin(conn)


@retry
def _get(ctx: RequestContext, operation_id: str) -> Any:
    with ctx.db.reader() as conn:
        return rows.get(conn, operation_id)


@retry
def _remove(ctx: RequestContext, operation_id: str) -> None:
    with ctx.db.writer() as conn:
        rows.delete(conn, (operation_id,))
