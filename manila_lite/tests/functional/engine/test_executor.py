# SPDX-License-Identifier: Apache-2.0
"""Durable work on a real database: every plan ends, at whatever step it was killed."""

import threading

from oslo_db.exception import DBDeadlock
from oslo_utils import uuidutils

from manila_lite import engine, errors
from manila_lite.db.queries import operation_claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class Killed(BaseException):
    """Stands for the death of the process: later code does not run, and nothing is saved."""


class Journal:
    """Plan whose steps note their runs, and fail or die at given steps."""

    def __init__(self, length=3, *, die_at=None, fail_at=None, again_at=None, times=1, error=errors.Final):
        self.notes = []
        self.ends = []
        self.die_at = die_at
        self.fail_at = fail_at
        self.again_at = again_at
        self.times = times  # how often the step raises Again
        self.error = error
        self.plan = Plan(
            'test.plan',
            tuple(Step(self._do(n), self._undo(n), f'step_{n}') for n in range(length)),
            lambda conn, work: self.ends.append('done'),
            lambda conn, work, error: self.ends.append(f'failed: {error}'),
        )

    def _do(self, number):
        def do(work):
            self.notes.append(f'do {number}')
            work.data[f'step{number}'] = True
            if self.die_at == number:
                self.die_at = None
                raise Killed
            if self.again_at == number and self.times:
                self.times -= 1
                raise errors.Again(0.01)
            if self.fail_at == number:
                raise self.error(f'step {number} says no')

        return do

    def _undo(self, number):
        def undo(work):
            self.notes.append(f'undo {number}')
            if self.die_at == -number - 1:
                self.die_at = None
                raise Killed

        return undo


class GettingOn(Journal):
    """Plan whose step 0, or its undo, fails on every try; the try ``saving_try`` saves its progress."""

    def __init__(self, name, saving_try):
        super().__init__(length=2, fail_at=None if name == 'do 0' else 1)
        self.name, self.saving_try = name, saving_try
        first, second = self.plan.steps
        first = Step(self._failing(first.do, 'do 0'), self._failing(first.undo, 'undo 0'), first.name)
        self.plan = Plan('test.plan', (first, second), self.plan.done, self.plan.failed)

    def _failing(self, step, name):
        def run(work):
            step(work)
            if name == self.name:
                if self.notes.count(name) == self.saving_try:
                    with work.ctx.db.writer() as conn:
                        work.save(conn)
                raise RuntimeError(name)

        return run


class Moving(Journal):
    """Plan whose backend is away at first, and goes elsewhere in the first try of step 1, and of its undo."""

    def __init__(self):
        super().__init__(fail_at=2)
        self.homes = ['', 'here', 'there', 'here']
        first, second, third = self.plan.steps
        second = Step(self._leaving(second.do, 'do 1'), self._leaving(second.undo, 'undo 1'), second.name)
        self.plan = Plan('test.plan', (first, second, third), self.plan.done, self.plan.failed)

    def presence(self):
        if len(self.homes) == 4:
            self.homes.pop(0)
            return ''
        return self.homes[0]

    def _leaving(self, step, name):
        def run(work):
            step(work)
            if self.notes.count(name) == 1:
                self.homes.pop(0)
                raise errors.Final('its data is not in the pool')

        return run


class Operations(base.ServiceTest):
    """The runner, without a scheduler or a backend."""

    PARTS = ()

    def run_plan(self, journal):
        """Run one operation to its end, taking it over after each death. Return its row."""
        services = self.service.services
        queue = uuidutils.generate_uuid()
        runner = self._runner(journal, queue)
        with services.db.writer() as conn:
            wake = engine.begin(
                conn,
                self.service.context(),
                'test.plan',
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=queue,
            )
        runner.start()
        self.addCleanup(runner.stop)

        def ended():
            with services.db.writer() as conn:
                row = rows.get(conn, wake.operation_id)
                if row.state != rows.OPEN:
                    return row
                if row.owner and not runner.busy:
                    operation_claims.free_claims_of(conn, row.owner)  # as the next process does at its start
            runner.wake()
            return None

        return waiting.until(ended, 'the operation has ended')

    def _runner(self, journal, queue):
        runner = engine.Runner(self.service.services, 'share', queue, [journal.plan], None)
        if isinstance(journal, Moving):
            runner.executor.presence = journal.presence
        return runner

    def test_steps_run_in_order(self):
        journal = Journal()
        row = self.run_plan(journal)
        self.assertEqual(rows.DONE, row.state)
        self.assertEqual(['do 0', 'do 1', 'do 2'], journal.notes)
        self.assertEqual(['done'], journal.ends)

    def test_operation_killed_in_a_step_resumes_at_that_step(self):
        for number in range(3):
            journal = Journal(die_at=number)
            row = self.run_plan(journal)
            self.assertEqual(rows.DONE, row.state)
            self.assertEqual(2, journal.notes.count(f'do {number}'))
            for other in set(range(3)) - {number}:
                self.assertEqual(1, journal.notes.count(f'do {other}'))
            self.assertEqual(['done'], journal.ends)

    def test_final_error_undoes_the_steps_in_reverse_order(self):
        for number in range(3):
            journal = Journal(fail_at=number)
            row = self.run_plan(journal)
            self.assertEqual(rows.FAILED, row.state)
            self.assertEqual([f'undo {step}' for step in range(number, -1, -1)], journal.notes[number + 1 :])
            self.assertEqual([f'failed: step {number} says no'], journal.ends)

    def test_operation_killed_while_undoing_resumes_undoing(self):
        journal = Journal(fail_at=2, die_at=-2)
        row = self.run_plan(journal)
        self.assertEqual(rows.FAILED, row.state)
        self.assertEqual(['undo 2', 'undo 1', 'undo 1', 'undo 0'], journal.notes[3:])
        self.assertEqual(1, len(journal.ends))

    def test_error_and_data_of_the_failed_step_survive_a_kill_while_undoing(self):
        known = []

        def do(work):
            work.data['left'] = 'half of it'
            raise errors.Final('the backend says no', detail='NO_SHARE_SERVER', code='no_server')

        def undo(work):
            known.append(work.data.get('left'))
            if len(known) == 1:
                raise Killed

        journal = Journal()
        journal.plan = Plan(
            'test.plan',
            (Step(do, undo),),
            journal.plan.done,
            lambda conn, work, error: journal.ends.append(
                (errors.user_text(error), getattr(error, 'detail', None), error.code)
            ),
        )
        row = self.run_plan(journal)
        self.assertEqual(['half of it'] * 2, known)
        self.assertEqual([('the backend says no', 'NO_SHARE_SERVER', 'no_server')], journal.ends)
        self.assertEqual('no_server', row.error_code)

    def test_step_repeated_after_a_conflict_knows_nothing_of_the_try_that_was_taken_back(self):
        known = []

        def do(work):
            known.append((work.data.get('row'), work.data.get('step0'), work.send))
            work.data['row'], work.send = 'inserted', ('share', 'elsewhere')
            if len(known) == 1:
                raise DBDeadlock
            work.send = None

        journal = Journal()
        first, *more = journal.plan.steps
        journal.plan = Plan('test.plan', (first, Step(do), *more), journal.plan.done, journal.plan.failed)
        row = self.run_plan(journal)
        self.assertEqual([(None, True, None)] * 2, known)
        self.assertEqual((rows.DONE, ['done']), (row.state, journal.ends))

    def test_again_repeats_the_step_without_counting_as_a_failure(self):
        times = 3 * self.service.conf.operations.max_attempts
        journal = Journal(again_at=1, times=times)
        row = self.run_plan(journal)
        self.assertEqual((rows.DONE, None), (row.state, row.error))
        self.assertEqual(['do 0', *['do 1'] * (times + 1), 'do 2'], journal.notes)
        self.assertEqual(['done'], journal.ends)

    def test_outcome_of_a_step_counts_only_if_the_backend_was_here_all_the_time(self):
        journal = Moving()
        row = self.run_plan(journal)
        self.assertEqual(
            ['do 0', 'do 1', 'do 1', 'do 2', 'undo 2', 'undo 1', 'undo 1', 'undo 0'], journal.notes
        )
        self.assertEqual((rows.FAILED, ['failed: step 2 says no']), (row.state, journal.ends))

    def test_step_with_unknown_errors_is_tried_max_attempts_times(self):
        journal = Journal(fail_at=1, error=RuntimeError)
        row = self.run_plan(journal)
        self.assertEqual(rows.FAILED, row.state)
        self.assertEqual(self.service.conf.operations.max_attempts, journal.notes.count('do 1'))

    def test_each_try_waits_twice_as_long_as_the_one_before(self):
        services, queue = self.service.services, uuidutils.generate_uuid()
        runner, delay = (
            self._runner(Journal(fail_at=0, error=RuntimeError), queue),
            self.service.conf.operations.retry_delay,
        )
        with services.db.writer() as conn:
            operation_id = engine.begin(
                conn,
                self.service.context(),
                'test.plan',
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=queue,
            ).operation_id
        waits = []
        for _ in range(2):
            with services.db.writer() as conn:
                rows.make_due(conn, operation_id)
                op = operation_claims.claim(conn, rows.get(conn, operation_id), runner.owner, 60)
            waits.append(runner.executor.run(op))
        self.assertEqual([delay, 2 * delay], waits)

    def test_step_that_saves_progress_in_its_last_try_gets_all_tries_again(self):
        most = self.service.conf.operations.max_attempts
        for name in ('do 0', 'undo 0'):
            journal = GettingOn(name, saving_try=most)
            self.run_plan(journal)
            self.assertEqual(2 * most - 1, journal.notes.count(name))

    def test_operation_that_always_kills_its_worker_fails_after_max_attempts(self):
        journal = Journal()

        def deadly(work):
            journal.notes.append('deadly')
            raise Killed

        journal.plan = Plan('test.plan', (Step(deadly),), journal.plan.done, journal.plan.failed)
        row = self.run_plan(journal)
        self.assertEqual(rows.FAILED, row.state)
        self.assertEqual(self.service.conf.operations.max_attempts, len(journal.notes))

    def test_exactly_one_of_simultaneous_claims_succeeds(self):
        services = self.service.services
        with services.db.writer() as conn:
            wake = engine.begin(
                conn, self.service.context(), 'test.plan', 'test', 'x', topic='share', host='race'
            )
            seen = rows.get(conn, wake.operation_id)
        won = []

        def claim(name):
            with services.db.writer() as conn:
                if operation_claims.claim(conn, seen, name, 30):
                    won.append(name)

        threads = [threading.Thread(target=claim, args=(f'w{number}',)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(1, len(won))

    def test_worker_without_its_claim_cannot_finish_the_operation(self):
        services = self.service.services
        with services.db.writer() as conn:
            wake = engine.begin(
                conn, self.service.context(), 'test.plan', 'test', 'x', topic='share', host='lost'
            )
            operation_claims.claim(conn, rows.get(conn, wake.operation_id), 'first', 30)
            operation_claims.free_claims_of(conn, 'first')
            operation_claims.claim(conn, rows.get(conn, wake.operation_id), 'second', 30)
        with services.db.writer() as conn:
            self.assertRaises(
                errors.LostClaim, operation_claims.finish, conn, wake.operation_id, 'first', rows.DONE
            )
            self.assertTrue(operation_claims.finish(conn, wake.operation_id, 'second', rows.DONE))

    def test_operation_requested_again_while_running_runs_once_more(self):
        services = self.service.services
        with services.db.writer() as conn:
            wake = engine.begin(
                conn,
                self.service.context(),
                'test.plan',
                'test',
                'x',
                topic='share',
                host='again',
                unique_key='k',
            )
            operation_claims.claim(conn, rows.get(conn, wake.operation_id), 'me', 30)
            self.assertEqual(wake.operation_id, rows.request_rerun(conn, 'k'))
            self.assertFalse(
                operation_claims.finish(conn, wake.operation_id, 'me', rows.DONE, requested_count=1)
            )
            self.assertTrue(
                operation_claims.finish(conn, wake.operation_id, 'me', rows.DONE, requested_count=2)
            )
            self.assertIsNone(rows.request_rerun(conn, 'k'))
