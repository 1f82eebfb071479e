# SPDX-License-Identifier: Apache-2.0
"""Operations to test the engine with: the seed chooses what their steps do at a simulated backend."""

import functools

from manila_lite import engine, errors
from manila_lite.db.core.engine import TRANSIENT
from manila_lite.db.queries import operations as rows
from manila_lite.tests.simulation.strangers import Injected

SCHEDULER, SHARE = 'scheduler', 'share'
PLACED, CHANGED, SYNCED, STRANGE = 'thing.make', 'thing.change', 'thing.sync', 'thing.strange'

#: Results of steps, with their weights. ``half``: it fails with half of it done.
_OUTCOMES = {'ok': 8, 'slow': 3, 'again': 2, 'fail': 2, 'half': 1, 'final': 1, 'held': 4, 'saved': 1}
#: The write of an operation that never succeeds: of most, none.
_UNWRITABLE = (*[''] * 5, 'end', 'passing on', 'passing on')


class Backend:
    """Steps that are done and undone, as the seed chooses. ``model`` is told of each run."""

    def __init__(self, rng, baton, faults, model, db):
        self._rng = rng
        self._baton = baton
        self._faults = faults
        self._model = model
        self._db = db
        self._moods = {}  # by operation: nothing fails, anything may, or one step always does
        self._unwritable = {}  # by operation: nothing, its end, or its passing to another queue

    def run(self, work, topic, at, way):
        """Do or undo a step, or fail, or ask for another attempt."""
        run = self._model.begun(self._baton.current, work, topic, at, way)
        outcome = self._outcome(work.op.id, at, way)
        self._baton.point(f'{self._model.name_of(work.op.id)} {way} {at}: {outcome}')
        try:
            getattr(self, f'_{outcome}')(run, work)
        finally:
            run.over()

    def write_end(self, what, work):
        """Write the end of the operation, or refuse to at each try."""
        self._refuse('end', work)
        self._model.write(self._baton.current, what, work.op.id)

    def pass_on(self, work, queue):
        """Let the operation go to another queue, or refuse to write that as long as it is not undone."""
        write = work.pass_on

        def pass_on(conn, topic, host):
            if work.error is None:
                self._refuse('passing on', work)
            write(conn, topic, host)

        work.send, work.pass_on = queue, pass_on

    def _refuse(self, what, work):
        chosen = self._unwritable.setdefault(work.op.id, self._rng.choice(_UNWRITABLE))
        if chosen == what:
            self._baton.note(f'{self._model.name_of(work.op.id)}: its {what} is refused')
            self._model.met('refused')
            raise Injected(f'the database refuses the {what}')

    def _outcome(self, operation_id, at, way):
        drawn = self._rng.choice(('reliable', 'wild', 'wild', f'never {self._rng.randrange(3)}'))
        mood = self._moods.setdefault(operation_id, drawn)
        if mood == f'never {at}' and way == 'do':
            return 'half'
        if mood != 'wild':
            return self._rng.choice(('ok', 'ok', 'ok', 'slow'))
        return self._rng.choices(list(_OUTCOMES), list(_OUTCOMES.values()))[0]

    def _ok(self, run, work):
        run.end('ok')

    def _slow(self, run, work):
        self._baton.sleep(self._faults.long())
        run.end('ok')

    def _again(self, run, work):
        run.end('again')
        raise errors.Again(self._rng.choice((0.0, 0.3, 2.0)), 'not yet')

    def _fail(self, run, work):
        run.end('fail', nothing=True)
        raise Injected('the backend says no')

    def _half(self, run, work):
        run.end('fail')
        raise Injected('half of it')

    def _final(self, run, work):
        run.end('final')
        raise errors.Final('never')

    def _held(self, run, work):
        self._write(run, work, work.hold, 'held')

    def _saved(self, run, work):
        self._write(run, work, work.save, 'saved')

    def _write(self, run, work, write, what):
        try:
            with self._db.writer() as conn:
                write(conn)
                self._model.write(self._baton.current, what, work.op.id)
        except (errors.LostClaim, *TRANSIENT):
            raise
        except Exception:
            run.end('fail', nothing=True)  # a statement that the database refuses is a failure of the step
            raise
        run.end('ok')


def name(at):
    """Return the name of the step of this number."""
    return f'step_{at}'


def _plan(world, kind, *steps):
    def done(conn, work):
        world.backend.write_end(rows.DONE, work)

    def failed(conn, work, error):
        world.backend.write_end(rows.FAILED, work)

    def prepare(conn, works):
        conn.exec_driver_sql('SELECT 2')
        for work in works:
            work.loaded = work.op.id

    def done_many(conn, works):
        for work in works:
            world.backend.write_end(rows.DONE, work)

    return engine.Plan(kind, steps, done, failed, prepare, done_many)


def plans(topic, world):
    """Return the plans of processes of the topic."""

    def step(at, undo=True, pass_on=None, back=False):
        def do(work):
            world.backend.run(work, topic, at, 'do')
            if pass_on is not None:
                world.backend.pass_on(work, pass_on)
                world.model.sent(world.baton.current, 'do')

        def undone(work):
            world.backend.run(work, topic, at, 'undo')
            if back and work.data.get('back', 0) < 1:
                work.data['back'] = work.data.get('back', 0) + 1
                work.send = (SCHEDULER, '')
                world.model.sent(world.baton.current, 'undo')

        return engine.Step(do, undone if undo else None, name(at))

    plan = functools.partial(_plan, world)
    if topic == SCHEDULER:
        return [plan(PLACED, step(0), step(1, undo=False, pass_on=(SHARE, world.host)))]
    return [
        plan(PLACED, step(0, back=True), step(1)),
        plan(CHANGED, step(0), step(1, undo=False), step(2)),
        plan(SYNCED, step(0, undo=False)),
    ]


#: Steps that can be undone, by kind and topic.
UNDONE = {(PLACED, SCHEDULER): {0}, (PLACED, SHARE): {0, 1}, (CHANGED, SHARE): {0, 2}, (SYNCED, SHARE): set()}
LAST = {(PLACED, SCHEDULER): 1, (PLACED, SHARE): 1, (CHANGED, SHARE): 2, (SYNCED, SHARE): 0}
