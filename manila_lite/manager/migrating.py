# SPDX-License-Identifier: Apache-2.0
"""What the migrations of a share server and of a share have in common at the backend that they go to."""

from collections.abc import Callable, Iterable

from manila_lite import errors
from manila_lite.db import operations as rows
from manila_lite.db.engine import Connection
from manila_lite.operations import Work
from manila_lite.operations.migrating import Cancelled
from manila_lite.states import Migration

#: Seconds after which a migration that waits for its operator looks by itself.
PARKED = 3600.0
#: Seconds until it is seen again whether the backend that is left did its part.
SOON = 0.5
#: Swaps the task state of a resource: (its id, from one of these, to that); says whether it was one of these.
Swap = Callable[[Connection, str, Iterable[str | None], str | None], bool]

#: The task states from which a step may enter its own; the one it enters is among them, since it may come again.
_FROM = {
    Migration.IN_PROGRESS: (Migration.STARTING, Migration.IN_PROGRESS),
    Migration.DRIVER_STARTING: (Migration.IN_PROGRESS, Migration.DRIVER_STARTING),
    Migration.COPYING: (Migration.DRIVER_STARTING, Migration.COPYING),
    Migration.COPIED: (Migration.COPYING, Migration.COPIED),
}


def is_near(answer: object) -> bool:
    """Return what a driver says of a copy.

    :raises errors.ManilaLiteError: it says neither that it is near nor that it is not.
    """
    if not isinstance(answer, bool):
        raise errors.ManilaLiteError(f'The backend was asked whether the copy is near, and said {answer!r}.')
    return answer


def enter(work: Work, swap: Swap, read: Callable[[Connection, Work], str | None], state: Migration,
          unless: Migration | None = None) -> bool:
    """What moves shows ``state``; or says no, if it shows ``unless``. ``read`` reads its task state.

    :raises Cancelled: the migration was called off.
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
    """Another operation, which this one began and waits for, is done.

    :raises errors.Again: not yet.
    :raises errors.Final: it failed; ``refusal`` says what that means.
    """
    with work.ctx.db.reader() as conn:
        told = rows.get(conn, ident)
    if told is not None and told.state == rows.OPEN:
        raise errors.Again(SOON)
    if told is None or told.state != rows.DONE:
        raise errors.Final(refusal)


def checked(conn: Connection, work: Work) -> None:
    """The answer can be read."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data)


def not_checked(conn: Connection, work: Work, error: Exception) -> None:
    """That it failed is the answer; what was said on purpose can be read."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data | {
        'support': {'compatible': False, 'reason': errors.told(error)}})
