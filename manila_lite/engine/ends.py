# SPDX-License-Identifier: Apache-2.0
"""The ends of operations whose steps are done: those that come at the same time are written in one transaction."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from oslo_db import exception as db_exception
from oslo_log import log

from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.queries import operation_claims as claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine.environment import Environment
from manila_lite.engine.plans import Plan, Work
from manila_lite.engine.together import Together

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class End:
    """The end of one operation."""

    plan: Plan[Any]
    work: Work[Any]

    @property
    def is_prepared(self) -> bool:
        """Whether the end can share its statements with others of its kind."""
        return self.plan.done_many is not None and self.work.loaded is not None


class Ends(Together[End]):
    """Writes the ends of the operations of one owner."""

    def __init__(self, db: Database, owner: str, environment: Environment):
        super().__init__(environment, self._end_all)
        self._db = db
        self._owner = owner

    def _end_all(self, ends: Sequence[End]) -> list[Any]:
        """End operations in one transaction, or, if that fails, each in its own. Return for each whether it has ended, or
        why it could not be saved.
        """
        if len(ends) > 1 or ends[0].is_prepared:
            try:
                self._end_together(ends)
            except db_exception.DBConnectionError as away:
                return [away] * len(ends)
            except Exception as error:
                LOG.info(
                    '%s operations are ended one by one, since together they failed: %s', len(ends), error
                )
            else:
                return [True] * len(ends)
        return [self._end(end) for end in ends]

    def _end_together(self, ends: Sequence[End]) -> None:
        groups: dict[str, list[End]] = {}
        # In this order other processes take the locks, too.
        for end in sorted(ends, key=lambda end: end.work.op.resource_id):
            groups.setdefault(end.plan.kind, []).append(end)
        with self._db.writer() as conn:
            for group in groups.values():
                prepared = [end.work for end in group if end.is_prepared]
                if prepared:
                    group[0].plan.done_many(conn, prepared)  # type: ignore[misc]  # else it is not prepared
                for end in group:
                    if not end.is_prepared:
                        end.plan.done(conn, end.work)
            claims.finish_many(conn, {end.work.op.id: end.work.asked for end in ends}, self._owner)

    def _end(self, end: End) -> bool | Exception:
        work = end.work

        def write(conn: Connection) -> Any:
            end.plan.done(conn, work)
            ended = claims.finish(conn, work.op.id, self._owner, rows.DONE, requested_count=work.asked)
            return None if ended else rows.get(conn, work.op.id)

        try:
            again = self._db.write(write)
        except Exception as error:
            return error
        if again is not None:
            work.op, work.tries = again, again.attempts
        return again is None
