# SPDX-License-Identifier: Apache-2.0
"""Looks for changed rows, and the events that they are.

A row says when it was written, by the clock of the host that wrote it, and is seen when its transaction is committed. So each
look goes back a little, and every few looks one goes back further, for late ones. Rows that were seen before are passed over.
"""

import datetime
import json
from collections.abc import Hashable, Iterable
from typing import Any

from manila_lite.api.events.cursor import EPOCH
from manila_lite.api.events.records import DELETED, OPERATION, RESET, STATUS, USAGE, Record
from manila_lite.db.core import database_clock
from manila_lite.db.core.engine import Connection, Database
from manila_lite.db.queries import events, operations, shares

#: Seconds that each look goes back; seconds between looks that go back further; and seconds by which a row may be late: clocks
#: that differ, and a transaction that takes long.
SHORT, SWEEP, LATE = 5.0, 10.0, 30.0
#: Seconds before a position from which on a process must look that has not looked before.
BEFORE = LATE + SWEEP + SHORT
#: Changes that one look turns into events, and a look back; and changes in its time beyond which clients had better load
#: everything anew.
AT_ONCE, BACK, MOST = 1000, 5000, 50_000


def _seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


class TooMany(Exception):
    """There are more changes than are worth an event each."""


class Changes:
    """The changed rows of a database. For one thread.

    ``time``: the time of the last look, of the database's clock; None before the first.
    """

    def __init__(self, db: Database):
        self._db = db
        self.time: datetime.datetime | None = None
        self.census: set[tuple[str, str, str]] = set()
        self._seen: dict[tuple[str, str], datetime.datetime] = {}
        self._swept = EPOCH

    def read_new(self) -> list[Record]:
        """Return the changes since the last look, and those that were late. At the first look there are none.

        If there are very many, return a part, and the others at the next look: ``time`` stays as it was.

        :raises TooMany: there are too many even for that; the next look begins anew.
        """
        with self._db.reader() as conn:
            now = database_clock.time(conn)
        with (
            self._db.reader() as conn
        ):  # a transaction of its own, that sees all that was committed before that time
            return self._first(conn, now) if self.time is None else self._next(conn, now, self.time)

    def read_since(self, since: datetime.datetime) -> list[Record]:
        """Return the changes since a time before the first look, with the times at which they were written.

        :raises TooMany: there are too many.
        """
        with self._db.reader() as conn:
            found = events.list_changes(conn, since, BACK + 1)
            if len(found) > BACK:
                raise TooMany
            return self._records(
                conn,
                [(one.source, one.row_id) for one in found],
                self.time or since,
                {one.row_id: one.at for one in found},
            )

    def forget(self) -> None:
        """Begin anew."""
        self.time = None
        self._seen.clear()
        self._swept = EPOCH

    def _first(self, conn: Connection, now: datetime.datetime) -> list[Record]:
        # What was written before is not news. It may be committed after this look; then it is not in this list.
        self._seen = {
            (one.source, one.row_id): one.at
            for one in events.list_changes(conn, now - _seconds(LATE + SWEEP), MOST)
        }
        self.census = events.take_census(conn)
        self.time = self._swept = now
        return []

    def _next(self, conn: Connection, now: datetime.datetime, last: datetime.datetime) -> list[Record]:
        sweeps = now - self._swept >= _seconds(SWEEP)
        found = [
            one
            for one in self._list(conn, last - _seconds(LATE + SWEEP if sweeps else SHORT))
            if self._seen.get((one.source, one.row_id)) != one.at
        ]
        found.sort(key=lambda one: one.at)
        part = found[:AT_ONCE]
        records = self._records(conn, [(one.source, one.row_id) for one in part], now)
        records += self._count(conn, now)
        # Last, since all the above may fail, and is tried again then.
        self._seen.update(((one.source, one.row_id), one.at) for one in part)
        if len(part) == len(found):
            self.time = now
            if sweeps:
                self._swept = now
                oldest = now - _seconds(2 * BEFORE)
                self._seen = {key: at for key, at in self._seen.items() if at >= oldest}
        return records

    def _list(self, conn: Connection, since: datetime.datetime) -> list[events.Change]:
        found = events.list_changes(conn, since, MOST + 1)
        if len(found) > MOST:
            self.forget()
            raise TooMany
        return found

    def _records(
        self,
        conn: Connection,
        changed: list[tuple[str, str]],
        now: datetime.datetime,
        at: dict[str, datetime.datetime] | None = None,
    ) -> list[Record]:
        """Return the present records of changed rows. ``at``: the times of changes, by id; others count as changed ``now``."""
        at = at or {}
        rows = events.list_operations(
            conn, [row_id for source, row_id in changed if source == events.OPERATION]
        )
        records = [_of_operation(row, at.get(row.id, now)) for row in rows]
        records += [
            _of_status(status, at.get(status.resource_id, now))
            for status in events.list_statuses(conn, changed)
        ]
        full = events.list_full_shares(conn, [row_id for source, row_id in changed if source == events.USAGE])
        records += [_of_usage(row, at.get(row.share_id, now)) for row in full]
        return records + _of_deleted(
            conn, [row for row in rows if row.state in (operations.DONE, operations.FAILED)], at, now
        )

    def _count(self, conn: Connection, now: datetime.datetime) -> list[Record]:
        """Return the deletions that leave no trace."""
        census = events.take_census(conn)
        gone = self.census - census
        owners_now = shares.owners_of(
            conn, [row_id for source, row_id, _ in gone if source == 'share_transfer']
        )
        records = []
        for source, row_id, project_id in sorted(gone):
            if source == 'share_network':
                records.append(_deleted(source, row_id, project_id, now))
            elif source == 'share_transfer':
                if (
                    owners_now.get(row_id, project_id) != project_id
                ):  # accepted: gone for the project that gave it
                    records.append(_deleted('share', row_id, project_id, now))
            else:
                records.append(
                    Record(RESET, (RESET, source), None, source, None, (row_id, now), now, about=source)
                )
        if (
            census != self.census
        ):  # else the same object: whoever derives something from it need not do so again
            self.census = census
        return records


def _of_operation(row: Any, at: datetime.datetime) -> Record:
    # A worker that renews its claim changes nothing that anybody sees.
    state = (
        row.state,
        row.owner is not None,
        row.undoing,
        row.topic,
        row.host,
        row.step,
        row.steps,
        row.attempts,
        row.error,
        row.next_run_at,
        hash(row.text),
    )
    return Record(OPERATION, (OPERATION, row.id), row.project_id, row.resource_type, row, state, at)


def _of_status(status: events.Status, at: datetime.datetime) -> Record:
    return Record(
        STATUS,
        _key(status.resource_type, status.resource_id),
        status.project_id,
        status.resource_type,
        status,
        (status, at),
        at,
    )


def _of_usage(row: Any, at: datetime.datetime) -> Record:
    # Later measurements are no event: only what its owner was told is.
    state = row.told_percent, row.told_at
    return Record(USAGE, (USAGE, row.share_id), row.project_id, events.SHARE, row, state, at)


def _deleted(resource_type: str, resource_id: str, project_id: str | None, at: datetime.datetime) -> Record:
    status = events.Status(resource_type, resource_id, project_id, DELETED, gone=True)
    # Beside the change of another project, which may have the resource now.
    return Record(
        STATUS,
        (*_key(resource_type, resource_id), project_id),
        project_id,
        resource_type,
        status,
        (status, at),
        at,
    )


def _key(resource_type: str, resource_id: str) -> tuple[Hashable, ...]:
    return STATUS, resource_type, resource_id


def _of_deleted(
    conn: Connection, ended: Iterable[Any], at: dict[str, datetime.datetime], now: datetime.datetime
) -> list[Record]:
    """Return the deletions of resources that ended operations are about."""
    of = {(row.resource_type, row.resource_id): row for row in ended}
    gone = of.keys() - events.list_existing(conn, of.keys())
    return [_deleted(*key, _owner(of[key]), at.get(of[key].id, now)) for key in sorted(gone)]


def _owner(row: Any) -> str | None:
    try:
        data = json.loads(row.text)
    except ValueError:
        data = None
    owner: str | None = data.get(operations.OWNER) if isinstance(data, dict) else None
    return owner or row.project_id
