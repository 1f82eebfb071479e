# SPDX-License-Identifier: Apache-2.0
"""Histories in which a signal comes exactly between a look and the sleep that follows it.

Threads take turns in a fixed order, and each statement, lock, event and clock is a point. One history for each point: there
the thread with the baton stands still, the signal is given, and all others go on as far as they can. Polls are an hour apart,
so a signal that is lost shows as an hour without an answer.
"""

import contextlib
import itertools

from manila_lite import context, engine
from manila_lite.db.queries import operations as rows
from manila_lite.rpc.endpoint import Operations
from manila_lite.tests.simulation import baton, environment
from manila_lite.tests.simulation.deployment import Deployment
from manila_lite.tests.simulation.rows import seconds

TOPIC, HOST = 'share', 'host@backend'
#: Seconds until a signal has to be answered, and after which a history without a signal is at rest. Steps take a few seconds.
ANSWER, REST = 60, 20
_POINTS = 20000


class Straight:
    """Choices that are always the same: go on, and the first of several."""

    @staticmethod
    def random():
        return 0.0

    @staticmethod
    def choice(options):
        return options[0]


class GapBaton(baton.Baton):
    """The thread at the point ``at`` stands still from there on, as long as others, of which the signal is first, can go on."""

    def __init__(self, at):
        super().__init__(Straight(), _POINTS, 1.0)
        self.at = at
        self.signal = self.held = None
        self.counts = False  # points are counted from here on
        self.points = 0

    def point(self, what):
        self.points += self.counts
        super().point(what)

    def _next(self, me):
        if self.signal is not None and self.held is None and self.points >= self.at:
            self.held = me
        if self.held is not None and not self.failure:
            others = [
                task
                for task in (self.signal, *self.tasks)
                if task in self.tasks and task is not self.held and self._due(task) <= self.now
            ]
            if others:
                return others[0]
        return super()._next(me)


class Lock(environment.Lock):
    """A lock whose release is a point, too."""

    def release(self):
        super().release()
        self._baton.point('release')


class Event(environment.Event):
    """An event whose changes and looks are points."""

    def is_set(self):
        self._baton.point('is set')
        return self._is_set

    def set(self):
        self._baton.point('set')
        super().set()

    def clear(self):
        self._baton.point('clear')
        super().clear()

    def wait(self, timeout=None):
        self._baton.point('wait')
        return self._baton.wait(lambda: self._is_set, timeout)


class Machine(environment.SimulatedEnvironment):
    """The machine of a process, with more points."""

    def lock(self):
        return Lock(self._baton)

    def event(self):
        return Event(self._baton)


class Process:
    """A process without faults. ``offset``: seconds that its clock is ahead."""

    dead, immune, frozen = False, True, 0.0

    def __init__(self, history, name, offset=0.0):
        self.name, self.offset = name, offset
        self.baton, self.model = history.baton, history
        self.number = itertools.count().__next__
        self.sees_dead = lambda owner: False


class Quiet:
    """Faults of statements: none."""

    @staticmethod
    def at_statement(process, what):
        return None


class GapDeployment(Deployment):
    """A database, one thread in each lane, and polls that are an hour apart."""

    more = 'workers = 1\npoll_interval = 3600\n'


class GapHistory:
    """A runner of one queue, which gets a signal at the point ``at``. Subclasses say what it does, and what the signal is."""

    behind = 0.0  # seconds that the clock of the process that signals is behind
    fails = stops = (
        False  # whether operations end as failed, or go on only with another process, as they should
    )

    def __init__(self, at, deployment):
        self.baton, self.faults, self.model = GapBaton(at), Quiet, self
        self.pending, self.asked, self.seen = {}, 0, -1
        self.busy = None  # the operation whose step is under way
        self._deployment = deployment
        self.services = context.Services(conf=deployment.services.conf, db=deployment.services.db, bus=self)
        self.db = self.services.db
        self.process, self.outside = Process(self, 'receiver'), Process(self, 'outside', -self.behind)
        self.runner = self.operation = None

    # What the simulated database and threads call -----------------------------------------------------

    def met(self, fault):
        """Take note of a fault: there is none."""

    def committed(self, task):
        """Check that what is under way has a claim that holds."""
        if self.busy is not None:
            row = self._deployment.table.read()[self.busy]
            holds = (
                row.owner and seconds(row.lease_expires_at) > environment.EPOCH.timestamp() + self.baton.now
            )
            if not holds:
                self.baton.fail(f'{row.kind} is under way, and its lease is over')

    def worker_started(self, task, op, most):
        """Take note of a thread: it does nothing here."""

    # The bus, which loses nothing

    def wake(self, topic, host, lane):
        if self.runner is not None:
            Operations(self.runner.wake).wake({}, lanes=[lane])

    # The history --------------------------------------------------------------------------------------

    def run(self):
        """Run the history. Return its failure, or None; and the number of points of the receiver until it is at rest."""
        self._deployment.table.clear()
        self.baton.begin(self.outside)
        self._deployment.use(self)
        with contextlib.suppress(baton.Stopped):
            self._live()
        failure, points = self.baton.failure or self._misses(), self.baton.points
        self.baton.end()
        self._deployment.use(None)
        return failure, points

    def _misses(self):
        """Return which operations neither succeeded nor ended otherwise as they should, after a signal; or None."""
        if self.baton.at is None or self.stops:
            return None
        wanted = rows.FAILED if self.fails else rows.DONE
        other = [
            f'{row.kind} is {row.state}'
            for row in self._deployment.table.read().values()
            if row.state not in (rows.OPEN, wanted)
        ]
        return ', '.join(other) or None

    def _live(self):
        self.runner = engine.Runner(self.services, TOPIC, HOST, self.plans(), self, Machine(self.process))
        self.prepare()
        if self.baton.at is None:
            self.baton.counts = True
            self.baton.sleep(REST)
            return
        self.baton.signal = self.baton.spawn(self.outside, 'signal', self.give)
        self.baton.signal.condition = lambda: self.baton.points >= self.baton.at
        self.baton.counts = True
        self.baton.wait(lambda: self.baton.points >= self.baton.at, REST)
        if not self.baton.wait(self.answered, ANSWER):
            self.baton.fail(
                f'no answer {ANSWER} s after the signal at point {self.baton.at}: '
                f'{[(row.kind, row.state, row.owner) for row in self._deployment.table.read().values()]}'
            )

    def give(self):
        """Give the signal."""
        self.baton.current.condition = None
        self.signal()

    # For scenarios ------------------------------------------------------------------------------------

    def begin(self, kind, begin=engine.begin, asked=0, **more):
        """Begin an operation, in one transaction with what is asked for, and wake the runner. Return its id."""
        ctx = context.RequestContext(project_id='p', user_id='u', services=self.services, overwrite=False)
        with self.db.writer() as conn:
            self.asked += asked
            wake = begin(conn, ctx, kind, 'thing', f'thing-{kind}', topic=TOPIC, host=HOST, **more)
        wake.send(ctx)
        return wake.operation_id

    def hurry(self, operation_id, asked=0):
        """Make the operation due in one transaction with what is asked for, and wake the runner."""
        with self.db.writer() as conn:
            self.asked += asked
            rows.make_due(conn, operation_id)
        self.wake(TOPIC, HOST, engine.WORK)

    def state(self, operation_id):
        """Return the state of the operation, and whether somebody has claimed it."""
        row = self._deployment.table.read()[operation_id]
        return row.state, bool(row.owner)

    def is_done(self, operation_id):
        """Say whether there is the operation, and it is done."""
        return operation_id is not None and self.state(operation_id)[0] == rows.DONE

    @property
    def running(self):
        """Return how many operations have a thread; without the lock, which would be a point."""
        return len(self.runner._slots._running)

    def until(self, condition):
        """Wait, before the signal, until the condition holds."""
        if not self.baton.wait(condition, REST):
            self.baton.fail('the receiver does not get as far as it should before the signal')
            self.baton.point('')
