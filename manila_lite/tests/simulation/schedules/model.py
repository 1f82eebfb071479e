# SPDX-License-Identifier: Apache-2.0
"""Facts about schedules after each commit: each time runs once, none is lost, and the newest good copy stays."""

import collections
import contextlib
import datetime

from manila_lite.db.queries import operations
from manila_lite.db.queries.schedules import KIND
from manila_lite.tests.simulation.schedules import oracle
from manila_lite.tests.simulation.schedules.deployment import run_at

#: A run that is later may be skipped, if the schedule says so.
_LATE = datetime.timedelta(minutes=5)


class Model:
    """The checks of each commit; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        self.baton, self.faults, self.conf, self.table = baton, faults, conf, table
        self.rows, self.schedules, self.copies, self.own = {}, {}, {}, {}
        self.processes, self.pending = {}, {}
        self.wanted = {}  # by id of a schedule: what it is
        self.times = {}  # by id of a schedule: all its times
        self.runs = collections.defaultdict(dict)  # by id of a schedule: operations by their times
        self.made = {}  # by schedule, source and time: the copy
        self.epoch = self.latest = None
        self.names = {}
        self.seen = collections.Counter()

    def must(self, truth, what):
        """Let the history fail unless ``truth``."""
        if not truth:
            self.baton.fail(what)

    def met(self, fault):
        """Count a fault between the running thread and the database."""
        self.seen[fault] += 1

    def worker_started(self, task, op, most):
        """Nothing is noted of a claim."""

    def group(self, operation_ids):
        """Who writes for whom when several operations end together is of no matter here."""
        return contextlib.nullcontext()

    def name_of(self, operation_id):
        """Return the operation's name, the same in each run of the seed."""
        row = self.rows[operation_id]
        return f'{row.kind} of {self.names.setdefault(row.resource_id, len(self.names))}'

    def now(self):
        """Return the time of clocks that are right."""
        return self.epoch + datetime.timedelta(seconds=self.baton.now)

    def most(self):
        """Return the latest time that any clock has shown."""
        ahead = max(max(process.offsets) for process in self.processes.values())
        self.latest = max(self.latest, self.now())
        return self.latest + datetime.timedelta(seconds=ahead)

    def committed(self, task):
        """Read the tables after a commit, and check all changes."""
        earlier, self.rows = self.rows, self.table.read()
        before, self.schedules = self.schedules, self.table.schedules()
        copies, self.copies = self.copies, self.table.copies()
        for row in self.rows.values():
            if row.kind == KIND and row.id not in earlier:
                self._begun(row)
            elif row.kind == KIND and row.state != earlier[row.id].state:
                self._ended(row)
        for one in self.schedules.values():
            if one.id in before and one.next != before[one.id].next:
                self._claimed(one.id, before[one.id].next, one.next)
        for copy in self.copies.values():
            if copy.id not in copies:
                self._made(copy)
        for copy in copies.values():
            now = self.copies.get(copy.id)
            if copy.status == 'available' and (now is None or now.status != 'available'):
                self._lost(copy, copies)
        self._own()

    # Times --------------------------------------------------------------------------------------------

    def _begun(self, row):
        runs, at = self.runs[row.resource_id], run_at(row)
        self.baton.note(f'a run of {at}')
        self.must(at not in runs, f'{at} is run twice')
        self.must(all(at > one for one in runs), f'{at} is run after a later time')
        self.must(at in self.times[row.resource_id], f'{at} is run, and is no time of the schedule')
        self.must(at <= self.most(), f'{at} is run too early')
        for other in runs.values():
            there = self.rows.get(other)
            self.must(there is None or there.state != operations.OPEN, f'the run of {at} overlaps another')
        runs[at] = row.id
        self.seen['run'] += 1

    def _claimed(self, schedule_id, due, following):
        times, most = self.times[schedule_id], self.most()
        self.must(following is not None and following > due, f'after {due} comes {following}')
        self.must(following in times, f'{following} is no time of the schedule')
        passed = [at for at in times if due < at < following and at > most]
        self.must(not passed, f'{passed[:1]} is passed over, and was to come')
        may_skip = self.wanted[schedule_id]['missed'] == 'skip' and most - due > _LATE
        self.must(due in self.runs[schedule_id] or may_skip, f'{due} is lost')
        self.seen['missed'] += any(due < at < following for at in times)
        self.seen['skipped'] += due not in self.runs[schedule_id]

    def _ended(self, row):
        self.seen[f'run {row.state}'] += 1
        at = run_at(row)
        if row.state == operations.DONE:
            for source in self.wanted[row.resource_id]['share_ids']:
                self.must((row.resource_id, source, at) in self.made, f'the run of {at} made no copy')
        elif row.state == operations.FAILED:
            self.must(self.schedules[row.resource_id].failing, f'the run of {at} failed, and nobody is told')

    # Copies -------------------------------------------------------------------------------------------

    def _made(self, copy):
        key = (copy.schedule, copy.source, copy.run_at)
        self.must(key not in self.made, f'the run of {copy.run_at} made a second copy')
        self.made[key] = copy.id
        self.seen['copy'] += 1

    def good(self, schedule_id, source, copies):
        """Return the times of good copies of a share."""
        mine = [one for one in copies.values() if (one.schedule, one.source) == (schedule_id, source)]
        return {one.run_at for one in mine if one.status == 'available'}

    def _lost(self, copy, copies):
        """Check that a good copy that is good no more was not to be kept."""
        good = self.good(copy.schedule, copy.source, copies)
        wanted = self.wanted[copy.schedule]
        self.seen['deleted'] += 1
        self.must(copy.run_at < max(good), f'the newest good copy, of {copy.run_at}, is deleted')
        stay = oracle.kept(good, wanted['keep'], wanted['time_zone'])
        self.must(copy.run_at not in stay, f'the copy of {copy.run_at} is deleted, and was to be kept')

    def _own(self):
        before, self.own = self.own, self.table.own()
        self.must(before.items() <= self.own.items(), 'a snapshot that no schedule made was deleted')

    def last(self):
        """Check the end, after a last undisturbed run: nothing is late, and nothing more is there than is kept."""
        for one in self.schedules.values():
            wanted = self.wanted[one.id]
            self.must(one.next > self.now(), f'{one.next} is over, and is not run')
            newest = max(self.runs[one.id], default=None)
            if newest is None or self.rows[self.runs[one.id][newest]].state != operations.DONE:
                self.seen['no last run'] += 1
                continue
            for source in wanted['share_ids']:
                good = self.good(one.id, source, self.copies)
                stay = oracle.kept(good, wanted['keep'], wanted['time_zone'])
                self.must(newest in good, f'the last run, of {newest}, has no good copy')
                self.must(good == stay, f'{len(good - stay)} copies are there that are not to be kept')
                self.seen['kept'] += len(good)
