# SPDX-License-Identifier: Apache-2.0
"""A history of schedules: hours around a change of clocks, with outages, and with clocks that go back."""

import datetime

import sqlalchemy as sa

from manila_lite import context
from manila_lite.actions import schedules
from manila_lite.db import models
from manila_lite.db.queries import quotas
from manila_lite.tests.factories import shares as share_rows
from manila_lite.tests.simulation import history
from manila_lite.tests.simulation.schedules import oracle
from manila_lite.tests.simulation.schedules.deployment import SchedulesDeployment
from manila_lite.tests.simulation.schedules.model import Model
from manila_lite.tests.simulation.schedules.world import World
from manila_lite.values import schedule_times

_PROJECT = 'p'
_OF_OWNER = {'project_id': _PROJECT, 'user_id': 'u', 'share_proto': 'NFS', 'size': 1}
#: Begins, half an hour or more before the clocks change in the zone, or before a year and a week end.
BEGINS = (
    ('2030-03-31T00:30', 'Europe/Berlin'),
    ('2030-10-27T00:05', 'Europe/Berlin'),
    ('2030-03-10T09:20', 'America/Los_Angeles'),
    ('2030-11-03T08:20', 'America/Los_Angeles'),
    ('2030-10-05T15:00', 'Australia/Lord_Howe'),
    ('2030-04-06T14:30', 'Australia/Lord_Howe'),
    ('2030-12-31T17:50', 'Asia/Kolkata'),
    ('2030-01-31T23:10', 'UTC'),
    ('2030-01-06T23:30', 'UTC'),
)
_CRONS = (
    '*/10 * * * *',
    '*/20 * * * *',
    '0 * * * *',
    '15,45 * * * *',
    '30 2 * * *',
    '0,30 1,2,3 * * *',
    '*/15 2 * * *',
    '59 0,1,2,3,23 * * *',
)
KEEPS = (
    {},
    {'last': 1},
    {'last': 3},
    {'hour': 1},
    {'hour': 2, 'last': 2},
    {'day': 2},
    {'hour': 3, 'day': 1, 'week': 1, 'month': 1, 'year': 1},
    {'week': 2, 'month': 1},
    {'year': 2},
)
#: cronsim passes over some times of this hour on the day when the clocks of this zone go back by half an hour.
_NOT_THERE = ('Australia/Lord_Howe', '*/15 2 * * *')
#: Seconds: the longest outage, the furthest that all clocks go back, the longest lack of room, and a run with what it begins.
_OUTAGE, _BACK, _FULL, _RUN = 3 * 3600, 1800, 2 * 3600, 3 * 3600
_DAY = datetime.timedelta(days=1)


def crons(zone):
    """Return the times of schedules that a zone may have."""
    return [cron for cron in _CRONS if (zone, cron) != _NOT_THERE]


class SchedulesHistory(history.History):
    """A history of schedules."""

    kind = 'schedules'
    must_succeed = ('schedule.run', 'snapshot.create', 'snapshot.delete')
    world_class, model_class, deployment_class = World, Model, SchedulesDeployment
    steps = 60000
    requests = (3, 7)

    def __init__(self, seed, deployment):
        super().__init__(seed, deployment)
        self.world.use(deployment)
        self.baton.on_point = self.world.at_point
        self._held = 0  # copies from which a share was made
        begin, self._zone = self._rng.choice(BEGINS)
        self.model.epoch = self.model.latest = datetime.datetime.fromisoformat(begin)

    def _live(self):
        self._prepare()
        self.world.begin()
        for _ in range(self._rng.randint(*self.requests)):
            self._rng.choice(_EVENTS)(self)
        self.faults.off()
        self.world.mend()
        self._let_go()
        self._settle()
        self._run_again()
        self.model.last()
        self.baton.point('')

    def _settle(self):
        self.model.must(self.baton.wait(self._is_settled, _RUN), f'not settled in {_RUN} s: {self._open()}')
        self.baton.point('')

    def _is_settled(self):
        due = any(one.next <= self.model.now() for one in self.model.schedules.values())
        return not due and self._all_ended()

    def _open(self):
        names = [self.model.name_of(row.id) for row in self.model.rows.values() if row.state == 'open']
        return ', '.join(names) or 'a schedule is due'

    def _run_again(self):
        """Let one undisturbed run of each schedule come, if it does in the next hours."""
        for one in list(self.model.schedules.values()):
            seconds = (one.next - self.model.now()).total_seconds()
            if seconds < _RUN:
                self.baton.sleep(max(seconds, 0) + 1)
                self._settle()

    # What is there at the begin -----------------------------------------------------------------------

    def _prepare(self):
        many = self._rng.random() < 0.7
        with self._db.writer() as conn:
            limits = {'snapshots': -1 if many else 6, 'snapshot_gigabytes': -1}
            quotas.set_limits(conn, _PROJECT, limits)
            for name in self._shares():
                self._insert(conn, name)
        ctx = context.member(self.world.services, _PROJECT, 'u')
        for _ in range(self._rng.choice((1, 1, 2))):
            self._schedule(ctx)
        self.model.committed(self.baton.current)

    def _shares(self):
        return [f'share-{number}' for number in range(2)]

    def _insert(self, conn, name):
        """Insert a share, and a snapshot of its owner's."""
        self._insert_share(conn, name, 'available')
        conn.execute(
            models.snapshots.insert().values(
                id=f'own-{name}', share_id=name, status='available', share_size=1, **_OF_OWNER
            )
        )

    def _insert_share(self, conn, name, status, **more):
        conn.execute(models.shares.insert().values(id=name, snapshot_support=True, **_OF_OWNER, **more))
        share_rows.instance(conn, name, name, status=status, host=f'{self.world.host}#a')

    def _schedule(self, ctx):
        wanted = {
            'cron': self._rng.choice(crons(self._zone)),
            'time_zone': self._zone,
            'keep': self._rng.choice(KEEPS),
            'missed': self._rng.choice(('once', 'skip')),
            'jitter': self._rng.choice((0, 0, 240)),
            'share_ids': self._rng.choice(([], [], *([one] for one in self._shares()))) or self._shares(),
        }
        made = schedules.create(ctx, wanted)
        offset = datetime.timedelta(seconds=schedule_times.offset_of(made.id, wanted['jitter']))
        begin = self.model.epoch
        self.model.wanted[made.id] = wanted
        self.model.times[made.id] = {
            at + offset for at in oracle.times(wanted['cron'], self._zone, begin - _DAY, begin + 3 * _DAY)
        }
        self.baton.note(f'{wanted} at {begin}')

    # What happens -------------------------------------------------------------------------------------

    def _pause(self):
        self.baton.sleep(self._rng.choice((60, 600, self._rng.uniform(0, 4000))))

    def _outage(self):
        self.world.outage(self._rng.uniform(10, _OUTAGE))

    def _clocks_back(self):
        self.model.most()
        self.model.epoch -= datetime.timedelta(seconds=self._rng.uniform(1, _BACK))
        self._deployment.set_epoch(self.model.epoch)
        self.world.went_back()
        self.baton.note(f'all clocks go back to {self.model.now()}')

    def _full(self):
        """Let the backend have no room for snapshots for some time, so that copies fail, one run after the other."""
        self.world.backend.full_until = self.baton.now + self._rng.uniform(600, _FULL)
        self.baton.note('the backend is full')
        self._until_run()

    def _until_run(self):
        """Wait until a run has ended, if one does in the next hours."""
        before = self.model.ended
        self.baton.wait(lambda: self.model.ended > before, _FULL)

    def _hold(self):
        """Make a share from one of the oldest good copies, which takes until ``_let_go`` or for some time."""
        good = [one.id for one in self.model.copies.values() if one.status == 'available'][:3]
        if good:
            self._make_from(self._rng.choice(good))
        self._until_run()
        if self._rng.random() < 0.5:
            self._let_go()

    def _make_from(self, copy_id):
        name = f'from-{self._held}'
        snapshots = models.snapshots
        still_good = sa.select(snapshots.c.id).where(
            snapshots.c.id == copy_id, snapshots.c.status == 'available'
        )
        with self._db.writer() as conn:
            if conn.execute(still_good).first():
                self._held += 1
                self._insert_share(conn, name, 'creating', snapshot_id=copy_id)
                self.baton.note('a share is made from a copy')

    def _let_go(self):
        instances = models.share_instances
        with self._db.writer() as conn:
            conn.execute(
                instances.update().where(instances.c.status == 'creating').values(status='available')
            )


_EVENTS = (
    *(SchedulesHistory._pause,) * 3,
    SchedulesHistory._outage,
    SchedulesHistory._clocks_back,
    SchedulesHistory._full,
    SchedulesHistory._full,
    SchedulesHistory._hold,
    SchedulesHistory._hold,
)
