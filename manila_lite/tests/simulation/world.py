# SPDX-License-Identifier: Apache-2.0
"""The processes of a history, their faults, and the bus between them."""

import itertools

from manila_lite import context
from manila_lite.engine import Runner
from manila_lite.rpc import notifications
from manila_lite.rpc.endpoint import Operations
from manila_lite.tests.simulation import environment, plans

#: Seconds of a clock's jump, and until a wake-up arrives, at most.
_JUMP, _NEWS = 20.0, 3.0


class Process:
    """One process: a clock, threads, and perhaps a runner. ``immune``: it has no faults."""

    runner_class = Runner

    def __init__(self, world, name, topic='', host='', *, immune=False):
        self.name = name
        self.topic, self.host = topic, host
        self.immune = immune
        self.dead = self.leaving = False
        self.frozen = 0.0  # until when it is frozen
        self.offset = 0.0  # seconds that its clock is ahead
        self.offsets = [0.0]  # the same, ever since it began
        self.baton, self.model = world.baton, world.model
        self._world = world
        self._count = itertools.count()
        self.runner = self.endpoint = None

    def number(self):
        """Return the number of a new thread."""
        return next(self._count)

    def sees_dead(self, owner):
        """Say whether the owner is known to be dead, which needs the same machine."""
        return self._world.one_machine and self._world.model.processes[owner].dead

    def start(self):
        """Start the work of the process."""
        self.work(plans.plans(self.topic, self._world), None)

    def stop(self):
        """End the work of the process."""
        self.runner.stop()

    def make_runner(self, plans_of_topic, service):
        """Return a runner of the queue."""
        runner = self.runner_class(
            self._world.services,
            self.topic,
            self.host,
            plans_of_topic,
            service,
            environment.SimulatedEnvironment(self),
        )
        ends = runner.executor._ends  # only its own calls show who writes for whom
        together, alone = ends._end_together, ends._end

        def end_together(group):
            with self.model.group([one.work.op.id for one in group]):
                return together(group)

        def end(one):
            with self.model.group([one.work.op.id]):
                return alone(one)

        ends._end_together, ends._end = end_together, end
        return runner

    def work(self, plans_of_topic, service):
        """Start a runner on the queue, and connect it to the bus."""
        self.runner = self.make_runner(plans_of_topic, service)
        self.connect_to_bus(self.runner)
        self.runner.start()

    def connect_to_bus(self, runner):
        """Connect the runner to the bus, or none."""
        self.endpoint = runner and Operations(runner.wake)


class World:
    """Processes of two queues: schedulers, and share managers of one backend."""

    host = 'host@backend'
    process_class = Process

    def __init__(self, rng, baton, faults, model, services):
        self.rng, self.baton, self.faults, self.model = rng, baton, faults, model
        self.services = context.Services(conf=services.conf, db=services.db, bus=self)
        self.notifications = notifications.Notifier(services.conf)  # as of each bus; no driver sends any
        self.backend = self.make_backend(services.db)
        self.one_machine = rng.random() < 0.5
        self._count = itertools.count(1)
        self.outside = Process(self, 'outside', immune=True)
        faults.befall = {
            'killed': self._killed,
            'frozen': self._frozen,
            'jumped': self._jumped,
            'stopped': self._stopped,
        }

    def make_backend(self, db):
        """Return the simulated backend."""
        return plans.Backend(self.rng, self.baton, self.faults, self.model, db)

    def begin(self):
        """Start the first processes."""
        for topic, host in ((plans.SCHEDULER, ''), (plans.SHARE, self.host)):
            for _ in range(self.rng.choice((1, 2, 2))):
                self.add(topic, host)

    def add(self, topic, host=''):
        """Start one more process, and return it."""
        process = self.process_class(self, f'{topic}-{next(self._count)}', topic, host)
        self.model.processes[process.name] = process
        self.baton.spawn(process, f'{process.name}.start', process.start)
        return process

    # Faults of processes --------------------------------------------------------------------------------

    def _killed(self, process):
        self.baton.note(f'killed: {process.name}')
        self._start_successor(process)
        process.dead = True

    def _frozen(self, process):
        seconds = self.faults.long()
        self.baton.note(f'frozen for {seconds:.1f} s: {process.name}')
        process.frozen = self.baton.now + seconds
        self.faults.disturbed(seconds)

    def _jumped(self, process):
        process.offset += self.rng.uniform(-_JUMP, _JUMP)
        process.offsets.append(process.offset)
        self.baton.note(f'clock {process.offset:.1f} s ahead: {process.name}')

    def _stopped(self, process):
        if process.leaving or process.runner is None:
            return
        self.stop(process)
        self._start_successor(process)

    def stop(self, process):
        """Let the process end in peace."""
        process.leaving = True
        self.baton.note(f'stopped: {process.name}')

        def stop():
            process.stop()
            process.dead = True

        self.baton.spawn(process, f'{process.name}.stop', stop)

    def _start_successor(self, process):
        seconds = self.rng.uniform(0, 10)

        def succeed():
            self.baton.sleep(seconds)
            self.add(process.topic, process.host)

        self.baton.spawn(self.outside, f'successor of {process.name}', succeed)

    # The bus ------------------------------------------------------------------------------------

    def wake(self, topic, host, lane):
        """Send a wake-up to a process of the queue as the bus does: later, twice, or never."""
        for _ in range(2 if self.rng.random() < self.faults.twice else 1):
            if self.rng.random() < self.faults.lost:
                self.baton.note('a wake-up is lost')
            else:
                self._send(topic, host or '', lane)

    def _send(self, topic, host, lane):
        seconds = self.rng.choice((0.0, 0.0, self.rng.uniform(0, _NEWS)))

        def deliver():
            self.baton.sleep(seconds)
            there = [
                one
                for one in self.model.processes.values()
                if (one.topic, one.host) == (topic, host) and one.endpoint and not one.dead
            ]
            if there:
                self.rng.choice(there).endpoint.wake({}, lanes=[lane])

        self.baton.spawn(self.outside, 'bus', deliver)
