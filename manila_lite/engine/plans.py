# SPDX-License-Identifier: Apache-2.0
"""Parts of an operation: work, steps and plans."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows

#: Lanes: ordinary work, quick work that must never wait behind it, and work on a whole backend, one at a time.
WORK, FAST, EXCLUSIVE = 'work', 'fast', 'calm'


@dataclasses.dataclass
class Work:
    """One claimed operation: its row, the data it carries from step to step, and the context of the user who asked for it.

    ``service`` is what the plans of a queue need (driver, configuration). ``send``, if set by a step, passes the
    operation on to another queue when the step is saved; ``passed`` says that ``pass_on`` already did so. ``error`` is
    why the operation is being undone, ``tries`` how often the present step was begun.
    """

    op: Any
    data: dict[str, Any]
    ctx: context.RequestContext
    service: Any
    send: tuple[str, str] | None = None
    passed: bool = False
    error: Exception | None = None
    tries: int = 1

    @property
    def resource_id(self) -> str:
        """The id of the operation's resource."""
        return self.op.resource_id

    def hold(self, conn: Connection) -> None:
        """Keep other workers from taking the operation over until the transaction ends, so that this one may write.

        :raises errors.LostClaim: another worker already has.
        """
        rows.move(conn, self.op.id, self.op.owner, owner=self.op.owner)

    def save(self, conn: Connection) -> None:
        """Hold the claim as ``hold`` does, and save ``data``. A worker that goes on with the step has all its tries."""
        rows.move(conn, self.op.id, self.op.owner, data=self.data, attempts=1)

    def pass_on(self, conn: Connection, topic: str, host: str) -> None:
        """Move the operation to the queue of ``topic`` and ``host``, a backend, with all its tries, when the
        transaction commits. For steps that write rows which must not be seen before the operation is passed on.

        :raises errors.LostClaim: another worker took it over.
        """
        rows.postpone(conn, self.op.id, self.op.owner, topic=topic, host=host, step=0, data=self.data, attempts=0,
                     undoing=False, error=None, error_code=None)
        self.send, self.passed = (topic, host), True


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a plan. ``do`` makes a change; ``undo`` takes it back, also if ``do`` did not finish."""

    do: Callable[[Work], None]
    undo: Callable[[Work], None] | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps of one kind of operation, and the functions that write its end.

    ``done`` and ``failed`` run in the transaction that ends the operation.
    """

    kind: str
    steps: tuple[Step, ...]
    done: Callable[[Connection, Work], None]
    failed: Callable[[Connection, Work, Exception], None]
