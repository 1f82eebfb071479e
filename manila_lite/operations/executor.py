# SPDX-License-Identifier: Apache-2.0
"""Runs a claimed operation through its plan, forwards or backwards, and saves where it is."""

from collections.abc import Mapping
from typing import Any

from oslo_log import log

from manila_lite import context, errors
from manila_lite.db import operations as rows
from manila_lite.db.engine import TRANSIENT
from manila_lite.operations.begin import Wake, backend_of
from manila_lite.operations.plans import Plan, Work

LOG = log.getLogger(__name__)

#: Tries, as multiples of ``max_attempts``, after which undoing is given up, and after which all is.
_UNDO_TRIES, _ALL_TRIES = 2, 3


class Executor:
    """Carries operations out for one owner. ``service`` is what the plans need."""

    def __init__(self, services: context.Services, owner: str, plans: Mapping[str, Plan], service: Any):
        self.services = services
        self.owner = owner
        self.plans = plans
        self.service = service
        self.conf = services.conf.operations

    def run(self, op: Any) -> float | None:
        """The operation has ended, or is saved where it stands; then return the seconds until it is due again here.

        :raises errors.LostClaim: somebody else took it over. Whatever else is raised: it could not be saved.
        """
        plan = self.plans.get(op.kind)
        if plan is None:
            return self._not_mine(op)
        ctx = context.RequestContext(
            user_id=op.user_id, project_id=op.project_id, request_id=op.request_id, is_admin=True,
            roles=['admin', 'member', 'reader'], services=self.services, overwrite=False)
        work = Work(op, dict(op.data), ctx, self.service, tries=op.attempts)
        again = None
        if op.attempts > _ALL_TRIES * self.conf.max_attempts:
            self._park(op, 'What is to be written at its end could not be written')
        elif op.undoing:
            self._undo(plan, work, _recalled(work), op.step)
        elif op.attempts > self.conf.max_attempts:
            # Each earlier try ended without a word: the process died in it.
            self._undo(plan, work, errors.Final('The work was interrupted too often.'), op.step)
        else:
            again = self._forward(plan, work)
        return again

    def _not_mine(self, op: Any) -> float | None:
        """A newer or older process of the same queue may know it."""
        if op.attempts > self.conf.max_attempts:
            self._park(op, f'Nobody here knows operations of kind {op.kind}')
            return None
        LOG.warning('%s: operations of kind %s are not known here', op.resource_id, op.kind)
        return self._later(op, self._delay(op.attempts))

    def _park(self, op: Any, why: str) -> None:
        LOG.error('%s: %s (operation %s) is set aside: %s', op.resource_id, op.kind, op.id, why)
        with self.services.db.writer() as conn:
            rows.finish(conn, op.id, self.owner, rows.PARKED, '; '.join(filter(None, (why, op.error))))

    def _later(self, op: Any, after: float, **values: Any) -> float:
        with self.services.db.writer() as conn:
            rows.release(conn, op.id, self.owner, after, **values)
        return after

    def _delay(self, tries: int) -> float:
        return self.conf.retry_delay * 2 ** (tries - 1)

    def _forward(self, plan: Plan, work: Work) -> float | None:
        last = len(plan.steps) - 1
        step = work.op.step
        try:
            while True:
                plan.steps[step].do(work)
                if work.send:
                    self._pass_on(work)
                    return None
                if step < last:
                    step += 1
                    self._save(work, step=step, data=work.data, attempts=1)
                    work.tries = 1
                elif self._done(plan, work):
                    return None
                else:
                    step = 0
        except (errors.LostClaim, *TRANSIENT):
            raise
        except Exception as error:
            return self._stumble(plan, work, step, error)

    def _done(self, plan: Plan, work: Work) -> bool:
        """Say whether that was all; it was not if it was asked for again meanwhile."""
        with self.services.db.writer() as conn:
            plan.done(conn, work)
            if rows.finish(conn, work.op.id, self.owner, rows.DONE, wanted=work.op.wanted):
                return True
            work.op = rows.get(conn, work.op.id)
            return False

    def _stumble(self, plan: Plan, work: Work, step: int, error: Exception) -> float | None:
        op = work.op
        if isinstance(error, errors.Again):
            return self._later(op, error.after, step=step, data=work.data, attempts=0)
        if isinstance(error, errors.Final) or work.tries >= self.conf.max_attempts:
            if isinstance(error, errors.Final):
                LOG.warning('%s: %s failed: %s', op.resource_id, op.kind, error)
            else:
                LOG.exception('%s: %s failed for good', op.resource_id, op.kind)
            self._undo(plan, work, error, step)
            return None
        delay = self._delay(work.tries)
        LOG.exception('%s: %s failed, next try in %s s', op.resource_id, op.kind, delay)
        return self._later(op, delay, step=step, data=work.data, error=str(error))

    def _undo(self, plan: Plan, work: Work, error: Exception, step: int) -> None:
        work.error = error
        _remember(work, error)
        for at in range(min(step, len(plan.steps) - 1), -1, -1):
            undo = plan.steps[at].undo
            if undo is None:
                continue
            if work.tries > _UNDO_TRIES * self.conf.max_attempts:
                LOG.error('%s: step %s of %s is not undone: the process died in that too often',
                          work.op.resource_id, at, work.op.kind)
                continue
            self._save(work, step=at, data=work.data, undoing=True, error=str(error))
            try:
                undo(work)
            except (errors.LostClaim, *TRANSIENT):
                raise
            except Exception:
                LOG.exception('%s: undoing step %s of %s failed', work.op.resource_id, at, work.op.kind)
        if work.send:
            self._pass_on(work)
            return
        with self.services.db.writer() as conn:
            plan.failed(conn, work, error)
            rows.finish(conn, work.op.id, self.owner, rows.FAILED, str(error))

    def _save(self, work: Work, **values: Any) -> None:
        with self.services.db.writer() as conn:
            rows.move(conn, work.op.id, self.owner, **values)

    def _pass_on(self, work: Work) -> None:
        topic, host = work.send
        host = backend_of(host)
        work.data.pop(_FAILURE, None)
        with self.services.db.writer() as conn:
            rows.release(conn, work.op.id, self.owner, topic=topic, host=host, step=0, data=work.data,
                         attempts=0, undoing=False, error=None)
        Wake(topic, host, work.op.id).send(work.ctx)


#: Where the data keeps what the owner may read of the error, while it is being undone.
_FAILURE = 'failure'


def _remember(work: Work, error: Exception) -> None:
    work.data[_FAILURE] = {'told': errors.told(error), 'detail': getattr(error, 'detail', None)}


def _recalled(work: Work) -> Exception:
    """The error of an undo that another process began: what was said on purpose still is, and nothing else."""
    failure = work.data.get(_FAILURE) or {}
    if failure.get('told'):
        return errors.Final(failure['told'], detail=failure.get('detail'))
    return errors.ManilaLiteError(work.op.error or 'undone')
