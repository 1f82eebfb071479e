# SPDX-License-Identifier: Apache-2.0
"""Check of turns: a project with less work running in a lane, and with work waiting, comes before one with more."""

import collections

from manila_lite.db.queries import operations
from manila_lite.engine import Runner
from manila_lite.tests.simulation import environment
from manila_lite.tests.simulation.rows import seconds


class WatchedRunner(Runner):
    """A runner of the product whose searches and claims are checked. ``process`` and ``model`` are to be set."""

    process = model = None
    _tries = 0

    def _search(self):
        search = super()._search()
        find = search._find

        def watched():
            self.search = Search(self, self.process, self.model, search._mine)
            found = find()
            self.search.seen()
            return found

        search._find = watched
        return search

    def _take(self, entries):
        held, ids = self._slots._running, {entry.id for entry in entries}
        mine = {
            one.mutex_key for operation_id, one in held.items() if one.mutex_key and operation_id not in ids
        }
        self._tries += 1
        before = self._tries
        taken = super()._take(entries)
        if self._tries == before:  # else each was tried by itself
            self.search.check(entries, held, mine)
        return taken


class Search:
    """Waiting and running work at a runner's search. Changes during the search count for no project."""

    def __init__(self, runner, process, model, mine):
        self._runner = runner
        self._process = process
        self._model = model
        self.tried = collections.Counter()
        self._before, self._rows = self._running(), model.rows
        self._began = self._now()
        self._mine = mine  # running work, and work that could not be saved
        self._after = None

    def _now(self):
        return environment.EPOCH.timestamp() + self._model.baton.now + self._process.offset

    def _here(self, rows):
        return [
            row
            for row in rows.values()
            if row.state == operations.OPEN
            and (row.topic, row.host) == (self._runner.topic, self._runner.host)
        ]

    def _running(self):
        now = self._now()
        return collections.Counter(
            (row.lane, row.fair_share_key)
            for row in self._here(self._model.rows)
            if row.owner and seconds(row.lease_expires_at) >= now
        )

    def seen(self):
        """Note the running work after the database has answered."""
        self._after = self._running()

    def check(self, entries, held, busy):
        """Check the claims of these operations. ``held``: those of the process. ``busy``: mutex keys of its other work."""
        for (
            entry
        ) in entries:  # a turn, unless the database refused the claim: then the operation is unchanged
            self.tried[entry.lane, entry.fair_share_key] += self._model.rows[entry.id] != self._rows.get(
                entry.id
            )
        earlier = collections.Counter()
        for entry in entries:
            if entry.id in held:
                self._taken(entry, busy, earlier[entry.lane, entry.fair_share_key])
            earlier[entry.lane, entry.fair_share_key] += 1

    def _taken(self, entry, busy, earlier):
        whose = entry.fair_share_key
        had = min(self._before[entry.lane, whose], self._after[entry.lane, whose]) + earlier
        for row in self._here(self._rows):
            key = (row.lane, row.fair_share_key)
            if row.fair_share_key == whose or row.lane != entry.lane or not self._waits(row, busy):
                continue
            has = max(self._before[key], self._after[key]) + self.tried[key]
            self._model.must(
                has >= had,
                f'project {whose} has {had} running, and its next was begun before that of project '
                f'{row.fair_share_key}, which has {has} and waits',
            )

    def _waits(self, row, busy):
        """Say whether the operation could have been claimed ever since the search began; one that was tried before may wait
        for others.
        """
        return (
            self._model.rows.get(row.id) == row
            and not row.attempts
            and row.id not in self._mine
            and row.mutex_key not in busy
            and seconds(row.next_run_at) <= self._began
            and (row.lease_expires_at is None or seconds(row.lease_expires_at) < self._began)
        )
