# SPDX-License-Identifier: Apache-2.0
"""Notes of requests that wait to be written: few of them, however many requests there are."""

from collections.abc import Mapping
from typing import Any

#: Rows that a process writes in each minute, at most. The last one counts all further requests of the minute.
PER_MINUTE = 60
#: Notes that wait at most, while the database does not answer. Further requests are counted.
MOST = 600
_MINUTE = 60.0

Note = Mapping[str, Any]


class UnwrittenNotes:
    """Notes in the order in which they came. Not for several threads at once. Times are of the monotonic clock."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._further: Note | None = None
        self._left, self._ends = 0, 0.0

    def __bool__(self) -> bool:
        """Say whether there is anything to write, now or when the minute ends."""
        return bool(self._notes) or self._further is not None

    def add(self, note: Note, now: float) -> None:
        """Keep a note, or count its request."""
        self._begin_minute(now)
        if self._left and len(self._notes) < MOST:
            self._left -= 1
            self._notes.append(note)
        else:
            self._further = _count(self._further or {}, note)

    def take(self, now: float) -> list[Note]:
        """Return the notes to write now, and forget them."""
        self._begin_minute(now)
        taken, self._notes = self._notes, []
        return taken

    def put_back(self, notes: list[Note]) -> None:
        """Keep notes that could not be written."""
        self._notes[:0] = notes

    def _begin_minute(self, now: float) -> None:
        if now < self._ends:
            return
        self._left, self._ends = PER_MINUTE - 1, now + _MINUTE
        if self._further is not None and len(self._notes) < MOST:
            self._notes.append(self._further)
            self._further = None


def _count(counted: Note, note: Note) -> Note:
    """Return a note of one more request, of which nothing is known but its time and how long it took."""
    return {
        'created_at': note['created_at'],
        'api_host': note['api_host'],
        **dict.fromkeys(('method', 'path', 'code', 'request_id', 'project_id')),
        'seconds': max(counted.get('seconds', 0.0), note['seconds']),
        **{name: counted.get(name, 0) + note[name] for name in ('requests', 'slow', 'failed')},
    }
