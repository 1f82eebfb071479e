# SPDX-License-Identifier: Apache-2.0
"""The processes of a history of shares: the API's, schedulers, and share managers."""

import random
import types

from manila_lite.scheduler import service as scheduler
from manila_lite.scheduler.host_states import Hosts
from manila_lite.scheduler.placement import Placement
from manila_lite.tests.simulation import environment, strangers, world
from manila_lite.tests.simulation.shares import leases
from manila_lite.tests.simulation.shares.backend import Backend, Driver
from manila_lite.tests.simulation.shares.managers import Manager
from manila_lite.tests.simulation.shares.turns import WatchedRunner

API, SCHEDULER, SHARE = 'api', 'scheduler', 'share'
#: Pools; each history has one of these rows. They are small, since large ones never fill up.
_POOLS = (('host@one#a',), ('host@one#a',), ('host@one#a', 'host@one#b'), ('host@one#a', 'host@two#a'))


#: Seconds that a take-over may take longer than promised.
_SLOW = 1.0


class Process(world.Process):
    """A process with the work of its topic."""

    manager = None

    @property
    def runner_class(self):
        return type('OwnRunner', (WatchedRunner,), {'process': self, 'model': self.model})

    def start(self):
        if self.topic == SCHEDULER:
            self.work(scheduler.PLANS, self._world.scheduler(self))
        elif self.topic == SHARE:
            self._manage()

    def _manage(self):
        """Start a share manager. Where that fails the process ends, and another follows."""
        self.manager = self._world.manager(self)
        try:
            self.manager.start()
        except Exception as error:
            self.baton.note(f'it cannot start: {type(error).__name__}')
            strangers.look(self.baton, error)
            self._world.failed(self)
        else:
            self.runner = self.manager.worker.runner

    @property
    def runs_well(self):
        """Say whether the process has started, and neither ends nor stands still."""
        return bool(self.runner) and not (self.dead or self.leaving) and self.frozen <= self.baton.now

    @property
    def stands_by(self):
        """Say whether the process knows that another one works at its backend. One that froze has to find that out."""
        return self.runs_well and self.manager.backend_lease.elsewhere()

    def stop(self):
        if self.manager is None:
            super().stop()
            return
        began = self.baton.now
        self.manager.stop()
        self.model.leases.gave_up(self, began)


class World(world.World):
    """One or two backends, each with a pool or two, and with one share manager or two."""

    process_class = Process

    def make_backend(self, db):
        backend = self.model.backend = Backend(self.rng, self.baton, self.faults, self.model)
        for host in self.rng.choice(_POOLS):
            backend.add(host, self.rng.randint(5, 14))
        return backend

    def begin(self):
        self._often = self.rng.choice((0, 0.2, 0.5))
        self.pause = self.rng.choice((1.0, 3.0, 8.0))  # seconds between reports
        self.model.on_change = self._call
        self._apart = (
            0.0 if self.one_machine else self.rng.choice((0.0, leases.APART)) * self.model.conf.lease
        )
        for _ in range(2):
            self.add(API)
        for _ in range(self.rng.choice((1, 2, 2))):
            self.add(SCHEDULER)
        for host in self.hosts():
            for _ in range(self.rng.choice((1, 2))):
                self.add(SHARE, host)

    def add(self, topic, host=''):
        """Start one more process, whose clock is a little off if it is on a machine of its own."""
        process = super().add(topic, host)
        process.offset = self.rng.uniform(-self._apart / 2, self._apart / 2)
        process.offsets = [process.offset]
        return process

    def _call(self):
        """Ask for reports at any moment, also the worst."""
        if self.faults.on and self.rng.random() < self._often:
            for one in self.model.processes.values():
                if one.manager is not None:
                    one.manager.worker.call()

    def hosts(self):
        """Return the hosts of the backends."""
        return list(dict.fromkeys(pool.partition('#')[0] for pool in self.backend.pools))

    def scheduler(self, process):
        """Return the service of a scheduler's plans."""
        own = environment.SimulatedEnvironment(process)
        return types.SimpleNamespace(
            hosts=Hosts(self.services.conf.service_down_time, own),
            placement=Placement(
                self.deployment.filters, self.deployment.weighers, rng=random.Random(self.rng.random())
            ),
        )

    def manager(self, process):
        """Return the share manager of the process."""
        return Manager(process, self.services, Driver(self.backend, process.host), self.pause)

    def work_and_report(self):
        """Wait until one process works at each backend, and until each backend has reported once more."""
        now, hosts, reported = self.baton.now, self.hosts(), self.model.leases.reported
        self.model.must(
            self.baton.wait(lambda: all(len(self._works(host)) == 1 for host in hosts), 200),
            'nobody works at a backend',
        )
        self.model.must(
            self.baton.wait(lambda: all(reported.get(host, -1.0) > now for host in hosts), 200),
            'a backend does not report',
        )

    def take_over(self):
        """End the process that works at a backend, and wait until another one works there."""
        host = self.rng.choice(self.hosts())
        if len(self._living(host)) < 2:
            self.add(SHARE, host)
        ready = self.baton.wait(
            lambda: any(one.stands_by for one in self._living(host)) and self._works(host), 200
        )
        self.model.must(ready, f'no two processes are ready for {host}')
        if not ready:
            return
        working = self._works(host)[0]
        others = [one for one in self._living(host) if one.stands_by]
        seconds = self._end(working, others)
        self.model.must(
            self.baton.wait(lambda: any(map(leases.relies, self._living(host))), seconds),
            f'{working.name} has ended, and nobody takes {host} over in {seconds} s',
        )
        self.model.must(
            self.baton.wait(lambda: self._works(host), 200), f'nobody works at {host} after {working.name}'
        )

    def _end(self, process, others):
        """Kill or stop the process. Return the seconds after which one of the others must have taken over, at most."""
        left = 0.0
        if self.rng.random() < 0.5:
            self.stop(process)
            self.model.must(self.baton.wait(lambda: process.dead, 200), f'{process.name} does not end')
        else:
            self.baton.note(f'killed: {process.name}')
            process.dead = True
            left = 0.0 if self.one_machine else max(self.model.leases.left(one) for one in others)
        return left + self.model.conf.lease / 3 + _SLOW

    def _living(self, host):
        return [one for one in self.model.processes.values() if one.host == host and not one.dead]

    def _works(self, host):
        return [one for one in self._living(host) if leases.works(one)]

    def failed(self, process):
        """End a process that cannot start, and start another."""
        self._start_successor(process)
        process.dead = True

    def _start_successor(self, process):
        """Start another share manager some time after the process is no more."""
        if process.topic != SHARE:
            super()._start_successor(process)
            return
        seconds = self.rng.uniform(0, 10)

        def succeed():
            self.baton.wait(lambda: process.dead)
            self.baton.sleep(seconds)
            self.add(process.topic, process.host)

        self.baton.spawn(self.outside, f'successor of {process.name}', succeed)
