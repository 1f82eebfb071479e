# SPDX-License-Identifier: Apache-2.0
"""The processes of a history, what befalls them, and the bus between them."""

import itertools

from manila_lite import context
from manila_lite.operations import Runner
from manila_lite.rpc.endpoint import Operations
from manila_lite.tests.simulation import machine, plans

#: Seconds that a clock jumps at most, and that news takes.
_JUMP, _NEWS = 20.0, 3.0


class Process:
    """One process: a clock, threads, and perhaps a runner. ``immune``: nothing goes wrong with it."""

    def __init__(self, world, name, topic='', host='', *, immune=False):
        self.name = name
        self.topic, self.host = topic, host
        self.immune = immune
        self.dead = self.leaving = False
        self.frozen = 0.0           # until when it stands still
        self.offset = 0.0           # what its clock is ahead
        self.baton, self.model = world.baton, world.model
        self._world = world
        self._count = itertools.count()
        self.runner = self.endpoint = None

    def number(self):
        """Return the number of a new thread."""
        return next(self._count)

    def sees_dead(self, owner):
        """Say whether the process of that name is known to be dead: not if it was on another machine."""
        return self._world.one_machine and self._world.model.processes[owner].dead

    def start(self):
        """It works."""
        self.work(Runner, plans.plans(self.topic, self._world), None)

    def work(self, kind, known, service):
        """A runner of that class works off its queue, and it is on the bus."""
        self.runner = kind(self._world.services, self.topic, self.host, known, service, machine.Own(self))
        self.endpoint = Operations(lambda ids: self.runner.wake(), self.runner.wake)
        self.runner.start()


class World:
    """Processes of two queues: schedulers, and share managers of one backend."""

    host = 'host@backend'
    kind_of_process = Process

    def __init__(self, rng, baton, faults, model, services):
        self.rng, self.baton, self.faults, self.model = rng, baton, faults, model
        self.services = context.Services(conf=services.conf, db=services.db, bus=self)
        self.backend = self.pretended(services.db)
        self.one_machine = rng.random() < 0.5
        self._count = itertools.count(1)
        self.outside = Process(self, 'outside', immune=True)
        faults.befall = {'killed': self._killed, 'frozen': self._frozen, 'jumped': self._jumped, 'stopped': self._stopped}

    def pretended(self, db):
        """Return the backend of this world."""
        return plans.Backend(self.rng, self.baton, self.faults, self.model, db)

    def begin(self):
        """The first processes work."""
        for topic, host in ((plans.SCHEDULER, ''), (plans.SHARE, self.host)):
            for _ in range(self.rng.choice((1, 2, 2))):
                self.add(topic, host)

    def add(self, topic, host=''):
        """One more process works."""
        process = self.kind_of_process(self, f'{topic}-{next(self._count)}', topic, host)
        self.model.processes[process.name] = process
        self.baton.spawn(process, f'{process.name}.start', process.start)

    # What befalls processes ---------------------------------------------------------------------

    def _killed(self, process):
        self.baton.note(f'killed: {process.name}')
        self._succeed(process)
        process.dead = True

    def _frozen(self, process):
        seconds = self.faults.long()
        self.baton.note(f'frozen for {seconds:.1f} s: {process.name}')
        process.frozen = self.baton.now + seconds
        self.faults.disturbed(seconds)

    def _jumped(self, process):
        process.offset += self.rng.uniform(-_JUMP, _JUMP)
        self.baton.note(f'clock {process.offset:.1f} s ahead: {process.name}')

    def _stopped(self, process):
        if process.leaving or process.runner is None:
            return
        process.leaving = True
        self.baton.note(f'stopped: {process.name}')

        def stop():
            process.runner.stop()
            self._ended(process)
        self.baton.spawn(process, f'{process.name}.stop', stop)
        self._succeed(process)

    def _ended(self, process):
        process.dead = True

    def _succeed(self, process):
        seconds = self.rng.uniform(0, 10)

        def succeed():
            self.baton.sleep(seconds)
            self.add(process.topic, process.host)
        self.baton.spawn(self.outside, f'successor of {process.name}', succeed)

    # The bus ------------------------------------------------------------------------------------

    def wake(self, topic, host, operation_id=None, lane=None):
        """As the bus does it: somebody of the queue hears of it, later, twice, or never."""
        for _ in range(2 if self.rng.random() < self.faults.twice else 1):
            if self.rng.random() < self.faults.lost:
                self.baton.note('a wake-up is lost')
            else:
                self._send(topic, host or '', operation_id, lane)

    def _send(self, topic, host, ident, lane):
        seconds = self.rng.choice((0.0, 0.0, self.rng.uniform(0, _NEWS)))

        def deliver():
            self.baton.sleep(seconds)
            there = [one for one in self.model.processes.values()
                     if (one.topic, one.host) == (topic, host) and one.endpoint and not one.dead]
            if there:
                self.rng.choice(there).endpoint.wake({}, [ident], [lane] if lane else [])
        self.baton.spawn(self.outside, 'bus', deliver)
