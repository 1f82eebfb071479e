# SPDX-License-Identifier: Apache-2.0
"""The processes of a history of shares: the API's, schedulers, and one share manager for each backend."""

import random
import types

from manila_lite.db import services as rows
from manila_lite.manager import shares as manager_shares
from manila_lite.manager.service import ShareManager
from manila_lite.scheduler import service as scheduler
from manila_lite.scheduler.hosts import Hosts
from manila_lite.scheduler.placement import Placement
from manila_lite.tests.simulation import machine, world
from manila_lite.tests.simulation.shares.backend import Backend, Driver
from manila_lite.tests.simulation.shares.turns import Watched

API, SCHEDULER, SHARE = 'api', 'scheduler', 'share'
_ZONE = 'nova'
#: Pools; each history has one of these rows. They are small, since large ones never fill up.
_POOLS = (('host@one#a',), ('host@one#a',), ('host@one#a', 'host@one#b'), ('host@one#a', 'host@two#a'))


class Manager(ShareManager):
    """The product's reports and driver calls. The backend lease (``Tenure``) is left out: each backend has one process."""

    def __init__(self, process, services, driver):      # the base class would read a configuration and start threads
        self.services = services
        self.name, self.host = process.host.partition('@')[2], process.host
        self.driver = driver
        self.section = types.SimpleNamespace(share_backend_name=None)
        own = machine.Own(process)
        self.now = own.monotonic
        self.reported = -1.0        # begin of the last report that succeeded
        self._reporting, self._report_wanted, self._stopping = own.lock(), own.event(), own.event()

    def _may_work(self):
        return True

    def _report(self):
        began = self.now()
        super()._report()
        self.reported = began

    def leave(self):
        """Stop reporting."""
        self._stopping.set()
        self._report_wanted.set()


class Process(world.Process):
    """A process with the work of its topic."""

    manager = None
    called = False              # whether to report at once

    def start(self):
        if self.topic == SCHEDULER:
            self._work(scheduler.PLANS, self._world.scheduler(self))
        elif self.topic == SHARE:
            self.manager = self._world.manager(self)
            for target in (self._beat, self.manager._report_when_wanted):
                self.baton.spawn(self, f'{self.name}.{target.__name__.strip("_")}', target)
            self._work(manager_shares.PLANS, self.manager)

    def _work(self, plans, service):
        kind = type('OwnRunner', (Watched,), {'process': self, 'model': self.model})
        self.work(kind, plans, service)

    def _beat(self):
        """Do the timers' work of the worker: heartbeats, and reports now and then."""
        while not self.leaving:
            for do in (self._report, self._world.heartbeat):
                try:
                    do(self)
                except Exception as error:
                    self.baton.note(f'a timer failed: {type(error).__name__}')
            self.baton.wait(lambda: self.called, self._world.pause)
            self.called = False

    def _report(self, _process):
        self.manager._report()


class World(world.World):
    """One or two backends, each with a pool or two."""

    kind_of_process = Process

    def pretended(self, db):
        backend = self.model.backend = Backend(self.rng, self.baton, self.faults, self.model)
        for host in self.rng.choice(_POOLS):
            backend.add(host, self.rng.randint(5, 14))
        return backend

    def begin(self):
        self._often = self.rng.choice((0, 0.2, 0.5))
        self.pause = self.rng.choice((1.0, 3.0, 8.0))       # seconds between reports
        self.model.on_change = self._call
        for _ in range(2):
            self.add(API)
        for _ in range(self.rng.choice((1, 2, 2))):
            self.add(SCHEDULER)
        for host in self.hosts():
            self.add(SHARE, host)

    def _call(self):
        """Ask for reports at any moment, also the worst."""
        if self.faults.on and self.rng.random() < self._often:
            for one in self.model.processes.values():
                one.called = True

    def hosts(self):
        """Return the hosts of the backends."""
        return list(dict.fromkeys(pool.partition('#')[0] for pool in self.backend.pools))

    def scheduler(self, process):
        """Return the service of a scheduler's plans."""
        own = machine.Own(process)
        return types.SimpleNamespace(
            hosts=Hosts(self.services.conf.service_down_time, own),
            placement=Placement(self.place.filters, self.place.weighers, rng=random.Random(self.rng.random())))

    def manager(self, process):
        """Return the service of a share manager's plans."""
        return Manager(process, self.services, Driver(self.backend, process.host))

    def heartbeat(self, process):
        """Record a heartbeat of the process."""
        with self.services.db.writer() as conn:
            rows.heartbeat(conn, process.host, 'manila-share', _ZONE)

    def report(self):
        """Wait until each backend has reported once more."""
        now = self.baton.now

        def reported():
            fresh = {one.host for one in self.model.processes.values()
                     if one.manager is not None and not one.dead and one.manager.reported > now}
            return len(fresh) == len(self.hosts())
        self.model.must(self.baton.wait(reported, 200), 'a backend does not report')

    def _stopped(self, process):
        if process.manager is not None and not process.leaving:
            process.manager.leave()
        super()._stopped(process)

    def _succeed(self, process):
        """Start the next process of a backend when no other is left."""
        if process.topic != SHARE:
            super()._succeed(process)
            return
        seconds = self.rng.uniform(0, 10)

        def succeed():
            self.baton.wait(lambda: process.dead)
            self.baton.sleep(seconds)
            self.add(process.topic, process.host)
        self.baton.spawn(self.outside, f'successor of {process.name}', succeed)
