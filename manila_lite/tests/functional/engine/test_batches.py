# SPDX-License-Identifier: Apache-2.0
"""Operations that run together: what they share, and that a failure of one touches no other."""

import datetime
import threading

import fixtures
import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine.plans import FAST, WORK, Plan, Step, hold_many, pass_on_many
from manila_lite.engine.runner import Runner
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.engine import test_fair_turns


class BatchTest(test_fair_turns.TurnsTest):
    """A runner that looks when it is told to. Its plan notes who did what with which operations."""

    def setUp(self):
        super().setUp()
        self.alone, self.prepared, self.ended, self.ended_many = [], [], [], []
        self.bad = set()  # operations for which a function fails when it is called for several
        self.worst = set()  # operations whose end cannot be written at all
        self.lock = threading.Lock()

    def runner(self, *, many=None, workers=12, after=None):
        """Return a runner whose operations end here, or are passed on ``many`` at a time."""
        conf = self.service.services.conf
        for name, value in (
            ('poll_interval', 3600),
            ('workers', workers),
            ('reserved_workers', 0),
            ('retry_delay', 0.01),
        ):
            conf.set_override(name, value, 'operations')
            self.addCleanup(conf.clear_override, name, 'operations')
        plan = Plan(
            'test',
            (Step(after or self.work, many=many),),
            self.done,
            lambda conn, work, error: None,
            prepare=None if many else self.prepare,
            done_many=None if many else self.done_many,
        )
        runner = Runner(self.service.services, test_fair_turns.TOPIC, self.host, [plan], None)
        self.addCleanup(runner.stop)
        return runner

    def work(self, work):
        with self.lock:
            self.alone.append(work.op.id)

    def prepare(self, conn, works):
        self.prepared.append({work.op.id for work in works})
        self.fail_for(works)
        for work in works:
            work.loaded = work.op.id

    def done(self, conn, work):
        if work.op.id in self.worst:
            raise RuntimeError('it cannot be written')
        self.ended.append(work.op.id)

    def done_many(self, conn, works):
        self.fail_for(works)
        self.ended_many.append({work.op.id for work in works})

    def fail_for(self, works):
        if self.bad & {work.op.id for work in works}:
            raise RuntimeError('one of them is bad')

    def read(self, idents):
        with self.db.reader() as conn:
            return [rows.get(conn, resource_id) for resource_id in idents]

    def until(self, state, idents):
        base.eventually(lambda: {row.state for row in self.read(idents)} == {state}, f'not all are {state}')


class Pauses(BatchTest):
    """Looks for work in a burst, which are so far apart here that no test would see the next one."""

    def test_quick_work_and_the_end_wait_for_no_pause_of_a_burst(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.engine.runner._GATHER_IN_BURST', 3600.0))
        burst, go_on = self.rows(3, 'greedy'), threading.Event()

        def hold(work):
            go_on.wait(waiting.LIMIT)

        runner = self.runner(after=hold)
        self.addCleanup(go_on.set)
        runner.start()
        # A look whose work is over before the look itself begins no burst.
        base.eventually(lambda: runner._found_at > 0, 'no work was found')
        go_on.set()
        self.until(rows.DONE, burst)
        [ordinary], [quick] = self.rows(1, 'greedy'), self.rows(1, 'modest', FAST)
        runner.wake([WORK])
        self.assertEqual([rows.OPEN], [row.state for row in self.read([ordinary])])
        runner.wake([FAST])
        self.until(rows.DONE, [quick])
        runner.stop()


class Passing(BatchTest):
    """A queue whose plan passes operations on, several at a time."""

    def many(self, works):
        with works[0].ctx.db.writer() as conn:
            hold_many(conn, works)
            ready = [work for work in works if work.op.id not in self.left]
            if ready:
                pass_on_many(conn, ready, 'share', 'elsewhere')
            self.fail_for(works)
        self.together.append({work.op.id for work in works})

    def pass_on(self, work):
        self.work(work)
        with self.db.writer() as conn:
            work.pass_on(conn, 'share', 'elsewhere')

    def setUp(self):
        super().setUp()
        self.left, self.together = set(), []

    def go(self, idents, **more):
        runner = self.runner(many=self.many, after=self.pass_on, **more)
        runner.start()
        base.eventually(
            lambda: {row.host for row in self.read(idents)} == {'elsewhere'}, 'not all were passed on'
        )
        base.eventually(lambda: not runner.busy, 'it has threads that do nothing')
        found = self.read(idents)
        self.assertEqual(
            [(rows.OPEN, None, None, 0, 0, None, None)] * len(idents),
            [
                (row.state, row.owner, row.lease_expires_at, row.attempts, row.step, row.steps, row.error)
                for row in found
            ],
        )
        return runner

    def test_operations_of_several_projects_are_passed_on_together(self):
        idents = [*self.rows(3, 'greedy', age=9), *self.rows(2, 'modest')]
        self.go(idents)
        self.assertEqual(([{*idents}], []), (self.together, self.alone))

    def test_operations_that_were_left_out_run_alone(self):
        idents = self.rows(4, 'greedy')
        self.left = {idents[2]}
        self.go(idents)
        self.assertEqual(([{*idents}], [idents[2]]), (self.together, self.alone))

    def test_operation_that_hangs_alone_holds_up_no_other_of_its_batch(self):
        idents, hangs, go_on = self.rows(4, 'greedy'), [], threading.Event()
        self.bad = {idents[3]}
        self.addCleanup(go_on.set)

        def pass_on(work):
            with self.lock:
                hangs.append(work.op.id)
                is_first = len(hangs) == 1
            if is_first:
                go_on.wait(waiting.LIMIT)
            Passing.pass_on(self, work)

        runner = self.runner(many=self.many, after=pass_on)
        runner.start()
        base.eventually(
            lambda: [row.host for row in self.read(idents)].count('elsewhere') == 3, 'they wait for the one'
        )
        go_on.set()
        base.eventually(lambda: {row.host for row in self.read(idents)} == {'elsewhere'}, 'one is left')

    def test_failure_of_one_lets_each_run_alone(self):
        idents = self.rows(4, 'greedy')
        self.bad = {idents[1]}
        self.go(idents)
        self.assertEqual(([], {*idents}), (self.together, {*self.alone}))

    def test_operation_that_others_took_over_stays_theirs(self):
        idents = self.rows(3, 'greedy')
        taken, many = idents[0], self.many

        def late(works):
            with self.db.writer() as conn:
                conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id == taken)
                    .values(
                        owner='somebody', lease_expires_at=timeutils.utcnow() + datetime.timedelta(hours=1)
                    )
                )
            many(works)

        self.many = late
        runner = self.runner(many=self.many, after=self.pass_on)
        runner.start()
        base.eventually(
            lambda: {row.host for row in self.read(idents[1:])} == {'elsewhere'},
            'the others are not passed on',
        )
        base.eventually(lambda: not runner.busy, 'it has threads that do nothing')
        [row] = self.read([taken])
        self.assertEqual((self.host, 'somebody'), (row.host, row.owner))

    def test_operations_that_were_interrupted_run_alone_and_one_after_the_other(self):
        idents = self.rows(4, 'greedy', attempts=1)
        fresh = self.rows(2, 'greedy')
        most, now = [], []

        def pass_on(work):
            if work.op.id in idents:
                now.append(work.op.id)
                most.append(len(now))
                now.remove(work.op.id)
            Passing.pass_on(self, work)

        self.pass_on = pass_on
        runner = self.go([*idents, *fresh])
        self.assertEqual(([{*fresh}], {*idents}, {1}), (self.together, {*self.alone}, {*most}))
        del runner

    def test_next_interrupted_operation_waits_for_the_one_before(self):
        idents, fresh = self.rows(3, 'greedy', attempts=1, age=9), self.rows(1, 'greedy')
        began, go_on = [], threading.Event()

        def pass_on(work):
            began.append(work.op.id)
            go_on.wait(waiting.LIMIT)
            Passing.pass_on(self, work)

        self.addCleanup(go_on.set)
        runner = self.runner(many=self.many, after=pass_on)
        runner.start()
        base.eventually(lambda: fresh[0] in began or self.together, 'others wait for it too')
        base.eventually(lambda: {*began} & {*idents}, 'the first has not begun')
        runner.wake()
        base.eventually(lambda: not runner._poke.is_set(), 'it does not look')
        self.assertEqual(1, len({*began} & {*idents}))
        go_on.set()
        base.eventually(
            lambda: {row.host for row in self.read([*idents, *fresh])} == {'elsewhere'}, 'some are left'
        )


class Ending(BatchTest):
    """A queue whose operations end."""

    def test_what_operations_need_is_read_together(self):
        idents = [*self.rows(3, 'greedy', age=9), *self.rows(2, 'modest')]
        self.runner().start()
        self.until(rows.DONE, idents)
        self.assertEqual([{*idents}], self.prepared)
        self.assertEqual(({*idents}, []), (set().union(*self.ended_many), self.ended))

    def test_operations_do_without_what_cannot_be_read_together(self):
        idents = self.rows(4, 'greedy')
        self.bad = {idents[0]}
        self.runner().start()
        self.until(rows.DONE, idents)
        self.assertEqual(([], {*idents}), (self.ended_many, {*self.ended}))

    def ending_together(self, idents):
        """Run the operations so that the ends of all but the first wait for that of the first."""
        runner, first = self.runner(), []
        ends = runner.executor._ends
        write = ends._write

        def slow(found):
            if not first:
                first.append(found)
                waiting.until(lambda: len(found) + len(ends._waiting) == len(idents), 'some do not end')
            return write(found)

        ends._write = slow
        runner.start()

    def test_ends_that_come_during_a_commit_are_written_together(self):
        idents = self.rows(6, 'greedy')
        self.ending_together(idents)
        self.until(rows.DONE, idents)
        self.assertEqual(6, sum(map(len, self.ended_many)))
        self.assertLessEqual(len(self.ended_many), 3)

    def test_end_that_cannot_be_written_holds_up_no_other(self):
        idents = self.rows(6, 'greedy')
        self.bad = self.worst = {idents[3]}
        conf = self.service.services.conf
        conf.set_override('max_attempts', 20, 'operations')  # each pause is twice as long: an hour and more
        self.addCleanup(conf.clear_override, 'max_attempts', 'operations')

        def prepare(conn, works):
            for work in works:
                work.loaded = work.op.id

        self.prepare = prepare
        self.ending_together(idents)
        self.until(rows.DONE, [resource_id for resource_id in idents if resource_id not in self.worst])
        self.assertEqual({rows.OPEN}, {row.state for row in self.read(self.worst)})
        self.worst = set()
        self.until(rows.DONE, idents)

    def test_operation_that_was_asked_for_again_runs_again(self):
        idents = self.rows(4, 'greedy')
        again = idents[1]

        def work(work):
            self.work(work)
            if work.op.id == again and self.alone.count(again) == 1:
                with self.db.writer() as conn:
                    conn.execute(
                        models.operations.update()
                        .where(models.operations.c.id == again)
                        .values(requested_count=2)
                    )

        self.runner(after=work).start()
        self.until(rows.DONE, idents)
        self.assertEqual(
            [2, 1, 1, 1], sorted((self.alone.count(resource_id) for resource_id in idents), reverse=True)
        )

    def test_unreadable_operation_is_set_aside_and_the_others_run(self):
        idents = self.rows(4, 'greedy')
        with self.db.writer() as conn:
            conn.execute(sa.text("UPDATE operations SET data = '{' WHERE id = :id"), {'id': idents[2]})
        self.runner().start()
        self.until(rows.DONE, [resource_id for resource_id in idents if resource_id != idents[2]])
        base.eventually(lambda: self.state_of(idents[2]) == rows.PARKED, 'it is not set aside')

    def state_of(self, resource_id):
        table = models.operations
        with self.db.reader() as conn:
            return conn.execute(sa.select(table.c.state).where(table.c.id == resource_id)).scalar()


class Rows(BatchTest):
    """Claims and ends of many rows."""

    def test_only_operations_as_they_were_seen_are_claimed(self):
        idents = self.rows(5, 'greedy')
        table = models.operations
        with self.db.reader() as conn:
            seen = [rows.get(conn, resource_id) for resource_id in idents]
        hour = timeutils.utcnow() + datetime.timedelta(hours=1)
        for resource_id, values in zip(
            idents,
            (
                {'owner': 'other', 'lease_expires_at': hour},
                {'step': 1},
                {'host': 'elsewhere'},
                {'next_run_at': hour},
            ),
            strict=False,
        ):
            with self.db.writer() as conn:
                conn.execute(table.update().where(table.c.id == resource_id).values(values))
        with self.db.writer() as conn:
            claimed = operation_claims.claim_many(
                conn, [(row, {'step': 0, 'steps': 'one'}) for row in seen], 'me', 60
            )
        self.assertEqual(
            [(idents[4], 'me', 1, 'one')], [(row.id, row.owner, row.attempts, row.steps) for row in claimed]
        )

    def test_ends_are_written_for_all_or_none(self):
        idents = [uuidutils.generate_uuid(), *self.rows(2, 'greedy')]
        for resource_id in idents[1:]:
            self.claim(resource_id, 'me')
        for asked in ({idents[0]: 1, idents[1]: 1}, {idents[1]: 1, idents[2]: 0}):
            try:
                with self.db.writer() as conn:
                    operation_claims.finish_many(conn, asked, 'me')
            except errors.LostClaim:
                continue
            self.fail('it was ended')
        self.assertEqual([rows.OPEN] * 2, [row.state for row in self.read(idents[1:])])
        with self.db.writer() as conn:
            operation_claims.finish_many(conn, {idents[1]: 1, idents[2]: 1}, 'me')
        self.assertEqual([(rows.DONE, None)] * 2, [(row.state, row.owner) for row in self.read(idents[1:])])
