# SPDX-License-Identifier: Apache-2.0
"""Parts of an operation: work, steps and plans."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from manila_lite import context
from manila_lite.db.core import host_time
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operation_claims as claims
from manila_lite.db.queries import operations as rows
from manila_lite.operation_data import OperationData, Untyped

#: Lanes: ordinary work, quick work that must never wait behind it, and work on a whole backend, one at a time.
#: The values are stored. Workers of the release before look for 'calm', so it stays.
WORK, FAST, EXCLUSIVE = 'work', 'fast', 'calm'
#: The name of the scheduler's steps.
PLACE = rows.PLACE
#: The data of a kind. A function for operations that carry at least so much is good for all of them.
Data_co = TypeVar('Data_co', bound=OperationData, covariant=True)
Data_contra = TypeVar('Data_contra', bound=OperationData, contravariant=True)
Data = TypeVar('Data', bound=OperationData)


@dataclasses.dataclass
class Work(Generic[Data_co]):
    """One claimed operation: its row, the data it carries from step to step, and the context of the user who asked for it.

    ``service`` is what the plans of a queue need (driver, configuration). ``send``, if set by a step, passes the
    operation on to another queue when the step is saved; ``passed`` says that ``pass_on`` already did so. ``error`` is
    why the operation is being undone, ``tries`` how often the present step was begun. ``loaded`` is what ``Plan.prepare``
    read for it.
    """

    op: rows.Operation
    data: Data_co
    ctx: context.RequestContext
    service: Any
    send: tuple[str, str] | None = None
    passed: bool = False
    error: Exception | None = None
    tries: int = 1
    loaded: Any = None

    @property
    def resource_id(self) -> str:
        """The id of the operation's resource."""
        return str(self.op.resource_id)

    @property
    def asked(self) -> int:
        """How often the operation had been asked for when its first step began: its steps know of no later request."""
        return int(self.op.requested_count) if self.data.asked is None else self.data.asked

    def begin_round(self) -> None:
        """Note how often the operation has been asked for. For the first of several steps; saved with its data."""
        self.data.asked = self.op.requested_count

    def start_over(self) -> None:
        """Reset data and outcome to the stored row, before a step is repeated: a restarted process has only the row."""
        with self.ctx.db.reader() as conn:
            op = rows.get(conn, self.op.id)
        assert op is not None  # operations that are claimed are not deleted
        asked = self.data.asked
        self.data = type(self.data).from_json(op.data)
        self.data.asked = asked
        self.send, self.passed, self.loaded = None, False, None

    def read_again(self, conn: Connection) -> None:
        """Read the row: requests up to now are part of this run, and need no other. The worker holds its claim."""
        op = rows.get(conn, self.op.id)
        assert op is not None  # operations that are claimed are not deleted
        self.op = op

    def hold(self, conn: Connection) -> None:
        """Keep other workers from taking the operation over until the transaction ends, so that this one may write.

        :raises errors.LostClaim: another worker already has.
        """
        claims.move(conn, self.op.id, self.op.owner, owner=self.op.owner)

    @contextlib.contextmanager
    def writer(self) -> Iterator[Connection]:
        """Open a transaction that holds the operation from its beginning to its end.

        :raises errors.LostClaim: another worker has taken the operation over.
        """
        with self.ctx.db.writer() as conn:
            self.hold(conn)
            yield conn

    def save(self, conn: Connection) -> None:
        """Hold the claim as ``hold`` does, and save ``data``. A worker that goes on with the step has all its tries."""
        claims.move(conn, self.op.id, self.op.owner, data=self.data.to_json(), attempts=1)

    def pass_on(self, conn: Connection, topic: str, host: str) -> None:
        """Move the operation to the queue of ``topic`` and ``host``, a backend, with all its tries, when the
        transaction commits. For steps that write rows which must not be seen before the operation is passed on.

        :raises errors.LostClaim: another worker took it over.
        """
        claims.postpone(
            conn,
            self.op.id,
            self.op.owner,
            topic=topic,
            host=host,
            data=self.data.to_json(),
            attempts=0,
            undoing=False,
            error=None,
            error_code=None,
            **rows.BEGINNING,
        )
        self.send, self.passed = (topic, host), True


def hold_many(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Do as ``Work.hold`` for all of these, which one worker runs.

    :raises errors.LostClaim: another worker took one of them over.
    """
    owner = works[0].op.owner
    claims.move_many(conn, [work.op.id for work in works], owner, owner=owner)


def pass_on_many(conn: Connection, works: Sequence[Work[Any]], topic: str, host: str) -> None:
    """Do as ``Work.pass_on`` for all of these, which one worker runs, and whose data no step has changed.

    :raises errors.LostClaim: another worker took one of them over.
    """
    claims.move_many(
        conn,
        [work.op.id for work in works],
        works[0].op.owner,
        topic=topic,
        host=host,
        **rows.BEGINNING,
        attempts=0,
        undoing=False,
        error=None,
        error_code=None,
        owner=None,
        lease_expires_at=None,
        next_run_at=host_time.now(conn),
    )
    for work in works:
        work.send, work.passed = (topic, host), True


def nothing(*_: Any) -> None:
    """Do nothing: a step without anything at a backend, or an end that is written, or seen, elsewhere."""


#: The form of a step's name, and the most characters of all names of one plan, with a blank between them.
_NAME = re.compile('[a-z][a-z0-9_]*')
_LONGEST = 255


@dataclasses.dataclass(frozen=True)
class Step(Generic[Data_contra]):
    """One step of a plan. ``do`` makes a change; ``undo`` takes it back, also if ``do`` did not finish.

    ``name`` is stored with operations and shown to users; without one it is the name of the function ``do``, without
    underscores around it.

    ``many``, of the only step of a plan, passes several operations on at once, in one transaction. It leaves out those
    that it cannot pass on; ``do`` is called for each of them, and for all if it raises an error.
    """

    do: Callable[[Work[Data_contra]], None]
    undo: Callable[[Work[Data_contra]], None] | None = None
    name: str = ''
    many: Callable[[Sequence[Work[Data_contra]]], None] | None = None

    def __post_init__(self) -> None:
        """Give the step the name of its function, if it has no other."""
        if not self.name:
            object.__setattr__(self, 'name', getattr(self.do, '__name__', '').strip('_'))


@dataclasses.dataclass(frozen=True)
class Plan(Generic[Data]):
    """The steps of one kind of operation, and the functions that write its end.

    ``done`` and ``failed`` run in the transaction that ends the operation. A plan may change between releases, also while
    operations of its kind are open: they go on at the step of the same name.

    Operations that begin together, on their first try, may share SQL statements: ``prepare`` reads into ``Work.loaded``
    what their first steps need, and ``done_many`` is ``done`` for several prepared operations. Both are optional: if one
    of them fails, or an operation is tried again, that operation uses its own statements.

    ``data`` is the class of the data of its operations.
    """

    kind: str
    steps: tuple[Step[Data], ...]
    done: Callable[[Connection, Work[Data]], None]
    failed: Callable[[Connection, Work[Data], Exception], None]
    prepare: Callable[[Connection, Sequence[Work[Data]]], None] | None = None
    done_many: Callable[[Connection, Sequence[Work[Data]]], None] | None = None
    data: type[Data] = Untyped  # type: ignore[assignment]  # of a kind without a class

    def __post_init__(self) -> None:
        """Check the steps.

        :raises ValueError: a name is no name, two are the same, or all together do not fit into a row; or a step takes
            ``many`` and is not the only one.
        """
        names = self.names
        if (
            len(set(names)) < len(names)
            or not all(map(_NAME.fullmatch, names))
            or len(' '.join(names)) > _LONGEST
        ):
            raise ValueError(f'The steps of {self.kind} need names that differ and fit into a row: {names}')
        if len(names) > 1 and any(step.many for step in self.steps):
            raise ValueError(
                f'Only a plan of one step may take many operations, and {self.kind} has {len(names)}.'
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps, in order."""
        return tuple(step.name for step in self.steps)

    @property
    def restartable(self) -> bool:
        """Whether a newer request may begin the plan anew in the middle: it has several steps, and none has an undo."""
        return len(self.steps) > 1 and self.repeatable

    @property
    def repeatable(self) -> bool:
        """Whether a newer request may begin the plan anew after it failed: no step has an undo, so that none was undone."""
        return all(step.undo is None for step in self.steps)

    def at(self, number: int) -> dict[str, Any]:
        """Return the values of a row at this step."""
        return {'step': number, 'steps': ' '.join(self.names)}

    def position(self, row: Any) -> int | None:
        """Return the number of the step at which an operation goes on, or None if the plan has no such step.

        The names in the row count, by whatever release they were written. If there are none for its step, the release
        before, which knows numbers only, has moved the row on: its plans are numbered like these.
        """
        name = rows.step_name(row)
        if name in self.names:
            return self.names.index(name)
        if name is None:
            return int(row.step) if row.step <= max(len(self.steps) - 1, 0) else None
        return None if row.step else 0  # no step was finished, so the first one may begin
