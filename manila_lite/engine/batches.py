# SPDX-License-Identifier: Apache-2.0
"""Operations that begin together, and share the SQL statements that pass them on, or read their rows."""

import contextlib
from collections.abc import Sequence
from typing import Any

from oslo_log import log

from manila_lite import errors, trace
from manila_lite.engine.executor import Executor, wake
from manila_lite.engine.plans import Plan, Work

LOG = log.getLogger(__name__)


class Batches:
    """Batches of the claimed operations of an executor. If a batch fails, its operations run one by one."""

    def __init__(self, executor: Executor):
        self._executor = executor

    def split(self, ops: Sequence[Any]) -> list[list[Any]]:
        """Return the claimed operations in groups: those that ``run`` can run together, and the others alone."""
        groups: list[list[Any]] = []
        shared: dict[str, list[Any]] = {}
        for op in ops:
            if not self.takes_many(op):
                groups.append([op])
            elif op.kind in shared:
                shared[op.kind].append(op)
            else:
                groups.append(shared.setdefault(op.kind, [op]))
        return groups

    def takes_many(self, op: Any) -> bool:
        """Say whether the operation can run together with others of its kind."""
        return self._is_fresh(op) and self._executor.plans[op.kind].steps[0].many is not None

    def _is_fresh(self, op: Any) -> bool:
        """Say whether the operation begins now, on its first try. An operation that is tried again runs alone, since it may
        be the one that made the earlier try fail for all.
        """
        return (
            op.kind in self._executor.plans
            and op.attempts == 1
            and op.step == 0
            and not op.undoing
            and trace.DATA not in op.data
        )

    def run(self, ops: Sequence[Any]) -> list[Any]:
        """Pass a group of ``split`` on together. Return those of its operations that have to be run one by one."""
        many = self._executor.plans[ops[0].kind].steps[0].many
        try:
            works = [self._executor.begun(op) for op in ops]
            many(works)  # type: ignore[misc]  # else they were no group
        except errors.LostClaim:
            LOG.info(
                '%s operations of kind %s are run one by one: one of them is no longer ours',
                len(ops),
                ops[0].kind,
            )
            return list(ops)
        except Exception as error:
            LOG.warning(
                '%s operations of kind %s are run one by one, since together they failed: %s',
                len(ops),
                ops[0].kind,
                error,
            )
            return list(ops)
        for work in works:
            if work.passed:
                wake(work)
        return [work.op for work in works if not work.passed]

    def prepare(self, ops: Sequence[Any]) -> dict[str, Any]:
        """Read the rows for all operations whose plans can share that. Return the value of ``Work.loaded`` of each, by id."""
        groups: dict[str, list[Work[Any]]] = {}
        for op in ops:
            if self._is_fresh(op) and self._executor.plans[op.kind].prepare:
                with contextlib.suppress(ValueError):  # alone, it says what is wrong with its data
                    work = self._executor.begun(op)
                    groups.setdefault(op.kind, []).append(work)
        for kind, works in groups.items():
            self._prepare(self._executor.plans[kind], works)
        return {
            work.op.id: work.loaded for works in groups.values() for work in works if work.loaded is not None
        }

    def _prepare(self, plan: Plan[Any], works: Sequence[Work[Any]]) -> None:
        try:
            with self._executor.services.db.reader() as conn:
                plan.prepare(conn, works)  # type: ignore[misc]  # the caller has looked
        except Exception as error:
            LOG.warning(
                '%s operations of kind %s read what they need one by one, since together they failed: %s',
                len(works),
                plan.kind,
                error,
            )
            for work in works:
                work.loaded = None
