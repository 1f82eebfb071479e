# SPDX-License-Identifier: Apache-2.0
"""Facts about schedules after each commit: each time runs once, none is lost, and the newest good copy stays."""

import collections
import datetime

from manila_lite.db.queries import operations
from manila_lite.db.queries.schedules import KIND
from manila_lite.tests.simulation.checks import Checks
from manila_lite.tests.simulation.schedules import oracle
from manila_lite.tests.simulation.schedules.deployment import run_at

#: A run that is later may be skipped, if the schedule says so.
_LATE = datetime.timedelta(minutes=5)
#: All that a clock may go back by in a look that takes no time.
_TICKS = datetime.timedelta(minutes=1)
#: The last step of a run.
_RETAIN = 2


class Model(Checks):
    """The checks of each commit; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        super().__init__(baton, table, faults, conf)
        self.schedules, self.copies, self.own, self.held = {}, {}, {}, set()
        self.retained = {}  # by operation: when its run came to its last step, retention
        self.changed = collections.defaultdict(
            float
        )  # by schedule and source: when a copy got good, or was no more held
        self.wanted = {}  # by id of a schedule: what it is
        self.times = {}  # by id of a schedule: all its times
        self.runs = collections.defaultdict(dict)  # by id of a schedule: operations by their times
        self.made = {}  # by schedule, source and time: the copy
        self.epoch = self.latest = None
        self.ended = 0  # runs that have ended
        self.names = {}

    def name_of(self, operation_id):
        """Return the operation's name, the same in each run of the seed."""
        row = self.rows[operation_id]
        return f'{row.kind} of {self.names.setdefault(row.resource_id, len(self.names))}'

    def now(self):
        """Return the time of clocks that are right."""
        return self.epoch + datetime.timedelta(seconds=self.baton.now)

    def clock(self, process):
        """Return what the clock of the process shows."""
        return self.now() + datetime.timedelta(seconds=process.offset)

    def is_due(self):
        """Say whether a schedule is due, by clocks that are right."""
        return any(one.next <= self.now() for one in self.schedules.values())

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
        held, self.held = self.held, self.table.held()
        self._note_good(copies, held)
        for row in self.rows.values():
            if row.kind == KIND and earlier.get(row.id) != row:
                self._run_changed(earlier.get(row.id), row, task.process)
        for one in self.schedules.values():
            if one.id in before and one.next != before[one.id].next:
                self._claimed(one.id, before[one.id].next, one.next)
        for copy in self.copies.values():
            if copy.id not in copies:
                self._made(copy)
        for copy in copies.values():
            now = self.copies.get(copy.id)
            if copy.status == 'available' and (now is None or now.status != 'available'):
                self.must(
                    copy.id not in held, f'the copy of {copy.run_at} is deleted, and a share is made from it'
                )
                self._lost(copy, copies)
        self._own()

    def _note_good(self, copies, held):
        """Note of which shares other copies are good than before, or may be deleted that were held."""
        for copy in self.copies.values():
            is_new = copy.id not in copies or copies[copy.id].status != copy.status
            if (is_new and copy.status == 'available') or copy.id in held - self.held:
                self.changed[copy.schedule, copy.source] = self.baton.now

    # Times --------------------------------------------------------------------------------------------

    def _run_changed(self, before, row, process):
        if before is None:
            self._begun(row, process)
        elif row.step == _RETAIN != before.step:
            self.retained[row.id] = self.baton.now
        if before is not None and row.state != before.state:
            self._ended(row)

    def _begun(self, row, process):
        runs, at = self.runs[row.resource_id], run_at(row)
        self.baton.note(f'a run of {at}')
        self.must(at not in runs, f'{at} is run twice')
        self.must(all(at > one for one in runs), f'{at} is run after a later time')
        self.must(at in self.times[row.resource_id], f'{at} is run, and is no time of the schedule')
        self.must(at <= self.most(), f'{at} is run too early')
        if self.wanted[row.resource_id]['missed'] == 'skip' and process.look:
            self.must(
                process.look - at <= _LATE + _TICKS, f'{at} was missed and is run, and was to be skipped'
            )
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
        self.ended += 1
        self.seen[f'run {row.state}'] += 1
        at = run_at(row)
        if row.state == operations.DONE:
            for source in self.wanted[row.resource_id]['share_ids']:
                self.must((row.resource_id, source, at) in self.made, f'the run of {at} made no copy')
                self._retained(row, source)
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

    def _retained(self, row, source):
        """Check, after a run, that what is not to be kept goes, unless what is to be kept is another since, or it is held."""
        if self.changed[row.resource_id, source] >= self.retained[row.id]:
            return
        wanted = self.wanted[row.resource_id]
        good = self.good(row.resource_id, source, self.copies)
        held = {one.run_at for one in self.copies.values() if one.id in self.held}
        left = good - oracle.kept(good, wanted['keep'], wanted['time_zone']) - held
        self.must(not left, f'the run of {run_at(row)} left {len(left)} copies that are not to be kept')
        self.seen['held'] += len(held & good)

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
                self.must(newest in good, f'the last run, of {newest}, has no good copy')
                self._retained(self.rows[self.runs[one.id][newest]], source)
                self.seen['kept'] += len(good)
