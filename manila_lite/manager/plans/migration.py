# SPDX-License-Identifier: Apache-2.0
"""Common parts of the migrations of share servers and of shares, at the target backend."""

from collections.abc import Callable, Iterable

from manila_lite import errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Work
from manila_lite.states import Migration
from manila_lite.workflow.server_migration import Cancelled

#: Seconds after which a migration that waits for its operator is run without a wake-up.
PARKED = 3600.0
#: Seconds between looks whether the source backend has done its part.
SOON = 0.5
#: Swaps the task state of a resource: (its id, from one of these, to that). Says whether it was one of these.
Swap = Callable[[Connection, str, Iterable[str | None], str | None], bool]

#: The task states from which a step may enter its own state, including that state, since a step may run again.
_FROM = {
    Migration.IN_PROGRESS: (Migration.STARTING, Migration.IN_PROGRESS),
    Migration.DRIVER_STARTING: (Migration.IN_PROGRESS, Migration.DRIVER_STARTING),
    Migration.COPYING: (Migration.DRIVER_STARTING, Migration.COPYING),
    Migration.COPIED: (Migration.COPYING, Migration.COPIED),
}


def is_near(answer: object) -> bool:
    """Return the driver's answer whether the copy is near to the source.

    :raises errors.ManilaLiteError: it is not a bool.
    """
    if not isinstance(answer, bool):
        raise errors.ManilaLiteError(f'The backend was asked whether the copy is near, and said {answer!r}.')
    return answer


def enter(work: Work, swap: Swap, read: Callable[[Connection, Work], str | None], state: Migration,
          unless: Migration | None = None) -> bool:
    """Set the task state to ``state``; return False if it is ``unless``. ``read`` returns the present task state.

    :raises Cancelled: the migration was cancelled.
    :raises errors.Final: an administrator set another state by hand.
    """
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        if swap(conn, work.resource_id, _FROM[state], state):
            return True
        now = read(conn, work)
    if unless is not None and now == unless:
        return False
    if now == Migration.CANCELLING:
        raise Cancelled
    raise errors.Final(f'The migration of {work.op.resource_type.replace("_", " ")} {work.resource_id} was stopped: '
                       f'its task state is {now}.')


def answered(work: Work, ident: str, refusal: str) -> None:
    """Wait for another operation, which this one began.

    :raises errors.Again: it has not ended yet.
    :raises errors.Final: it failed; ``refusal`` is the message.
    """
    with work.ctx.db.reader() as conn:
        told = rows.get(conn, ident)
    if told is not None and told.state == rows.OPEN:
        raise errors.Again(SOON)
    if told is None or told.state != rows.DONE:
        raise errors.Final(refusal)


def checked(conn: Connection, work: Work) -> None:
    """Store the answer."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data)


def not_checked(conn: Connection, work: Work, error: Exception) -> None:
    """Store the failure as the answer, with the reason if it is for users."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data | {
        'support': {'compatible': False, 'reason': errors.told(error)}})
