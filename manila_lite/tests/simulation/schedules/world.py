# SPDX-License-Identifier: Apache-2.0
"""The processes of a history of schedules: the product's schedulers, and a backend that takes snapshots."""

import dataclasses
import types

from manila_lite import errors
from manila_lite.manager.plans import snapshots
from manila_lite.scheduler import schedules
from manila_lite.scheduler.service import Scheduler
from manila_lite.tests.simulation import world
from manila_lite.tests.simulation.shares.managers import Timers, Worker
from manila_lite.tests.simulation.strangers import Injected

SCHEDULER, SHARE = 'scheduler', 'share'
#: Results of calls of the backend, with their weights. ``half``: it fails and was done all the same.
_OUTCOMES = {'ok': 9, 'slow': 4, 'again': 2, 'fail': 2, 'half': 2, 'final': 2}
#: Seconds between heartbeats, which need more statements than all else in hours without a run.
_BEAT = 240.0
#: Seconds that a scheduler stands still between its look and its claim, at most.
_STALL = 1500.0


class OwnWorker(Worker):
    """A worker of a scheduler."""

    def __init__(self, process, runner, services, pause):
        super().__init__(process, runner, services, pause)
        self.binary, self.identity = 'manila-scheduler', process.name
        runner.clock_agrees = self.clock_agrees
        self._next_beat = 0.0

    def start(self, *, listen=True):
        """Begin with the timers, of which the first one is the heartbeat: a database that fails ends no process."""
        self.listen()
        self._periodic = Timers(self._process, self._pause, self._timers)

    def beat(self, stopped=False):
        """Do as the product, but more rarely, and not at the end, when nobody looks any more."""
        if not stopped and self._process.baton.now >= self._next_beat:
            super().beat()
            self._next_beat = self._process.baton.now + _BEAT


class OwnScheduler(Scheduler):
    """The product's scheduler, with the timer that looks for schedules, and no others."""

    def __init__(self, process, services, pause):  # the base class would read a configuration
        self.services = services
        self.worker = OwnWorker(process, process.make_runner(schedules.PLANS, self), services, pause)
        self._process = process
        self.worker.every(pause, self._begin_schedules)

    def _begin_schedules(self):
        self._process.look = self._process.model.clock(self._process)
        super()._begin_schedules()
        self._process.look = None


class Process(world.Process):
    """A process with the work of its topic."""

    scheduler = None
    look = None  # the earliest time that its clock showed since it began to look for schedules, while it does

    def start(self):
        if self.topic == SCHEDULER:
            self.scheduler = OwnScheduler(self, self._world.services, self._world.pause)
            self.runner = self.scheduler.worker.runner
            self.scheduler.start()
        else:
            self.work(snapshots.PLANS, types.SimpleNamespace(driver=self._world.backend, report_soon=bool))

    def stop(self):
        if self.scheduler is None:
            super().stop()
        else:
            self.scheduler.stop()


class Backend:
    """Snapshots by their ids; the seed chooses how fast and how reliable calls are."""

    def __init__(self, rng, baton, faults):
        self._rng, self._baton, self._faults = rng, baton, faults
        self._wild = rng.choice((0.0, 0.1, 0.5))
        self.held = set()
        self.full_until = 0.0

    def create_snapshot(self, snapshot):
        if self._baton.now < self.full_until:
            raise errors.Final('no room for a snapshot')
        self._call('create', lambda: self.held.add(snapshot.id))
        return snapshot.id

    def delete_snapshot(self, snapshot):
        self._call('delete', lambda: self.held.discard(snapshot.id))

    def _call(self, what, change):
        outcome = 'ok'
        if self._faults.on and self._rng.random() < self._wild:
            outcome = self._rng.choices(list(_OUTCOMES), list(_OUTCOMES.values()))[0]
        self._baton.point(f'{what} of a snapshot: {outcome}')
        if outcome == 'again':
            raise errors.Again(self._rng.choice((0.0, 5.0, 60.0)), 'not yet')
        if outcome == 'final':
            raise errors.Final('never')
        if outcome == 'fail':
            raise Injected('the backend says no')
        if outcome == 'slow':
            self._baton.sleep(self._rng.uniform(0, 1200))
        change()
        self._baton.point(f'{what} of a snapshot is done')
        if outcome == 'half':
            raise Injected('it was done, and nobody knows')


class World(world.World):
    """One to three schedulers, and a backend with a process or two."""

    host = 'host@one'
    process_class = Process

    def __init__(self, rng, baton, faults, model, services):
        super().__init__(rng, baton, faults, model, services)
        self.pause = rng.choice((15.0, 30.0, 60.0))
        self._stalls = rng.choice((0.0, 0.2, 0.5))

    def use(self, deployment):
        """Have the policies of the deployment."""
        self._deployment, enforcer = deployment, deployment.enforcer
        self.services = dataclasses.replace(self.services, make_enforcer=lambda: enforcer)

    def make_backend(self, db):
        return Backend(self.rng, self.baton, self.faults)

    def at_point(self, process):
        """Let the process suffer a fault, perhaps: often where it has seen that a schedule is due, and has not claimed it."""
        self.faults.at_point(process)
        if process.immune or not (process.look and self.faults.on and self.model.is_due()):
            return
        if not self._deployment.is_writing() and self.rng.random() < self._stalls:
            self._stall(process)

    def _stall(self, process):
        """Let the process stand still, so long that others may do its work, and perhaps find its clock behind after it."""
        seconds = self.rng.uniform(0, self.rng.choice((30, _STALL)))
        self.baton.note(f'stands still for {seconds:.0f} s in its look: {process.name}')
        process.frozen = self.baton.now + seconds
        self.faults.disturbed(seconds)
        if self.rng.random() < 0.3:
            self._set_back(process, self.rng.uniform(1, 900))

    def _set_back(self, process, seconds):
        self.baton.note(f'clock goes back by {seconds:.0f} s: {process.name}')
        process.offset -= seconds
        process.offsets.append(process.offset)
        self.went_back()

        def mend():
            self.baton.sleep(_STALL)
            process.offset = 0.0

        self.baton.spawn(self.outside, f'clock of {process.name}', mend)

    def went_back(self):
        """Note that clocks went back: a look that has begun may read them only now."""
        for one in self.model.processes.values():
            if one.look:
                one.look = min(one.look, self.model.clock(one))

    def begin(self):
        for topic, host in ((SCHEDULER, ''), (SHARE, self.host)):
            for _ in range(self.rng.choice((1, 2, 2, 3) if topic == SCHEDULER else (1, 2))):
                self.add(topic, host)

    def outage(self, seconds):
        """Kill all schedulers, and start others so much later."""
        self.baton.note(f'no scheduler for {seconds:.0f} s')
        for one in self.model.processes.values():
            if one.topic == SCHEDULER:
                one.dead = True
        self.baton.sleep(seconds)
        for _ in range(self.rng.choice((1, 2))):
            self.add(SCHEDULER)

    def mend(self):
        """Set all clocks right, make room at the backend, and have a process of each kind."""
        self.backend.full_until = 0.0
        for one in self.model.processes.values():
            one.offset = 0.0
        self.add(SCHEDULER)
        self.add(SHARE, self.host)
