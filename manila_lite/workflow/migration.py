# SPDX-License-Identifier: Apache-2.0
"""The life of migrations in the database: their names, their ends and their notifications.

Shares and share servers migrate in the same way. ``Migrations`` has everything that is the same; its two subclasses, the
adapters in ``share_migration.py`` and ``share_server_migration.py``, have what differs. The requests are in
``actions/migration.py``, the steps in ``manager/plans/migration.py``.
"""

import abc
import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import messages, operation_claims, operations
from manila_lite.engine.begin import Wake
from manila_lite.engine.plans import Work
from manila_lite.operation_data.left_copies import Left
from manila_lite.operation_data.migrations import Answer, Migrate, Progress, Reached
from manila_lite.rpc import notifications
from manila_lite.states import Migration

LOG = log.getLogger(__name__)


class Cancelled(errors.Final):
    """The migration was called off."""

    code = 'migration_cancelled'


def is_cancelled(error: Exception) -> bool:
    """Say whether the migration was cancelled. If another process began the end, only the error's code is left."""
    return isinstance(error, errors.ManilaLiteError) and error.code == Cancelled.code


_KEPT = 'All data is kept, and an administrator can repeat migration_complete.'
_STILL_OPEN = (
    'Clients could still read outdated data at the former export locations: their backend did not close them.'
)


M = TypeVar('M', bound=Migrate)


class Phase(enum.StrEnum):
    """A phase of a migration, as notifications name it."""

    COPY = 'migrate'
    COMPLETE = 'migration_complete'
    CANCEL = 'migration_cancel'


class Migrations(abc.ABC, Generic[M]):
    """Migrations of one resource type. ``kind`` and ``check_kind`` are the kinds of their operations, with these ``data``."""

    data: type[M]
    kind: str
    check_kind: str
    #: The kinds of the operations that delete the copy of a migration that was cancelled by force, and that end the former
    #: exports.
    clear_kind: str
    close_kind: str
    resource_type: str
    #: The verbs of ``states.py`` for the shares and snapshots that move.
    migrate_verb: str
    cut_over_verb: str
    #: The actions in user messages about a migration that failed, by phase.
    message_actions: Mapping[Phase, messages.Action]
    #: The part of the target that stays if the copy cannot be removed, for people.
    leftover: str
    #: Return the rows of the shares, and of the snapshots, that move with a resource.
    shares: Callable[[Connection, str], list[Any]]
    snapshots: Callable[[Connection, str], list[Any]]
    #: Return the operation of the last migration of a resource, or None.
    last: Callable[[Connection, str], operations.Operation | None]

    @property
    def name(self) -> str:
        """The name of the resource type, for people."""
        return self.resource_type.replace('_', ' ')

    def work(self, op: Any, ctx: context.RequestContext) -> Work[M]:
        """Return the work on a migration, a row, outside of its plan."""
        return Work(op, self.data.from_json(op.data), ctx, None)

    def swap_task_state(
        self, conn: Connection, resource_id: str, allowed: Iterable[str | None], to: str | None
    ) -> bool:
        """Set the task state of a resource to another if it is one of several. Say whether it was."""
        return transitions.swap_task_state(conn, self.resource_type, resource_id, allowed, to)

    def set_task_state(self, conn: Connection, resource_id: str, value: str | None) -> None:
        """Set the task state, from any other."""
        transitions.set_task_state(conn, self.resource_type, resource_id, value)

    # What differs ---------------------------------------------------------------------------------

    @abc.abstractmethod
    def task_state(self, conn: Connection, resource_id: str) -> str | None:
        """Return the present task state."""

    @abc.abstractmethod
    def restore_source(self, conn: Connection, work: Work[M], task_state: Migration) -> None:
        """Set the source as it was before, with this task state. Its shares and snapshots are so already."""

    @abc.abstractmethod
    def remove_target(self, conn: Connection, work: Work[M]) -> None:
        """Delete the target and its claim of capacity, or set it to error if its copy could not be removed."""

    @abc.abstractmethod
    def keep_failed(self, conn: Connection, work: Work[M]) -> None:
        """Set source and target to error. Shares and snapshots are so already."""

    @abc.abstractmethod
    def apply_rules(
        self, conn: Connection, ctx: context.RequestContext, resource_id: str, data: M, *, readonly: bool
    ) -> Wake:
        """Have the source's backend apply the access rules, read-only or as they are. ``data`` is the operation's."""

    @abc.abstractmethod
    def leave_note(self, conn: Connection, work: Work[M]) -> None:
        """Begin the operation that deletes target and copy, in the queue of the target's backend, which may be down."""

    @abc.abstractmethod
    def payload(self, resource_id: str, data: M) -> dict[str, Any]:
        """Return the part of notifications that only this resource type has; ``data`` is the operation's."""

    @abc.abstractmethod
    def begin_cut_over(self, conn: Connection, resource_id: str, target: str) -> None:
        """Set the resource, its target and its parts from error to migrating.

        :raises errors.WrongState: one of these is not in error any more.
        """

    @abc.abstractmethod
    def close(self, conn: Connection, ctx: context.RequestContext, resource_id: str, data: M) -> Wake | None:
        """Have the source's backend end the former exports. Return None if the driver of the target has done so."""

    @abc.abstractmethod
    def finish(self, conn: Connection, work: Work[M]) -> None:
        """Put the target in the place of the source. Begin the deletion of the source."""

    def lock(self, conn: Connection, resource_id: str) -> None:
        """Lock rows that must be locked before all others."""

    def check_cut_over(self, conn: Connection, resource_id: str) -> None:
        """Refuse a cut-over that an administrator stopped by hand.

        :raises errors.Final: it was stopped.
        """

    # Ends -----------------------------------------------------------------------------------------

    def settle(self, conn: Connection, work: Work[M], verb: str, *, ok: bool) -> None:
        """End the verb for the shares and snapshots that move, as far as they are in its transient status."""
        for machine, row_ids in (
            (states.SHARE, [row.instance_id for row in self.shares(conn, work.resource_id)]),
            (states.SNAPSHOT, [row.id for row in self.snapshots(conn, work.resource_id)]),
        ):
            status = machine[verb].ok if ok else machine[verb].fail
            transitions.settle(conn, machine, row_ids, machine[verb].during, status or '')

    def give_up(self, conn: Connection, work: Work[M], error: Exception) -> None:
        """End a migration before its cut-over, at any step: restore the source, and remove the target."""
        self.lock(conn, work.resource_id)
        cancelled = is_cancelled(error)
        self.settle(conn, work, self.migrate_verb, ok=False)
        self.restore_source(conn, work, Migration.CANCELLED if cancelled else Migration.ERROR)
        self.remove_target(conn, work)
        if not cancelled:
            self._report_failure(conn, work, Phase.COPY, error)
        elif work.data.left:
            self._report_failure(
                conn,
                work,
                Phase.CANCEL,
                errors.Final(
                    f'The copied data could not be deleted at the backend; delete the {self.leftover}.'
                ),
            )
        else:
            self.announce_end(work, Phase.CANCEL)

    def cancel_by_force(self, conn: Connection, work: Work[M]) -> None:
        """Cancel a migration before its cut-over without the target's backend, which may never be up again.

        The source is as before at once. If the target's backend is ever up, it finds a note to delete the copy.

        :raises errors.WrongState: the migration has ended, or its cut-over has begun.
        """
        op = work.op
        self.lock(conn, op.resource_id)
        if work.data.cut or not operations.call_off(conn, op, str(Cancelled()), Cancelled.code):
            raise errors.WrongState(
                f'The migration of {self.name} {op.resource_id} cannot be cancelled: it has ended, or '
                'its cut-over has begun.'
            )
        self.settle(conn, work, self.migrate_verb, ok=False)
        self.restore_source(conn, work, Migration.CANCELLED)
        if work.data.freeze or work.data.by_host:
            self.apply_rules(conn, work.ctx, op.resource_id, work.data, readonly=False)
        if op.host:
            self.leave_note(conn, work)
        else:  # still with the scheduler
            self.remove_target(conn, work)
        self.announce(work.ctx, op.resource_id, work.data, Phase.CANCEL, 'end')

    def fail_cut_over(self, conn: Connection, work: Work[M], error: Exception) -> None:
        """Set everything that moves to error, and keep it for another try."""
        self.lock(conn, work.resource_id)
        self.settle(conn, work, self.cut_over_verb, ok=False)
        self.keep_failed(conn, work)
        reason = ' '.join(filter(None, (errors.user_text(error), _KEPT)))
        self._report_failure(
            conn, work, Phase.COMPLETE, errors.Final(reason, detail=getattr(error, 'detail', None))
        )

    def task_state_at_end(
        self, conn: Connection, work: Work[M], owners: Mapping[str, str], left: Left, moved: str
    ) -> Migration:
        """Return the task state at the end. If the former exports have not ended, tell the owners of the shares, and have the
        operation that deletes the source, whose data is ``left``, set it to a success.

        ``owners``: projects by shares. ``moved``: the share, or the target.
        """
        if work.data.closed:
            return Migration.SUCCESS
        # The deletion of the source ends the exports, too.
        operations.supersede(conn, work.resource_id, (self.close_kind,))
        text = _STILL_OPEN
        LOG.warning('%s: %s It is %s.', work.resource_id, text, work.data.source_host)
        messages.create_many(
            conn,
            work.ctx,
            'SHARE',
            owners,
            messages.Action.COMPLETE_MIGRATION,
            messages.Detail.FORMER_EXPORT_OPEN,
            text,
        )
        left.former_export_of = moved
        return Migration.COMPLETING

    def _report_failure(self, conn: Connection, work: Work[M], phase: Phase, error: Exception) -> None:
        self.notify(conn, work, phase, error)
        self.announce_end(work, phase, error)

    def notify(self, conn: Connection, work: Work[M], phase: Phase, error: Exception) -> None:
        """Leave user messages: why the migration failed, and for owners of shares and snapshots that are in error."""
        action, detail, reason = (
            self.message_actions[phase],
            messages.Detail.of(error),
            errors.user_text(error),
        )
        messages.create(conn, work.ctx, self.resource_type.upper(), work.resource_id, action, detail, reason)
        parts = {
            'SHARE': self.shares(conn, work.resource_id),
            'SHARE_SNAPSHOT': self.snapshots(conn, work.resource_id),
        }
        for part, rows in parts.items():
            # A share that moves by itself has its message already.
            owners = {
                row.id: row.project_id for row in rows if row.status == 'error' and row.id != work.resource_id
            }
            messages.create_many(conn, work.ctx, part, owners, action, detail, reason)

    # Notifications --------------------------------------------------------------------------------

    def announce_end(self, work: Work[M], phase: Phase, error: Exception | None = None) -> None:
        """Emit the notification that the phase has ended, with this error if it failed."""
        self.announce(
            work.ctx,
            work.resource_id,
            work.data,
            phase,
            'end' if error is None else 'error',
            work.op.host,
            error,
        )

    def announce(
        self,
        ctx: context.RequestContext,
        resource_id: str,
        data: M,
        phase: Phase,
        event: str,
        host: str | None = None,
        error: Exception | None = None,
    ) -> None:
        """Emit a notification: ``event`` of the phase is start, end or error. See ``rpc.notifications`` for ``host``.

        ``data`` is the operation's.
        """
        payload = {'phase': 2 if data.cut else 1, **self.payload(resource_id, data)}
        if data.phase_one_began is not None:
            payload['seconds'] = round(timeutils.utcnow_ts(microsecond=True) - data.phase_one_began, 3)
        if error is not None:
            payload['error'] = errors.reason(error, ctx.request_id)
        notifications.emit(ctx, f'{self.resource_type}.{phase}.{event}', payload, host)


# Checks ---------------------------------------------------------------------------------------------


def store_answer(conn: Connection, work: Work[Migrate]) -> None:
    """Store the answer of a check."""
    operation_claims.move(conn, work.op.id, work.op.owner, data=work.data.to_json())


def store_refusal(conn: Connection, work: Work[Migrate], error: Exception) -> None:
    """Store the failure of a check as its answer, with the reason if it is for users."""
    work.data.support = Answer(False, reason=errors.reason(error, work.ctx.request_id))
    store_answer(conn, work)


# Progress -------------------------------------------------------------------------------------------


def figures(data: Reached, task_state: str) -> dict[str, Any]:
    """Return percent, phase, bytes and seconds of a migration, from its operation's data."""
    known = data.progress or Progress()
    copied = task_state in (
        Migration.SUCCESS,
        Migration.COMPLETING,
        *states.COMPLETION,
        *states.COMPLETION.values(),
    )
    percent = 100 if copied else known.percent
    done, total = known.bytes_done, known.bytes_total
    now = timeutils.utcnow_ts(microsecond=True)
    took = max(now - (data.phase_one_began or now), 0.001)
    rate = done / took if done else None
    phase = 2 if data.cut or task_state in (Migration.SUCCESS, *states.COMPLETION.values()) else 1
    more = {
        name: value
        for name, value in {
            'files_done': known.done,
            'files_total': known.total,
            'passes': data.passes or None,
            'pass_seconds': data.pass_seconds,
        }.items()
        if value is not None
    }
    return {
        **more,
        'total_progress': percent,
        'phase': phase,
        'bytes_done': done,
        'bytes_total': total,
        'bytes_per_second': int(rate) if rate else None,
        'seconds_left': (
            int((total - done) / rate) if done and rate and total is not None and percent < 100 else None
        ),
    }
