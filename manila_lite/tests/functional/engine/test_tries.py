# SPDX-License-Identifier: Apache-2.0
"""Tries of a step: each step, each undo and each round has all its tries, independent of those before it."""

import dataclasses

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import engine, errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step
from manila_lite.tests.functional import base
from manila_lite.tests.functional.refusing import Losing, Refusing

KIND, KEY = 'test.tried', 'test.tried/key'


class Killed(BaseException):
    """The process died here."""


def is_at_the_second_step(conn):
    return conn.execute(
        sa.select(models.operations.c.id).where(
            models.operations.c.kind == KIND, models.operations.c.step == 1
        )
    ).first()


def is_claimed(conn):
    table = models.operations
    return conn.execute(
        sa.select(table.c.id).where(
            table.c.kind == KIND, table.c.owner.is_not(None), table.c.state == rows.OPEN
        )
    ).first()


class Tries(base.ServiceTest):
    """Plans whose steps fail, die or wait as told, try by try, and then succeed."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db = self.service.services.db
        with self.db.writer() as conn:
            conn.execute(models.operations.delete())
        conf = self.service.services.conf
        conf.set_override('poll_interval', 0.1, 'operations')
        self.addCleanup(conf.clear_override, 'poll_interval', 'operations')
        self.tries = conf.operations.max_attempts
        self.all_but_one = ['fail'] * (self.tries - 1)
        self.notes = []

    def step(self, name, ends=(), undo=()):
        """Return a step with the outcomes ``ends``, try by try, and then success; its undo the same with ``undo``."""
        return Step(self.ends(name, list(ends)), self.ends(f'undo {name}', list(undo)), name)

    def plain(self, name, ends=()):
        """Return a step without an undo."""
        return Step(self.ends(name, list(ends)), name=name)

    def ends(self, name, left):
        def act(work):
            self.notes.append(name)
            how = left.pop(0) if left else None
            if how and how.startswith('ask and '):
                with self.db.writer() as conn:
                    rows.request_rerun(conn, KEY)
                how = how.removeprefix('ask and ')
            if how == 'fail':
                raise RuntimeError(f'{name} does not work')
            if how == 'die':
                with self.db.writer() as conn:
                    operation_claims.free_claims_of(
                        conn, work.op.owner
                    )  # as the next process does at its start
                raise Killed
            if how == 'again':
                raise errors.Again(0.0)
            if how == 'ask':
                with self.db.writer() as conn:
                    rows.request_rerun(conn, KEY)
            if how == 'send':
                work.send = ('share', self.host + '2')

        return act

    def run_plan(self, *steps, db=None, then=None):
        """Run one operation until it ends; return its row. ``then``: steps of the runner that it is passed on to."""
        services, self.host = (
            self.service.services,
            uuidutils.generate_uuid(),
        )  # runners of an earlier plan are elsewhere
        with self.db.writer() as conn:
            operation_id = engine.begin(
                conn,
                self.service.context(),
                KIND,
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=self.host,
                unique_key=KEY,
            ).operation_id
        runners = [
            engine.Runner(dataclasses.replace(services, db=db or self.db), 'share', host, [plan], None)
            for host, plan in ((self.host, self.plan(steps)), (self.host + '2', self.plan(then or ())))
        ]
        for runner in runners:
            runner.start()
            self.addCleanup(runner.stop)
        base.eventually(lambda: self.row(operation_id).state != rows.OPEN, 'it has not ended')
        return self.row(operation_id)

    def plan(self, steps):
        return Plan(KIND, tuple(steps), lambda conn, work: None, lambda conn, work, error: None)

    def row(self, resource_id):
        with self.db.reader() as conn:
            return rows.get(conn, resource_id)

    def count(self, name):
        return self.notes.count(name)

    def test_failing_step_has_all_tries(self):
        row = self.run_plan(self.step('a', self.all_but_one), self.step('b', self.all_but_one))
        self.assertEqual((rows.DONE, self.tries, self.tries), (row.state, self.count('a'), self.count('b')))

    def test_step_whose_process_dies_has_all_tries(self):
        deaths = ['die'] * (self.tries - 1)
        row = self.run_plan(self.step('a', deaths), self.step('b', deaths))
        self.assertEqual((rows.DONE, self.tries, self.tries), (row.state, self.count('a'), self.count('b')))

    def test_step_has_its_own_tries_after_a_refused_save(self):
        db = Refusing(self.db, is_at_the_second_step)
        row = self.run_plan(self.step('a', self.all_but_one), self.step('b', ['fail']), db=db)
        self.assertEqual((rows.DONE, self.tries, 2), (row.state, self.count('a'), self.count('b')))

    def test_claim_whose_commit_is_not_answered_costs_neither_a_lease_nor_a_try(self):
        conf = self.service.services.conf
        conf.set_override('lease', 3600.0, 'operations')
        self.addCleanup(conf.clear_override, 'lease', 'operations')
        row = self.run_plan(self.plain('a', self.all_but_one), db=Losing(self.db, is_claimed))
        self.assertEqual((rows.DONE, self.tries), (row.state, self.count('a')))

    def test_rerun_has_all_tries(self):
        row = self.run_plan(self.step('a', [*self.all_but_one, 'ask', *self.all_but_one]))
        self.assertEqual((rows.DONE, 2 * self.tries), (row.state, self.count('a')))

    def test_rerun_begins_with_the_first_step(self):
        row = self.run_plan(
            self.step('a', ['', *self.all_but_one]), self.step('b', [*self.all_but_one, 'ask'])
        )
        self.assertEqual(
            (rows.DONE, 1 + self.tries, self.tries + 1), (row.state, self.count('a'), self.count('b'))
        )

    def test_passed_on_operation_has_all_tries(self):
        row = self.run_plan(
            self.step('a', [*self.all_but_one, 'send']), then=[self.step('b', self.all_but_one)]
        )
        self.assertEqual((rows.DONE, self.tries, self.tries), (row.state, self.count('a'), self.count('b')))

    def test_waiting_costs_no_try(self):
        row = self.run_plan(self.step('a', [*self.all_but_one, 'again'] * 3))
        self.assertEqual((rows.DONE, 3 * self.tries + 1), (row.state, self.count('a')))

    def test_each_undo_has_all_tries(self):
        failed = [*self.all_but_one, 'fail']
        row = self.run_plan(self.step('a', undo=self.all_but_one), self.step('b', failed, self.all_but_one))
        self.assertEqual((rows.FAILED, self.tries), (row.state, self.count('b')))
        self.assertEqual(['undo b'] * self.tries + ['undo a'] * self.tries, self.notes[-2 * self.tries :])

    def test_waiting_costs_no_try_of_an_undo(self):
        failed, waits = [*self.all_but_one, 'fail'], ['again'] * (2 * self.tries)
        row = self.run_plan(self.step('a', undo=[*waits, *self.all_but_one]), self.step('b', failed))
        self.assertEqual((rows.FAILED, 3 * self.tries), (row.state, self.count('undo a')))

    def test_each_undo_whose_process_dies_has_all_tries(self):
        failed, deaths = [*self.all_but_one, 'fail'], ['die'] * (self.tries - 1)
        row = self.run_plan(self.step('a', undo=deaths), self.step('b', failed, deaths))
        self.assertEqual((rows.FAILED, self.tries), (row.state, self.count('b')))
        self.assertEqual(['undo b'] * self.tries + ['undo a'] * self.tries, self.notes[-2 * self.tries :])

    def test_newer_request_is_met_after_a_wait_in_a_later_step(self):
        for wait in ('again', 'die'):
            self.notes.clear()
            row = self.run_plan(self.plain('a'), self.plain('b', ['ask and ' + wait]), self.plain('c'))
            self.assertEqual((rows.DONE, ['a', 'b', 'a', 'b', 'c']), (row.state, self.notes))

    def test_newer_request_is_met_at_the_end_of_a_plan_with_an_undo(self):
        for wait in ('again', 'die'):
            self.notes.clear()
            row = self.run_plan(self.step('a'), self.step('b', ['ask and ' + wait]), self.step('c'))
            self.assertEqual((rows.DONE, ['a', 'b', 'b', 'c', 'a', 'b', 'c']), (row.state, self.notes))

    def test_newer_request_is_met_after_the_failure_of_the_older_one(self):
        row = self.run_plan(
            self.plain('a'), self.plain('b', ['ask and fail', *self.all_but_one]), self.plain('c')
        )
        self.assertEqual((rows.DONE, 2, 'c'), (row.state, self.count('a'), self.notes[-1]))
        self.assertIsNone(row.error)

    def test_newer_request_is_met_after_the_failure_of_the_older_one_in_a_plan_of_one_step(self):
        row = self.run_plan(self.plain('a', [*self.all_but_one, 'ask and fail', *self.all_but_one]))
        self.assertEqual((rows.DONE, 2 * self.tries), (row.state, self.count('a')))
