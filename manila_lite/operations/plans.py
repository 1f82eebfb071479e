# SPDX-License-Identifier: Apache-2.0
"""What an operation consists of."""

import dataclasses
from collections.abc import Callable
from typing import Any

from manila_lite import context
from manila_lite.db import operations as rows
from manila_lite.db.engine import Connection

#: Lanes: ordinary work, quick work that must never wait behind it, and what goes over a whole backend, one at a time.
WORK, FAST, CALM = 'work', 'fast', 'calm'


@dataclasses.dataclass
class Work:
    """One claimed operation: its row, the data it carries from step to step, and who asked for it.

    ``service`` is what the plans of a room need (driver, configuration); ``send`` set by a step passes
    the operation on to another queue when the step is saved; ``passed``: it already has, by ``pass_on``. ``error`` is why
    it is being undone, ``tries`` how often the present step was begun.
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
        """The id of what the operation is about."""
        return self.op.resource_id

    def hold(self, conn: Connection) -> None:
        """Until the transaction ends nobody takes the operation over: what it writes is the owner's to write.

        :raises errors.LostClaim: somebody already has.
        """
        rows.move(conn, self.op.id, self.op.owner, owner=self.op.owner)

    def save(self, conn: Connection) -> None:
        """As ``hold``; and whoever goes on with the step finds ``data`` as it is now, and all its tries before it."""
        rows.move(conn, self.op.id, self.op.owner, data=self.data, attempts=1)

    def pass_on(self, conn: Connection, topic: str, host: str) -> None:
        """Once the transaction is committed the operation waits in the queue of ``topic`` and ``host``, a backend, with all its
        tries. For a step that writes what must not be true a moment before that.

        :raises errors.LostClaim: somebody else took it over.
        """
        rows.release(conn, self.op.id, self.op.owner, topic=topic, host=host, step=0, data=self.data, attempts=0,
                     undoing=False, error=None)
        self.send, self.passed = (topic, host), True


@dataclasses.dataclass(frozen=True)
class Step:
    """``do`` makes something true; ``undo`` takes it back, also when ``do`` did not finish."""

    do: Callable[[Work], None]
    undo: Callable[[Work], None] | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """The steps of one kind of operation, and what is written when it ends.

    ``done`` and ``failed`` run in the transaction that ends the operation.
    """

    kind: str
    steps: tuple[Step, ...]
    done: Callable[[Connection, Work], None]
    failed: Callable[[Connection, Work, Exception], None]
