# SPDX-License-Identifier: Apache-2.0
"""Signals to a runner that come between its look and its sleep, at each point there is. For other waits see test_waits."""

import testtools

from manila_lite import engine, errors
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step
from manila_lite.tests import turns
from manila_lite.tests.simulation import gaps
from manila_lite.tests.simulation.strangers import Injected

#: One of so many points is tried.
_PARTS = 3
_HOUR = 3600.0


def _nothing(*_):
    """Write nothing at the end."""


def _plan(kind, *steps):
    return Plan(
        kind, tuple(Step(do, name=f'step_{number}') for number, do in enumerate(steps)), _nothing, _nothing
    )


class Runs(gaps.GapHistory):
    """A runner that has started, and has looked for work and found nothing."""

    rest = 1.0

    def prepare(self):
        self.runner.start()
        self.baton.sleep(self.rest)
        self.first()

    def first(self):
        """Begin work that is there before the signal."""


class Waits(Runs):
    """An operation that waits is told to go on: ``migration_complete``, cancel, a reset."""

    def plans(self):
        def wait(work):
            with self.db.writer() as conn:
                work.hold(conn)
                told = self.asked
            if not told:
                raise errors.Again(_HOUR)

        return [_plan('wait', wait)]

    def first(self):
        self.operation = self.begin('wait')

    def signal(self):
        self.hurry(self.operation, asked=1)

    def answered(self):
        return self.is_done(self.operation)


class WaitsFromTheStart(Waits):
    """The same to a runner that has just started."""

    rest = 0.0


class WaitsAndClocksDiffer(Waits):
    """The same, a moment after it was told something else, by a process whose clock is behind."""

    behind = 1.0

    def first(self):
        super().first()
        self.until(lambda: self.state(self.operation) == (rows.OPEN, False) and not self.running)
        self.baton.sleep(5)
        held, self.outside.offset = self.outside.offset, 0.0
        self.hurry(self.operation)
        self.outside.offset = held


class TriesAgain(Runs):
    """Work that fails is tried again soon, without a signal."""

    def plans(self):
        def fail_once(work):
            if work.op.attempts == 1:
                raise Injected('not now')

        return [_plan('fail', fail_once)]

    def first(self):
        self.operation = self.begin('fail')

    def signal(self):
        """Give none."""

    def answered(self):
        return self.is_done(self.operation)


class AskedAgain(Runs):
    """What was asked for is asked for once more: access rules, looks at replicas."""

    def plans(self):
        def look(work):
            with self.db.writer() as conn:
                work.hold(conn)
                work.op = rows.get(conn, work.op.id)
                self.seen = self.asked

        return [_plan('sync', look)]

    def first(self):
        self.ask()

    def ask(self):
        self.begin('sync', engine.begin_once, asked=1, unique_key='key', lane=engine.FAST, mutex_key='key')

    signal = ask

    def answered(self):
        return self.seen == self.asked and not self.running


class AskedAgainInVain(AskedAgain):
    """The same while it fails for good: the newer request has its own tries."""

    fails = True

    def plans(self):
        def look(work):
            with self.db.reader() as conn:
                work.op = rows.get(conn, work.op.id)
                self.seen = self.asked

        def fail(work):
            raise errors.Final('never')

        return [_plan('sync', look, fail)]


class FindsWork(Runs):
    """New work comes while the only thread of its lane is busy."""

    lane, mutex_key = engine.WORK, None

    def plans(self):
        def slow(work):
            self.baton.sleep(2.0)

        return [_plan('slow', slow), _plan('next', _nothing)]

    def first(self):
        self.begin('slow', lane=self.lane, mutex_key=self.mutex_key)

    def signal(self):
        self.operation = self.begin('next', lane=self.lane, mutex_key=self.mutex_key)

    def answered(self):
        return self.is_done(self.operation)


class FindsQuickWork(FindsWork):
    lane = engine.FAST


class FindsItsTurn(FindsWork):
    """New work comes that may not run beside what runs."""

    mutex_key = 'x'


class ThreadIsFreed(Runs):
    """A thread is freed while the runner looks for work of other lanes."""

    def plans(self):
        def held(work):
            self.baton.wait(lambda: self.asked)

        return [_plan('held', held), _plan('next', _nothing)]

    def first(self):
        self.begin('held')
        self.until(lambda: self.running)
        self.baton.sleep(1)
        self.look()

    def look(self):
        self.operation = self.begin('next')
        self.wake(gaps.TOPIC, gaps.HOST, engine.WORK)  # of another process

    def signal(self):
        self.asked = 1

    def answered(self):
        return self.is_done(self.operation)


class ThreadIsFreedAtAWakeUp(ThreadIsFreed):
    """A thread is freed while the wake-up for the next work finds that there is none."""

    def look(self):
        runner, self.runner = self.runner, None  # nobody is told yet
        self.operation = self.begin('next')
        self.runner = runner
        self.baton.spawn(self.process, 'bus', lambda: self.wake(gaps.TOPIC, gaps.HOST, engine.WORK))


class Stops(Runs):
    """The process is stopped: work under way keeps its lease, however long it takes, and then the runner ends."""

    seconds = 8.0  # longer than a lease
    stopped = False
    stops = True

    def plans(self):
        def long(work):
            self.busy = work.op.id
            self.baton.sleep(self.seconds)
            self.committed(None)
            self.busy = None

        return [_plan('long', long, long)]

    def first(self):
        self.operation = self.begin('long')

    def signal(self):
        self.runner.stop()
        self.stopped = True

    def answered(self):
        return self.stopped and not self.state(self.operation)[1]


class StopsWhileIdle(Stops):
    seconds = 0.0


SCENARIOS = (
    Waits,
    WaitsFromTheStart,
    WaitsAndClocksDiffer,
    TriesAgain,
    AskedAgain,
    AskedAgainInVain,
    FindsWork,
    FindsQuickWork,
    FindsItsTurn,
    ThreadIsFreed,
    ThreadIsFreedAtAWakeUp,
    Stops,
    StopsWhileIdle,
)


class GapsTest(testtools.TestCase):
    """A history for each point of each scenario."""

    def check(self, scenario):
        deployment = self.useFixture(gaps.GapDeployment())
        failure, points = scenario(None, deployment).run()
        self.assertIsNone(failure)
        self.assertGreater(points, 20)
        for at in turns.mine(range(points + 1), _PARTS):
            failure, _ = scenario(at, deployment).run()
            self.assertIsNone(failure, f'{scenario.__name__}: {failure}')


def _test(scenario):
    return lambda self: self.check(scenario)


for _scenario in SCENARIOS:
    setattr(GapsTest, f'test_{_scenario.__name__}', _test(_scenario))
