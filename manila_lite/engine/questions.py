# SPDX-License-Identifier: Apache-2.0
"""Operations that only answer a question, for a request that waits for the answer."""

from collections.abc import Callable
from typing import Any

from manila_lite.context import RequestContext
from manila_lite.db.core.engine import retry
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import Wake
from manila_lite.engine.environment import REAL

#: Seconds between looks for the answer.
_LOOK = 0.1


def ask(ctx: RequestContext, begin: Callable[[Any], Wake], seconds: float) -> Any:
    """Return the row of an operation when it has ended, or as it is after these seconds; None if somebody deleted it.

    ``begin`` begins the operation in a transaction. Its row is deleted afterwards. Not for use in a transaction.
    """
    operation_id = _begin(ctx, begin).operation_id
    end = REAL.monotonic() + seconds
    while (row := _get(ctx, operation_id)) and row.state == rows.OPEN and REAL.monotonic() < end:
        REAL.event().wait(_LOOK)
    _remove(ctx, operation_id)
    return row


@retry
def _begin(ctx: RequestContext, begin: Callable[[Any], Wake]) -> Wake:
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
