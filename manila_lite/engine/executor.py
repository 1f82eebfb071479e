# SPDX-License-Identifier: Apache-2.0
"""The executor: it runs a claimed operation through its plan, forwards or backwards, and saves the position."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, metrics
from manila_lite.db.core.conflicts import repeating
from manila_lite.db.core.engine import TRANSIENT, Connection
from manila_lite.db.queries import operation_claims as claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import Wake, backend_of
from manila_lite.engine.ends import End, Ends
from manila_lite.engine.environment import REAL, Environment
from manila_lite.engine.plans import Plan, Work
from manila_lite.operation_data import Failure

LOG = log.getLogger(__name__)

#: Tries, as a multiple of ``max_attempts``, after which an operation that cannot write its end is parked.
_ALL_TRIES = 2
#: Seconds until a step is done again, if the backend left this host while the step ran.
_AWAY = 1.0


class _Away(errors.Again):
    """The backend was not on this host all the time, so the outcome of the step does not count."""


class Executor:
    """Executor of operations for one owner. ``service`` is what the plans need."""

    def __init__(
        self,
        services: context.Services,
        owner: str,
        plans: Mapping[str, Plan[Any]],
        service: Any,
        environment: Environment = REAL,
    ):
        self.services = services
        self.owner = owner
        self.plans = plans
        self.service = service
        self.conf = services.conf.operations
        self._ends = Ends(services.db, owner, environment)
        #: Returns one text as long as the backend is on this host, and '' while it is not. Called before and after a step.
        self.presence: Callable[[], str] = lambda: 'always'

    def begun(self, op: Any, loaded: Any = None) -> Work[Any]:
        """Return the work of an operation whose kind is known here.

        :raises ValueError: its data are not those of its kind.
        """
        return Work(
            op,
            self.plans[op.kind].data.from_json(op.data),
            context.of_operation(op, self.services),
            self.service,
            tries=op.attempts,
            loaded=loaded,
        )

    def run(self, op: Any, loaded: Any = None) -> float | None:
        """Run the operation until it ends or must wait. Return the seconds until it is due again here, or None.

        ``loaded``: what ``prepare`` read for it.

        :raises errors.LostClaim: another worker took it over. Any other error: the operation could not be saved.
        """
        plan = self.plans.get(op.kind)
        if plan is None:
            return self._not_mine(op, f'operations of kind {op.kind}')
        step = plan.position(op)
        if step is None:
            return self._not_mine(op, f'step {rows.step_name(op) or op.step} of {op.kind}')
        try:
            work = self.begun(op, loaded)
        except ValueError as bad:
            return self._not_mine(op, f'data of {op.kind} like these ({bad})')
        again = None
        if op.attempts > _ALL_TRIES * self.conf.max_attempts:
            self._park(op, 'Its result could not be written')
        elif op.undoing:
            again = self._undo(plan, work, _recalled(work), step)
        elif op.attempts > self.conf.max_attempts:
            # Each earlier try ended without a result: the process died in it.
            again = self._undo(plan, work, errors.Final('The work was interrupted too often.'), step)
        else:
            again = self._forward(plan, work, self._from(plan, work, step))
        return again

    @staticmethod
    def _from(plan: Plan[Any], work: Work[Any], step: int) -> int:
        """Return the step to go on with: the first one if a newer request outdates the round that waited or crashed."""
        return 0 if plan.restartable and work.op.requested_count > work.asked else step

    def step_values(self, op: Any) -> dict[str, Any]:
        """Return the values that say at which step the operation goes on, by its plan here. None if there is no such step."""
        plan = self.plans.get(op.kind)
        step = None if plan is None else plan.position(op)
        return {} if plan is None or step is None else plan.at(step)

    def _not_mine(self, op: Any, what: str) -> float | None:
        """Put the operation off: a newer or older process of the queue may know it. After too many tries, park it."""
        if op.attempts > self.conf.max_attempts:
            self._park(op, f'Nobody here knows {what}')
            return None
        LOG.warning('%s: nobody here knows %s', op.resource_id, what)
        return self._later(op, self._delay(op.attempts))

    def _park(self, op: Any, why: str) -> None:
        LOG.error('%s: %s (operation %s) is set aside: %s', op.resource_id, op.kind, op.id, why)
        error = '; '.join(filter(None, (why, op.error)))
        self.services.db.write(
            lambda conn: claims.finish(conn, op.id, self.owner, rows.PARKED, error, error_code=op.error_code)
        )
        self._count(op, rows.PARKED)

    def _count(self, op: Any, outcome: str) -> None:
        age = (timeutils.utcnow() - op.created_at).total_seconds()
        LOG.info('%s: %s is %s after %.1f s', op.resource_id, op.kind, outcome, age)
        metrics.ended(op.kind if op.kind in self.plans else metrics.OTHER, outcome, age)

    def _later(self, op: Any, after: float, **values: Any) -> float:
        self.services.db.write(
            lambda conn: claims.postpone(conn, op.id, self.owner, after, op.next_run_at, **values)
        )
        return after

    def _delay(self, tries: int) -> float:
        return float(self.conf.retry_delay * 2 ** (tries - 1))

    def _forward(self, plan: Plan[Any], work: Work[Any], step: int) -> float | None:
        last = len(plan.steps) - 1
        try:
            while True:
                if step == 0 and len(plan.steps) > 1 and work.op.unique_key:
                    work.begin_round()
                self._act(plan.steps[step].do, work)
                if work.send:
                    self._pass_on(work)
                    return None
                if step < last:
                    step, work.tries = step + 1, 1
                    self._save(work, **plan.at(step), data=work.data.to_json(), attempts=1)
                elif self._done(plan, work):
                    return None
                else:
                    step = 0
        except (errors.LostClaim, *TRANSIENT):
            raise
        except Exception as error:
            return self._stumble(plan, work, step, error)

    def _act(self, act: Callable[[Work[Any]], None], work: Work[Any]) -> None:
        """Do or undo a step.

        :raises _Away: the backend was elsewhere; even a final error of the driver may only mean that.
        """
        before = self.presence()
        if not before:
            raise _Away(_AWAY)
        tries = itertools.count()

        def attempt() -> None:
            if next(tries):
                work.start_over()
            act(work)

        try:
            repeating(attempt)()  # every step may be
        finally:
            if self.presence() != before:
                raise _Away(_AWAY)

    def _done(self, plan: Plan[Any], work: Work[Any]) -> bool:
        """Say whether the operation has ended. It has not if it was asked for again meanwhile."""
        ended: bool = self._ends.put(End(plan, work))
        if ended:
            self._count(work.op, rows.DONE)
        return ended

    def _stumble(self, plan: Plan[Any], work: Work[Any], step: int, error: Exception) -> float | None:
        op = work.op
        if isinstance(error, errors.Again):
            return self._later(op, error.after, **plan.at(step), data=work.data.to_json(), attempts=0)
        work.tries = self._tries(work)
        if isinstance(error, errors.Final) or work.tries >= self.conf.max_attempts:
            if isinstance(error, errors.Final):
                LOG.warning('%s: %s failed: %s', op.resource_id, op.kind, error)
            else:
                LOG.exception('%s: %s failed for good', op.resource_id, op.kind)
            return self._undo(plan, work, error, step)
        delay = self._delay(work.tries)
        LOG.exception('%s: %s failed, next try in %s s', op.resource_id, op.kind, delay)
        # If the step is not the claimed one, the row's attempts may not have been saved for this step.
        tries = {'attempts': work.tries} if step != plan.position(op) else {}
        return self._later(
            op,
            delay,
            **plan.at(step),
            data=work.data.to_json(),
            error=str(error),
            error_code=_code(error),
            **tries,
        )

    def _undo(self, plan: Plan[Any], work: Work[Any], error: Exception, step: int) -> float | None:
        """Undo the operation as far as possible and end it as failed, or put it off for another try; return as ``run``."""
        work.error = error
        work.send, work.passed = (
            None,
            False,
        )  # an operation that is undone is not passed on, unless the undo says so
        _remember(work, error)
        resumed = work.op.undoing
        for at in range(step, -1, -1):
            if plan.steps[at].undo is None:
                continue
            if not resumed:
                self._save(
                    work,
                    **plan.at(at),
                    data=work.data.to_json(),
                    undoing=True,
                    attempts=1,
                    error=str(error),
                    error_code=_code(error),
                )
                work.tries = 1
            resumed = False
            again = self._undo_step(plan, work, at)
            if again is not None:
                return again
        if work.send:
            self._pass_on(work)  # type: ignore[unreachable]  # an undo sets it
            return None
        if not self.services.db.write(lambda conn: self._fail(conn, plan, work, error)):
            return self._later(
                work.op, 0.0, **plan.at(0), data=work.data.to_json(), attempts=0, undoing=False
            )
        self._count(work.op, rows.FAILED)
        return None

    def _fail(self, conn: Connection, plan: Plan[Any], work: Work[Any], error: Exception) -> bool:
        """End the operation as failed. Return False if it was asked for again meanwhile."""
        # With the error text that the owner may read.
        claims.move(conn, work.op.id, self.owner, data=work.data.to_json())
        # From here to the end of the transaction nobody asks for it again.
        if self._is_outdated(conn, plan, work):
            return False
        plan.failed(conn, work, error)
        claims.finish(conn, work.op.id, self.owner, rows.FAILED, str(error), error_code=_code(error))
        return True

    @staticmethod
    def _is_outdated(conn: Connection, plan: Plan[Any], work: Work[Any]) -> bool:
        """Say whether a newer request came after the one whose round failed. The newer request then has all its tries."""
        if not plan.repeatable:
            return False
        row = rows.get(conn, work.op.id)
        return row is not None and row.requested_count > work.asked

    def _undo_step(self, plan: Plan[Any], work: Work[Any], at: int) -> float | None:
        """Undo the step. Give up after as many tries as ``do`` has. Return the seconds until the next try."""
        where = f'{work.op.resource_id}: undoing step {plan.steps[at].name} of {work.op.kind}'
        if work.tries > self.conf.max_attempts:
            LOG.error('%s is given up: the process died in it too often', where)
            return None
        try:
            self._act(plan.steps[at].undo, work)  # type: ignore[arg-type]  # the caller has looked
        except (errors.LostClaim, *TRANSIENT):
            raise
        except errors.Again as later:
            return self._later(work.op, later.after, data=work.data.to_json(), attempts=0)
        except Exception as bad:
            LOG.exception('%s failed', where)
            work.tries = self._tries(work)
            if not isinstance(bad, errors.Final) and work.tries < self.conf.max_attempts:
                return self._later(work.op, self._delay(work.tries), data=work.data.to_json())
        return None

    def _tries(self, work: Work[Any]) -> int:
        """Return how often the step was begun since it last saved its progress. Only the row knows that."""
        with self.services.db.reader() as conn:
            row = rows.get(conn, work.op.id)
        return work.tries if row is None else min(work.tries, row.attempts)

    def _save(self, work: Work[Any], **values: Any) -> None:
        self.services.db.write(lambda conn: claims.move(conn, work.op.id, self.owner, **values))

    def _pass_on(self, work: Work[Any]) -> None:
        topic, host = work.send  # type: ignore[misc]  # the caller has looked
        if not work.passed:
            work.data.failure = None
            self.services.db.write(lambda conn: work.pass_on(conn, topic, backend_of(host)))
        wake(work)


def wake(work: Work[Any]) -> None:
    """Tell the queue to which the operation was passed on that it has work."""
    topic, host = work.send  # type: ignore[misc]  # it was passed on
    Wake(topic, backend_of(host), work.op.id, work.op.lane).send(work.ctx)


def _remember(work: Work[Any], error: Exception) -> None:
    work.data.failure = Failure(errors.user_text(error), getattr(error, 'detail', None))


def _recalled(work: Work[Any]) -> Exception:
    """Return the error of an undo that another process began. Only its texts and its code are left."""
    failure = work.data.failure
    if failure is not None and failure.told:
        return errors.Final(failure.told, detail=failure.detail, code=work.op.error_code)
    return errors.ManilaLiteError(work.op.error or 'undone', code=work.op.error_code)


def _code(error: Exception) -> str | None:
    """Return the code of the error, if it was raised on purpose."""
    return error.code if isinstance(error, errors.ManilaLiteError) else None
