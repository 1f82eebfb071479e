# SPDX-License-Identifier: Apache-2.0
"""Changes of a status that end the open operations of a resource: reset and forced deletion."""

import contextlib
from collections.abc import Iterable, Iterator

from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations
from manila_lite.states import StateMachine


@contextlib.contextmanager
def ended_operations(
    conn: Connection, resource_id: str, kinds: Iterable[str], *, force: bool = True
) -> Iterator[None]:
    """End open operations of these kinds before and after the block, which locks the resource's row.

    The second time is for those that began before the row was locked. ``force`` off: end none.
    """
    kinds = tuple(kinds)
    if force:
        operations.supersede(conn, resource_id, kinds)
    yield
    if force:
        operations.supersede(conn, resource_id, kinds)


def begin_delete(
    conn: Connection, machine: StateMachine, row_id: str, kinds: Iterable[str], *, force: bool
) -> None:
    """Begin to delete a resource. ``force``: end its open operations, and accept nearly any status.

    :raises errors.WrongState: the status does not allow it.
    """
    with ended_operations(conn, row_id, kinds, force=force):
        transitions.begin(conn, machine, 'force_delete' if force else 'delete', row_id)


def reset(conn: Connection, machine: StateMachine, row_id: str, status: str, kinds: Iterable[str]) -> None:
    """Set a resource's status. Its open operations end.

    :raises errors.Invalid: a reset may not set that status.
    """
    with ended_operations(conn, row_id, kinds):
        transitions.reset(conn, machine, row_id, status)
