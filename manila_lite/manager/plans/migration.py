# SPDX-License-Identifier: Apache-2.0
"""The steps of migrations, at the target's backend: first the data, while clients work; then, at a request, the clients.

The task state of the resource shows the progress. An operator's request (complete, cancel) is a compare-and-swap of it,
which the next step finds. Up to ``wait`` every step can be undone, and the source serves as before. After it comes the
cut-over, which can only be repeated. Before the success is told, the former exports end (``former_exports.py``).

``Steps`` has the life cycle. ``share_migration.py`` and ``share_server_migration.py`` have what differs: the first step, and
the migration as a driver sees it. The last transaction is in their namesakes in ``workflow/``.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from oslo_log import log

from manila_lite import errors, values
from manila_lite.db.core.engine import TRANSIENT, Connection
from manila_lite.db.queries import operations as rows
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.host import clock
from manila_lite.manager.plans import former_exports, poll_backoff
from manila_lite.operation_data.migrations import Answer, Migrate, Progress
from manila_lite.states import COMPLETION, Migration
from manila_lite.workflow.migration import (
    Cancelled,
    M,
    Migrations,
    Phase,
    figures,
    store_answer,
    store_refusal,
)

LOG = log.getLogger(__name__)

#: Seconds after which a migration that waits for its operator is run without a wake-up.
PARKED = 3600.0
#: Seconds between looks whether the source's backend has done its part.
SOON = 0.5

#: The task states from which a step may enter its own state, including that state, since a step may run again.
_FROM = {
    Migration.IN_PROGRESS: (Migration.STARTING, Migration.IN_PROGRESS),
    Migration.DRIVER_STARTING: (Migration.IN_PROGRESS, Migration.DRIVER_STARTING),
    Migration.COPYING: (Migration.DRIVER_STARTING, Migration.COPYING),
    Migration.COPIED: (Migration.COPYING, Migration.COPIED),
    Migration.DATA_STARTING: (Migration.IN_PROGRESS, Migration.DATA_STARTING),
    Migration.DATA_COPYING: (Migration.DATA_STARTING, Migration.DATA_COPYING),
    Migration.DATA_COPIED: (Migration.DATA_COPYING, Migration.DATA_COPIED),
    Migration.DATA_COMPLETING: (Migration.DATA_COPIED, Migration.DATA_COMPLETING),
    Migration.COMPLETING: (Migration.DATA_COMPLETING, Migration.COMPLETING),
}
#: The task states of a copy that a host makes, in place of those of a driver.
_OF_HOST = {
    Migration.DRIVER_STARTING: Migration.DATA_STARTING,
    Migration.COPYING: Migration.DATA_COPYING,
    Migration.COPIED: Migration.DATA_COPIED,
}


D = TypeVar('D', bound=Migrate)


@dataclasses.dataclass(frozen=True)
class DriverCalls:
    """The methods of a driver for one resource type. Each takes the migration, a value of ``values/migrations.py``."""

    check: Callable[[Any], values.MigrationSupport]
    start: Callable[[Any], None]
    carry_on: Callable[[Any], bool]
    progress: Callable[[Any], values.MigrationProgress]
    complete: Callable[[Any], Any]
    cancel: Callable[[Any], None]
    #: Brings the last changes of a source that is read-only, and checks the copy, before the cut-over. Only hosts have it.
    catch_up: Callable[[Any], None] | None = None

    @classmethod
    def of_host(cls, work: Work[D], **methods: Callable[[Work[D], Any], Any]) -> 'DriverCalls':
        """Return methods of a host, by the names of those of a driver. Each takes the operation, too."""
        return cls(**{name: functools.partial(method, work) for name, method in methods.items()})


@dataclasses.dataclass(frozen=True)
class Steps(Generic[M]):
    """Migrations of one resource type to this backend, whose rows ``migrations`` knows.

    ``ability``: the one that a driver needs; ``refusal``: the answer of a backend without it. ``interval_option``: the option
    with the seconds between looks at a long copy. ``lock`` returns a lock for driver calls on a target, by its id; also of the
    operation that deletes it.
    """

    migrations: Migrations[M]
    ability: values.Ability
    refusal: str
    interval_option: str
    lock: Callable[[str], Any]
    #: Return the methods of the driver, and those of this host, which copies in its place.
    driver_calls: Callable[[Work[Any]], DriverCalls]
    host_calls: Callable[[Work[Any]], DriverCalls]
    #: Return the migration as it is now, for the driver. The flag says that there is no target yet.
    load: Callable[[Work[M], bool], Any]
    #: Return the migration that the note of ``workflow/migration.py: Migrations.leave_note`` is about.
    noted: Callable[[Work[Any]], Any]
    #: Keep the driver's answer to the cut-over with the operation. It is an error if something is missing in it.
    keep: Callable[[Work[M], Any, Any], None]
    #: Return the answer of the driver to a check, which the function asks for, with what only this resource type has.
    complete_answer: Callable[[Work[M], Callable[[], Answer]], Answer] = lambda _, ask: ask()

    def calls(self, work: Work[Any]) -> DriverCalls:
        """Return the driver's methods, or those of this host in its place."""
        return (self.host_calls if work.data.by_host else self.driver_calls)(work)

    # Check ----------------------------------------------------------------------------------------

    def check(self, work: Work[M]) -> None:
        """Store the answer of the driver, or that of this host if it can copy in its place."""
        data = work.data
        if data.assist != 'must':
            try:
                data.support = self.complete_answer(work, lambda: self._ask_driver(work))
            except errors.Final as refused:
                data.support = Answer(False, reason=errors.user_text(refused))
        if data.support is None or (data.assist == 'may' and not data.support.compatible):
            data.support = self._ask_host(work, data.support.reason if data.support else '')

    def _ask_driver(self, work: Work[M]) -> Answer:
        """Return the answer of the driver.

        :raises errors.Final: it refuses.
        """
        if self.ability not in abilities_of(work.service.driver):
            return Answer(False, reason=self.refusal)
        support = self.driver_calls(work).check(self.load(work, True))
        return Answer(**dataclasses.asdict(support))

    def _ask_host(self, work: Work[M], refusal: str) -> Answer:
        """Return the answer of this host. ``refusal``: that of the driver, if it was asked."""
        support = self.host_calls(work).check(self.load(work, True))
        if refusal and not support.compatible:
            reason = f'{refusal} Its host cannot copy the {self.migrations.name}, either: {support.reason}'
            support = dataclasses.replace(support, reason=reason)
        return Answer(**dataclasses.asdict(support), by_host=True)

    # Phase one: can be repeated and undone --------------------------------------------------------

    def enter(self, work: Work[M], state: Migration, unless: Migration | None = None) -> bool:
        """Set the task state to ``state``; return False if it is ``unless``.

        :raises Cancelled: the migration was cancelled.
        :raises errors.Final: an administrator set another state by hand.
        """
        with work.writer() as conn:
            if self.migrations.swap_task_state(conn, work.resource_id, _FROM[state], state):
                return True
            now = self.migrations.task_state(conn, work.resource_id)
        if unless is not None and now == unless:
            return False
        if now == Migration.CANCELLING:
            raise Cancelled
        raise errors.Final(
            f'The migration of {self.migrations.name} {work.resource_id} was stopped: its task state is {now}.'
        )

    def freeze(self, work: Work[M]) -> None:
        """Make the source's access rules read-only, where this backend cannot copy otherwise.

        From then on something of the copy may be at this backend.

        :raises errors.Again: the source's backend has not done it yet.
        """
        self.enter(work, Migration.IN_PROGRESS)
        if work.data.freeze:
            self.make_readonly(work)
        work.data.left = True  # saved before the next step: a process that dies in cancel can save nothing

    def make_readonly(self, work: Work[M]) -> None:
        """Make the source's access rules read-only.

        :raises errors.Again: the source's backend has not done it yet.
        """
        if work.data.is_readonly:  # the operation ended, perhaps so long ago that its row was deleted
            return
        if not work.data.frozen:
            work.data.frozen = self.apply(work, readonly=True)
        await_operation(
            work,
            work.data.frozen,
            f'The backend of the {self.migrations.name} could not make its access rules read-only.',
        )
        work.data.is_readonly = True

    def thaw(self, work: Work[M]) -> None:
        """Have the source's backend make the access rules writable again. The migration does not wait for that."""
        # A host that copies has access by a rule of its own, which ends with this.
        if not work.data.cut and (work.data.freeze or work.data.by_host):
            self.apply(work, readonly=False)

    def apply(self, work: Work[M], *, readonly: bool) -> str:
        """Have the source's backend apply the access rules. Return the id of its operation."""
        with work.ctx.db.writer() as conn:
            self.migrations.lock(conn, work.resource_id)
            work.hold(conn)
            return self.migrations.apply_rules(
                conn, work.ctx, work.resource_id, work.data, readonly=readonly
            ).operation_id

    def start(self, work: Work[M]) -> None:
        """Have the backend begin to copy."""
        self.enter(work, of(work, Migration.DRIVER_STARTING))
        with self.lock(work.data.target):
            self.calls(work).start(self.load(work, False))

    def cancel(self, work: Work[M]) -> None:
        """Delete the copy at the backend."""
        if work.data.cut:
            return
        work.data.left = True  # an older release noted it only here
        with self.lock(work.data.target):
            self.calls(work).cancel(self.load(work, False))
        work.data.left = False

    def clear(self, work: Work[Any]) -> None:
        """Delete the copy of a migration that was cancelled by force."""
        noted = self.noted(work)
        with self.lock(noted.id):
            self.calls(work).cancel(noted)

    def copy(self, work: Work[M]) -> None:
        """Continue the copy until it is as near to the source as possible.

        :raises errors.Again: it is not yet; ``progress`` of the data tells how far it is.
        """
        self.enter(work, of(work, Migration.COPYING))
        migration, calls = self.load(work, False), self.calls(work)
        with self.lock(work.data.target):
            finished = calls.carry_on(migration)
            if not isinstance(finished, bool):
                raise errors.ManilaLiteError(
                    f'The backend reported an invalid progress of the copy: {finished!r}.'
                )
            progress = calls.progress(migration)
        work.data.progress = Progress(**dataclasses.asdict(progress))
        seconds_left = figures(work.data, Migration.COPYING)['seconds_left']
        work.data.progress = dataclasses.replace(work.data.progress, seconds_left=seconds_left)
        if not finished:
            raise poll_backoff.poll_again(work, getattr(work.service.section, self.interval_option))

    def wait(self, work: Work[M]) -> None:
        """Wait until the operator asks for the cut-over, unless it was asked for at the beginning.

        :raises errors.Again: the operator has not decided yet.
        """
        ready = of(work, Migration.COPIED)
        parked = self.enter(work, ready, unless=COMPLETION[ready])
        if not work.data.copied:
            self.migrations.announce_end(work, Phase.COPY)
            work.data.copied = True
        if parked and not (work.data.by_itself and self._complete(work)):
            raise errors.Again(PARKED)
        # A host has changes to copy and to check, until which everything can be undone.
        work.data.cut = not work.data.by_host

    def _complete(self, work: Work[M]) -> bool:
        """Begin the cut-over, unless the migration was cancelled just before. Say whether it begins."""
        ready = of(work, Migration.COPIED)
        with work.writer() as conn:
            if not self.migrations.swap_task_state(conn, work.resource_id, (ready,), COMPLETION[ready]):
                return False
            begun = dataclasses.replace(work.data, cut=True)
            self.migrations.announce(work.ctx, work.resource_id, begun, Phase.COMPLETE, 'start', work.op.host)
        return True

    def catch_up(self, work: Work[M]) -> None:
        """Copy the last changes, if a host copies, with nobody writing any more. Up to here everything can be undone.

        :raises errors.Again: it goes on.
        """
        catch_up = self.calls(work).catch_up
        if catch_up and self.enter(work, Migration.DATA_COMPLETING, unless=Migration.COMPLETING):
            self.make_readonly(work)
            with self.lock(work.data.target):
                catch_up(self.load(work, False))
            self.enter(work, Migration.COMPLETING)
        work.data.cut = True

    # Phase two: forward only ----------------------------------------------------------------------

    def cut_over(self, work: Work[M]) -> None:
        """Move the clients' access from the source to the target."""
        with work.ctx.db.reader() as conn:
            self.migrations.check_cut_over(conn, work.resource_id)
        former_exports.forget(work)
        migration = self.load(work, False)
        with self.lock(work.data.target), _patience(work):
            moved = self.calls(work).complete(migration)
        self.keep(work, migration, moved)

    def close(self, work: Work[M]) -> None:
        """End the former exports, before anybody is told where the target is.

        :raises errors.Again: the source's backend has not done it yet.
        """
        former_exports.close(work, self.migrations)

    def fail(self, conn: Connection, work: Work[M], error: Exception) -> None:
        """Restore everything if the cut-over has not begun. Else set all that moves to error, for another try."""
        (self.migrations.fail_cut_over if work.data.cut else self.migrations.give_up)(conn, work, error)

    # Plans ----------------------------------------------------------------------------------------

    def plans(self, first: Step[M]) -> list[Plan[M]]:
        """Return the plans of check and migration; ``first`` is the step that gives the target its place."""
        return [
            Plan(
                self.migrations.check_kind,
                (Step(self.check),),
                store_answer,
                store_refusal,
                data=self.migrations.data,
            ),
            Plan(
                self.migrations.kind,
                (
                    first,
                    Step(self.freeze, self.thaw),
                    Step(self.start, self.cancel),
                    Step(self.copy),
                    Step(self.wait),
                    Step(self.catch_up),
                    Step(self.cut_over),
                    Step(self.close),
                ),
                self.migrations.finish,
                self.fail,
                data=self.migrations.data,
            ),
        ]


def of(work: Work[Migrate], state: Migration) -> Migration:
    """Return the task state of a step, which has another name if a host copies."""
    return _OF_HOST[state] if work.data.by_host else state


@contextlib.contextmanager
def _patience(work: Work[Migrate]) -> Iterator[None]:
    """Repeat a cut-over whose backends could not be reached, as long as a worker may be silent: ``[operations] lease``.

    :raises errors.Again: it is to be repeated.
    :raises errors.Final: it failed for too long.
    """
    try:
        yield
    except (errors.Final, errors.Again, errors.LostClaim, *TRANSIENT):
        raise
    except Exception as error:
        conf = work.ctx.conf.operations
        now = clock.timestamp()
        took = now - (work.data.cut_over_fails_since or now)
        work.data.cut_over_fails_since = now - took
        LOG.exception('%s: the cut-over failed since %.0f s', work.resource_id, took)
        if took < conf.lease:
            raise errors.Again(conf.retry_delay, str(error)) from error
        work.data.cut_over_fails_since = None  # the next request to complete has all the time again
        raise errors.Final(f'The backends did not complete the cut-over for {took:.0f} seconds.') from error
    work.data.cut_over_fails_since = None


def await_operation(work: Work[Any], operation_id: str, refusal: str) -> None:
    """Wait for another operation, which this one began.

    :raises errors.Again: it has not ended yet.
    :raises errors.Final: it failed; ``refusal`` begins the message, and the reason follows if it is known.
    """
    with work.ctx.db.reader() as conn:
        op = rows.get(conn, operation_id)
    if op is not None and op.state == rows.OPEN:
        raise errors.Again(SOON)
    if op is None or op.state != rows.DONE:
        reason = '' if op is None else rows.get_reason(op)
        raise errors.Final(f'{refusal} {reason}'.strip())
