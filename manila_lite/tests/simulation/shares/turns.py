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

    def _find(self, free, scarce, running, busy):
        self.search = Search(self, self.process, self.model, running)
        operations = super()._find(free, scarce, running, busy)
        self.search.seen()
        return operations

    def _take(self, entry):
        mine = {serial for operation_id, (_, serial) in self._running.items() if serial and operation_id != entry.id}
        taken = super()._take(entry)
        if taken and entry.id in self._running:
            self.search.taken(entry, mine)
        self.search.was_tried(entry)
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
        self._mine = mine           # running work, and work that could not be saved
        self._after = None

    def _now(self):
        return environment.EPOCH.timestamp() + self._model.baton.now + self._process.offset

    def _here(self, rows):
        return [row for row in rows.values() if row.state == operations.OPEN
                and (row.topic, row.host) == (self._runner.topic, self._runner.host)]

    def _running(self):
        now = self._now()
        return collections.Counter((row.lane, row.turn_of) for row in self._here(self._model.rows)
                                   if row.owner and seconds(row.lease_expires_at) >= now)

    def seen(self):
        """Note the running work after the database has answered."""
        self._after = self._running()

    def was_tried(self, entry):
        """Count a turn, unless the database refused the claim: then the operation is unchanged."""
        row = self._model.rows[entry.id]
        self.tried[entry.lane, row.turn_of] += row != self._rows.get(entry.id)

    def taken(self, entry, busy):
        """Check a claim. ``busy``: serials of other work of this process."""
        whose = self._model.rows[entry.id].turn_of
        had = min(self._before[entry.lane, whose], self._after[entry.lane, whose])
        for row in self._here(self._rows):
            key = (row.lane, row.turn_of)
            if row.turn_of == whose or row.lane != entry.lane or not self._waits(row, busy):
                continue
            has = max(self._before[key], self._after[key]) + self.tried[key]
            self._model.must(has >= had, f'project {whose} has {had} running, and its next was begun before that of project '
                             f'{row.turn_of}, which has {has} and waits')

    def _waits(self, row, busy):
        """Say whether the operation could have been claimed ever since the search began."""
        return (self._model.rows.get(row.id) == row and row.id not in self._mine and row.serial not in busy
                and seconds(row.next_run_at) <= self._began
                and (row.lease_expires_at is None or seconds(row.lease_expires_at) < self._began))
