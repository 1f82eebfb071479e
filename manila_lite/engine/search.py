# SPDX-License-Identifier: Apache-2.0
"""One search of a queue for work: it books the free threads for waiting operations, in the turns of their projects."""

import collections
import enum
from collections.abc import Collection, Sequence
from typing import Any

from manila_lite.db.core.engine import Database
from manila_lite.db.queries import project_turns
from manila_lite.engine.thread_slots import ThreadSlots, Waits, is_behind


class Outcome(enum.Enum):
    """The state in which a search leaves the queue: it says which event calls for the next search."""

    #: An operation waits although there is a thread for it: search again at once.
    MORE = enum.auto()
    #: An operation waits for a thread, or may do so: search again when a thread is freed.
    WAITING = enum.auto()
    #: No operation waits: search again after a wake-up, or when an operation is due.
    NOTHING = enum.auto()


class Search:
    """One search by a runner. ``unsaved`` are ids of operations whose end it could not save: it does not claim them."""

    def __init__(self, db: Database, topic: str, host: str, slots: ThreadSlots, unsaved: Collection[str]):
        #: The operations that got a thread, and lane and rank of others that were found and got none.
        self.booked: list[Any] = []
        self.left: set[Waits] = set()
        self._db, self._topic, self._host, self._slots = db, topic, host, slots
        self.drops = slots.drops  # threads freed before it began
        # The end of an unsaved operation is known by its owner alone. If its lease ran out and it were claimed anew here,
        # ``Runner._release_unsaved`` would release that new claim.
        self._mine = {*slots.operations(), *unsaved}
        self._busy, self._with_interrupted = slots.mutex_keys(), slots.may_begin_interrupted()
        self._free = [lane for lane in slots.workers if slots.has(lane, 0)]
        self._scarce = [lane for lane in self._free if not slots.has(lane, 1)]
        self._most = sum(slots.workers.values()) + 1
        self._found = 0

    def book(self) -> None:
        """Book threads: for the oldest operation of each project, and then for those behind it."""
        if not self._free:
            return
        self._book_first(self._find())
        self._book_behind(tuple(self.booked))

    def outcome(self, taken: int) -> Outcome:
        """Return the outcome, when ``taken`` of the booked operations are claimed."""
        if taken and (self._found == self._most or any(self._slots.has(*waits) for waits in self.left)):
            return Outcome.MORE
        every_lane = len(self._free) - len(self._scarce) == len(self._slots.workers)
        asked_for_all = (
            every_lane and not self._busy and self._with_interrupted and self._slots.may_begin_interrupted()
        )
        return Outcome.NOTHING if asked_for_all and not self.left else Outcome.WAITING

    def _find(self) -> Sequence[Any]:
        with self._db.reader() as conn:
            return project_turns.list_claimable(
                conn,
                self._topic,
                self._host,
                self._most,
                self._free,
                scarce=self._scarce,
                skip=self._mine,
                busy=self._busy,
                with_interrupted=self._with_interrupted,
            )

    def _book_first(self, entries: Sequence[Any]) -> None:
        """Book threads for the oldest operation of each project, as far as there are any."""
        self._found = len(entries)
        waiting: set[Waits] = set()
        for entry in entries:
            if not is_behind(waiting, entry.lane, entry.running) and self._slots.book(entry, entry.running):
                self.booked.append(entry)
                waiting |= {(entry.lane, entry.running + 1)} if entry.more else set()
            else:
                self.left.add((entry.lane, entry.running))
                waiting.add((entry.lane, entry.running))

    def _book_behind(self, first: Sequence[Any]) -> None:
        """Book threads for further operations of the projects of the ``first``, as if a search found each of them alone."""
        ranks = self._slots.share_out(first, self.left, project_turns.PROJECTS)
        found = self._find_behind({key: len(running) for key, running in ranks.items()}) if ranks else ()
        begun = {key: iter(running) for key, running in ranks.items()}
        for entry in found:
            running = next(begun[entry.lane, entry.fair_share_key])
            if self._slots.book(entry, running):
                self.booked.append(entry)
            else:
                self.left.add((entry.lane, running))
        counts = collections.Counter((entry.lane, entry.fair_share_key) for entry in found)
        for entry in first:
            asked = len(ranks.get((entry.lane, entry.fair_share_key), ()))
            if (
                entry.more and counts[entry.lane, entry.fair_share_key] == asked
            ):  # then another one may be behind these
                self.left.add((entry.lane, entry.running + 1 + asked))

    def _find_behind(self, counts: dict[tuple[str, str], int]) -> Sequence[Any]:
        with self._db.reader() as conn:
            return project_turns.list_behind(
                conn,
                self._topic,
                self._host,
                counts,
                skip=self._mine | {entry.id for entry in self.booked},
                busy=self._busy | {entry.mutex_key for entry in self.booked if entry.mutex_key},
                with_interrupted=self._slots.may_begin_interrupted(),
            )
