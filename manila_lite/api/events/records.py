# SPDX-License-Identifier: Apache-2.0
"""Changes that were found, and a history of them for clients that resume."""

import collections
import dataclasses
import datetime
from collections.abc import Hashable, Iterable
from typing import Any

OPERATION, STATUS, USAGE, POOL, SERVICE, RESET = 'operation', 'status', 'usage', 'pool', 'service', 'reset'
#: The status of a resource that is gone.
DELETED = 'deleted'
#: Renderings that a record keeps: each is for one audience.
_KEPT = 8


@dataclasses.dataclass(eq=False)
class Record:
    """A change. ``payload``: the row or status behind it. ``state``: compared with that of the change before.

    ``at``: when it was found, or for one that is older than the history, when it was written. ``look``: the number of the look
    that found it; 0 for an older one. ``about``: of a reset, what there is to load anew.
    """

    event: str
    key: Hashable
    project_id: str | None
    resource_type: str
    payload: Any
    state: Hashable
    at: datetime.datetime
    look: int = 0
    about: str | None = None
    rendered: dict[Hashable, bytes] = dataclasses.field(default_factory=dict)

    def keep(self, audience: Hashable, text: bytes) -> None:
        """Keep a rendering for others of that audience."""
        if len(self.rendered) >= _KEPT:
            self.rendered.clear()
        self.rendered[audience] = text


class History:
    """The last change of everything, the oldest first: at most ``most``, and none that is older than ``seconds``.

    It is complete from ``since`` on.
    """

    def __init__(self, since: datetime.datetime, most: int, seconds: float):
        self.since = since
        self._most = most
        self._age = datetime.timedelta(seconds=seconds)
        self._records: collections.OrderedDict[Hashable, Record] = collections.OrderedDict()
        #: The number of the last look of which a change was given up.
        self._lost = -1

    def __len__(self) -> int:
        return len(self._records)

    def is_news(self, record: Record) -> bool:
        """Say whether a change is another than the last known one."""
        known = self._records.get(record.key)
        return known is None or known.state != record.state

    def last(self, key: Hashable) -> Record | None:
        """Return the last change of something, if it is known."""
        return self._records.get(key)

    def add(self, record: Record) -> None:
        """Add a change as the newest."""
        self._records[record.key] = record
        self._records.move_to_end(record.key)
        while len(self._records) > self._most:
            self._lose()

    def prepend(self, records: Iterable[Record], since: datetime.datetime) -> None:
        """Add older changes; with them the history is complete from ``since`` on."""
        older = collections.OrderedDict(
            (record.key, record) for record in sorted(records, key=lambda one: one.at)
        )
        older.update(self._records)
        for key in self._records:
            older.move_to_end(key)
        self._records, self.since = older, since

    def expire(self, now: datetime.datetime) -> None:
        """Give up changes that are too old."""
        while self._records and next(iter(self._records.values())).at < now - self._age:
            self._lose()
        self.since = max(self.since, now - self._age)

    def after_look(self, look: int) -> list[Record] | None:
        """Return the changes that later looks found, or None if some are not known any more."""
        if look < self._lost:
            return None
        newest: list[Record] = []
        for record in reversed(self._records.values()):
            if record.look <= look:
                break
            newest.append(record)
        return newest[::-1]

    def after_time(self, time: datetime.datetime) -> list[Record] | None:
        """Return the changes since a time, or None if some are not known any more."""
        if time < self.since:
            return None
        return [record for record in self._records.values() if record.at >= time]

    def _lose(self) -> None:
        _, record = self._records.popitem(last=False)
        self.since = max(self.since, record.at + datetime.timedelta(microseconds=1))
        self._lost = max(self._lost, record.look)
