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

SCHEDULER, SHARE = 'scheduler', 'share'
#: Results of calls of the backend, with their weights. ``half``: it fails and was done all the same.
_OUTCOMES = {'ok': 9, 'slow': 4, 'again': 2, 'fail': 2, 'half': 2, 'final': 2}


class OwnWorker(Worker):
    """A worker of a scheduler."""

    def __init__(self, process, runner, services, pause):
        super().__init__(process, runner, services, pause)
        self.binary, self.identity = 'manila-scheduler', process.name
        runner.clock_agrees = self.clock_agrees

    def start(self, *, listen=True):
        """Begin with the timers, of which the first one is the heartbeat: a database that fails ends no process."""
        self.listen()
        self._periodic = Timers(self._process, self._pause, self._timers)

    def beat(self, stopped=False):
        """Do as the product, but not at the end, when nobody looks any more."""
        if not stopped:
            super().beat()


class OwnScheduler(Scheduler):
    """The product's scheduler, with the timer that looks for schedules, and no others."""

    def __init__(self, process, services, pause):  # the base class would read a configuration
        self.services = services
        self.worker = OwnWorker(process, process.make_runner(schedules.PLANS, self), services, pause)
        self.worker.every(pause, self._begin_schedules)


class Process(world.Process):
    """A process with the work of its topic."""

    scheduler = None

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

    def create_snapshot(self, snapshot):
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
            raise RuntimeError('the backend says no')
        if outcome == 'slow':
            self._baton.sleep(self._rng.uniform(0, 1200))
        change()
        self._baton.point(f'{what} of a snapshot is done')
        if outcome == 'half':
            raise RuntimeError('it was done, and nobody knows')


class World(world.World):
    """One to three schedulers, and a backend with a process or two."""

    host = 'host@one'
    process_class = Process

    def __init__(self, rng, baton, faults, model, services):
        super().__init__(rng, baton, faults, model, services)
        self.pause = rng.choice((10.0, 30.0, 60.0))

    def use(self, deployment):
        """Have the policies of the deployment."""
        enforcer = deployment.enforcer
        self.services = dataclasses.replace(self.services, make_enforcer=lambda: enforcer)

    def make_backend(self, db):
        return Backend(self.rng, self.baton, self.faults)

    def begin(self):
        for topic, host in ((SCHEDULER, ''), (SHARE, self.host)):
            for _ in range(self.rng.choice((1, 2, 3) if topic == SCHEDULER else (1, 2))):
                self.add(topic, host)

    def outage(self, seconds):
        """Kill all schedulers, and start others so much later."""
        self.baton.note(f'no scheduler for {seconds:.0f} s')
        for one in self.model.processes.values():
            if one.topic == SCHEDULER:
                one.dead = True
        self.baton.sleep(seconds)
        self.add(SCHEDULER)

    def mend(self):
        """Set all clocks right, and have a process of each kind."""
        for one in self.model.processes.values():
            one.offset = 0.0
        self.add(SCHEDULER)
        self.add(SHARE, self.host)
