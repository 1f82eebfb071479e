# SPDX-License-Identifier: Apache-2.0
"""Requests on migrations to another backend, of shares and of share servers: start, complete, cancel, progress.

``Requests`` has the life cycle. ``share_migration.py`` and ``share_server_migration.py`` have what differs: the checks of their
resource, and the rows of a new migration. Checks are made before anything changes.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeGuard, TypeVar

from manila_lite import engine, errors, states
from manila_lite.actions import migration_check
from manila_lite.actions.migration_targets import MUST, Move
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services
from manila_lite.operation_data.migrations import Answer, Migrate, Reached
from manila_lite.states import Migration
from manila_lite.workflow.migration import Migrations, Phase, figures

#: Task states in which a migration can be cancelled.
CANCELLABLE = tuple(state for state in Migration if state.may_be_cancelled)

M = TypeVar('M', bound=Move)
D = TypeVar('D', bound=Migrate)


@dataclasses.dataclass(frozen=True)
class Begun(Generic[D]):
    """The arguments of a migration's operation. ``owner``: as for ``engine.begin``."""

    mutex_key: str
    data: D
    owner: str | None = None


@dataclasses.dataclass(frozen=True)
class Requests(Generic[M, D]):
    """Requests on migrations of one resource type, whose rows ``migrations`` knows.

    ``unique_key`` is the prefix of their operations' keys. ``may_end_at_once``: a migration may have a task state although it
    never had an operation.
    """

    migrations: Migrations[D]
    unique_key: str
    #: Return the row of the resource, if the caller has one with this id.
    get: Callable[[Connection, RequestContext, str], Row[Any]]
    #: Return the planned move, by the request. Refuse hosts, types and networks that are not there, and wrong states.
    examine: Callable[[Connection, RequestContext, str, Mapping[str, Any]], M]
    #: Refuse options that no backend supports.
    check_options: Callable[[M, Mapping[str, Any]], None]
    #: Return the reason why the resource cannot move as requested, by the answer to the check, or None.
    objection: Callable[[M, Answer], str | None]
    #: Return the data of the operations of check and migration.
    data: Callable[[M], D]
    #: Set the resource and its parts to migrating: the move as scheduler and backend were asked about it, and as it is now.
    #: Return the rest of the operation. Refuse what changed in the meantime.
    begin: Callable[[Connection, RequestContext, M, M, Answer], Begun[D]]
    #: Return the task state of a resource for its owner, whose last migration has these data, and how its target is shown.
    shown: Callable[[Connection, RequestContext, str, D | None], tuple[str | None, dict[str, Any]]]
    may_end_at_once: bool = False

    # Life cycle -----------------------------------------------------------------------------------

    def start(self, ctx: RequestContext, resource_id: str, wanted: Mapping[str, Any]) -> None:
        """Start a migration: the resource and its parts are set to migrating, and are copied.

        :raises errors.NotFound: there is no such resource.
        :raises errors.Invalid: there is no such host, type or network, or options contradict each other.
        :raises errors.Conflict: a resource is in the wrong state, or scheduler or backend object; the message says why.
        :raises errors.OverQuota: the quota of a new type does not allow it.
        """
        asked, support = self.try_out(ctx, resource_id, wanted)
        with ctx.db.writer() as conn:
            move = self.examine(conn, ctx, resource_id, wanted)
            begun = self.begin(conn, ctx, asked, move, support)
            engine.begin(
                conn,
                ctx,
                self.migrations.kind,
                self.migrations.resource_type,
                resource_id,
                topic='scheduler',
                mutex_key=begun.mutex_key,
                unique_key=f'{self.unique_key}:{resource_id}',
                data=begun.data,
                owner=begun.owner,
            )
            self.migrations.announce(ctx, resource_id, begun.data, Phase.COPY, 'start')

    def try_out(self, ctx: RequestContext, resource_id: str, wanted: Mapping[str, Any]) -> tuple[M, Answer]:
        """Return the planned move, and what the backend says that it supports. Change nothing.

        :raises: as ``start``, except for quotas.
        """
        with ctx.db.reader() as conn:
            asked = self.examine(conn, ctx, resource_id, wanted)
        self.check_options(asked, wanted)
        support = self.ask(ctx, resource_id, asked)
        if objection := self.objection(asked, support):
            raise errors.Conflict(
                f'{self._name(resource_id)} cannot move to {asked.to}: {objection}', code='migration_refused'
            )
        return asked, support

    def ask(self, ctx: RequestContext, resource_id: str, move: M) -> Answer:
        """Return the answer of the scheduler and the backend. Not for use in a transaction.

        :raises errors.Conflict: there was no answer for ``[api] migration_check_timeout`` seconds.
        """
        return migration_check.ask(
            ctx,
            lambda conn: engine.begin(
                conn,
                ctx,
                self.migrations.check_kind,
                self.migrations.resource_type,
                resource_id,
                topic='scheduler',
                lane=engine.FAST,
                data=self.data(move),
            ),
            move.host,
        )

    def complete(self, ctx: RequestContext, resource_id: str) -> str:
        """Begin the cut-over to the target, or retry a failed one. Return the target's id.

        :raises errors.Invalid: there is no migration, or its copy is not ready.
        :raises errors.Conflict: the backend of the target is down.
        """
        with ctx.db.writer() as conn:
            row, op = self.get(conn, ctx, resource_id), self.migrations.last(conn, resource_id)
            if op is None or op.resource_id != resource_id:
                raise errors.Invalid(
                    f'{self._name(resource_id)} is not being migrated.', code='not_migrating'
                )
            data = self.migrations.data.from_json(op.data)
            if row.task_state == Migration.ERROR and op.state == rows.FAILED and data.cut:
                self._reopen(conn, row, op, data.target)
            elif row.task_state in states.COMPLETION and not self._is_under_way(
                op, resource_id
            ):  # set by hand
                raise errors.Invalid(
                    f'{self._name(resource_id)} is not being migrated.', code='not_migrating'
                )
            elif not any(
                self.migrations.swap_task_state(conn, resource_id, (ready,), after)
                for ready, after in states.COMPLETION.items()
            ):
                raise errors.Invalid(
                    f'The migration of {self.migrations.name} {resource_id} cannot be completed: its task '
                    f'state is {row.task_state}, not {Migration.COPIED}.',
                    code='not_migrating',
                )
            self._target_must_be_up(conn, ctx, op, data)
            _make_due(conn, ctx, op)
            begun = dataclasses.replace(data, cut=True)
            self.migrations.announce(ctx, resource_id, begun, Phase.COMPLETE, 'start')
            return data.target

    def _target_must_be_up(self, conn: Connection, ctx: RequestContext, op: Any, data: D) -> None:
        """Refuse a cut-over for which nobody is there. Before the first one, the migration can be cancelled by force."""
        if op.host and not services.is_running(services.get(conn, op.host, 'manila-share'), ctx.conf):
            raise errors.Conflict(
                f'The migration of {self.migrations.name} {op.resource_id} cannot be completed: '
                f'{op.host}, its destination, is down.',
                code='backend_down' if data.cut else 'destination_down',
            )

    def _reopen(self, conn: Connection, row: Row[Any], op: Any, target: str) -> None:
        self.migrations.begin_cut_over(conn, row.id, target)
        if not rows.reopen(conn, op, 'cut_over', f'{self.unique_key}:{row.id}'):
            raise errors.WrongState(
                f'The migration of {self.migrations.name} {row.id} is already in progress.',
                code='already_migrating',
            )

    def cancel(self, ctx: RequestContext, resource_id: str) -> None:
        """Cancel a migration. Everything goes back to the state before.

        :raises errors.Invalid: there is no migration that can still be cancelled.
        """
        with ctx.db.writer() as conn:
            row, op = self.get(conn, ctx, resource_id), self.migrations.last(conn, resource_id)
            data = None if op is None else self.migrations.data.from_json(op.data)
            _must_be_cancellable(data, row.task_state)
            if (
                data is None
                or not self._is_under_way(op, resource_id)
                or not self.migrations.swap_task_state(conn, resource_id, CANCELLABLE, Migration.CANCELLING)
            ):
                raise errors.Invalid(
                    f'The migration of {self.migrations.name} {resource_id} cannot be cancelled: its task '
                    f'state is {row.task_state or "none"}.',
                    code='not_migrating',
                )
            _make_due(conn, ctx, op)
            self.migrations.announce(ctx, resource_id, data, Phase.CANCEL, 'start')

    def reset_task_state(self, ctx: RequestContext, resource_id: str, value: str | None) -> None:
        """Set the task state by hand. A migration that is under way notices it, and ends.

        ``migration_cancelled`` cancels it by force, before its cut-over.

        :raises errors.WrongState: its cut-over failed, so both sides have data, and only the task state says so.
        """
        with ctx.db.writer() as conn:
            row, op = self.get(conn, ctx, resource_id), self.migrations.last(conn, resource_id)
            if self._is_half_done(row, op) and value != Migration.ERROR:
                raise errors.WrongState(
                    f'The cut-over of {self.migrations.name} {resource_id} failed. Its task state stays '
                    f'{Migration.ERROR} until migration_complete is repeated.',
                    code='cut_over_failed',
                )
            if self._is_under_way(op, resource_id):
                if value == Migration.CANCELLED and not Reached.from_json(op.data).cut:
                    self.migrations.cancel_by_force(conn, self.migrations.work(op, ctx))
                else:
                    _make_due(conn, ctx, op)
            self.migrations.set_task_state(conn, resource_id, value)

    def _is_half_done(self, row: Row[Any], op: Any) -> bool:
        return bool(
            op is not None
            and op.state == rows.FAILED
            and Reached.from_json(op.data).cut
            and row.status == 'error'
            and row.task_state == Migration.ERROR
        )

    def _is_under_way(self, op: Any, resource_id: str) -> TypeGuard[Row[Any]]:
        return op is not None and op.resource_id == resource_id and op.state in (rows.OPEN, rows.PARKED)

    def progress(self, ctx: RequestContext, resource_id: str) -> dict[str, Any]:
        """Return the progress of a migration: percent, task state, and known numbers of bytes and seconds.

        :raises errors.Invalid: the resource is not being migrated, and never was.
        """
        with ctx.db.reader() as conn:
            op = self.migrations.last(conn, resource_id)
            last = None if op is None else self.migrations.data.from_json(op.data)
            task_state, target = self.shown(conn, ctx, resource_id, last)
        if task_state is None or (last is None and not self.may_end_at_once):
            raise errors.Invalid(f'{self._name(resource_id)} is not being migrated.', code='not_migrating')
        return {'task_state': str(task_state), **target, **figures(last or Reached(), task_state)}

    def _name(self, resource_id: str) -> str:
        return f'{self.migrations.name.capitalize()} {resource_id}'


def must_have_left(row: Row[Any], name: str) -> None:
    """Refuse a resource whose last move is not yet a success. Its former exports may be open, and its task state can tell of
    one move only.

    :raises errors.Conflict: its task state says so.
    """
    if row.task_state == Migration.COMPLETING:
        raise errors.Conflict(
            f'{name} {row.id} is {row.task_state}: clients may still read at the place from which it moved.',
            code='former_export_open',
        )


def objection(move: Move, support: Answer) -> str | None:
    """Return the reason why a resource of any type cannot move as requested, or None."""
    if move.assist == MUST and support.compatible and not support.by_host:
        return f'the share manager of {move.host} is of an older release, which cannot copy as a host.'
    return migration_check.objection(move.to, move.options, support)


def _must_be_cancellable(data: Migrate | None, task_state: str | None) -> None:
    """Refuse to cancel a migration if the backend does not support that.

    :raises errors.Invalid: the backend said that it cannot cancel.
    """
    if data is not None and task_state in CANCELLABLE and not data.cancellable:
        raise errors.Invalid(
            f'{data.to} cannot cancel a migration; it can only be completed.',
            code='migration_not_cancellable',
        )


def _make_due(conn: Connection, ctx: RequestContext, op: Any) -> None:
    """Have the worker that has the operation go on at once."""
    rows.make_due(conn, op.id)
    engine.wake_up(ctx, op.topic, op.host, op.id, op.lane)


def task_state(value: str | None, also: Iterable[str] = ()) -> str | None:
    """Return the task state that ``value`` names.

    :raises errors.Invalid: the value is no task state, and not one of ``also``.
    """
    wanted = states.MIGRATION_ALIASES.get(value or '', value)
    known = [state for state in Migration if state not in states.BY_HOST]
    if wanted is not None and wanted not in {*known, *also}:
        raise errors.Invalid(
            f'task_state: {value!r} is not valid; it must be null or one of {", ".join(known)}.'
        )
    return wanted
