# SPDX-License-Identifier: Apache-2.0
"""Operations that one worker passes on to another: passed on completely, with all tries, or not at all."""

import dataclasses

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import engine
from manila_lite.db import models
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step
from manila_lite.tests.functional import base
from manila_lite.tests.functional.refusing import Refusing

KIND = 'test.passed'


class PassingOn(base.ServiceTest):
    """Two runners without a service: the first passes its operations on to the second."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.notes = []
        self.first, self.second = uuidutils.generate_uuid(), uuidutils.generate_uuid()
        self.tries = self.service.conf.operations.max_attempts

    def plan(self, name, *steps):
        return Plan(
            KIND,
            steps,
            lambda conn, work: self.notes.append(f'{name} done'),
            lambda conn, work, error: self.notes.append(f'{name} failed: {error}'),
        )

    def run_through(self, first, second, refused=0):
        """Run one operation through the plans of both runners; return its row when it has ended."""
        services = self.service.services
        refusing = dataclasses.replace(services, db=Refusing(services.db, self.is_passed, refused))
        with services.db.writer() as conn:
            operation_id = engine.begin(
                conn,
                self.service.context(),
                KIND,
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=self.first,
            ).operation_id
        for queue, plan in ((self.first, first), (self.second, second)):
            runner = engine.Runner(refusing, 'share', queue, [plan], None)
            self.addCleanup(runner.stop)
            runner.start()
        base.eventually(lambda: self.row(operation_id).state != rows.OPEN, f'not ended: {self.notes}')
        return self.row(operation_id)

    def is_passed(self, conn):
        return conn.execute(
            sa.select(models.operations.c.id).where(models.operations.c.host == self.second)
        ).first()

    def row(self, resource_id):
        with self.service.services.db.reader() as conn:
            return rows.get(conn, resource_id)

    def send(self, work):
        self.notes.append('sent')
        work.send = ('share', f'{self.second}#pool')

    def sends(self, undo=None):
        return self.plan('first', Step(self.send, undo))

    def ends(self):
        return self.plan('second', Step(lambda work: self.notes.append('second'), name='go_on'))

    def test_operation_is_passed_on_and_done_by_the_second_worker(self):
        row = self.run_through(self.sends(), self.ends())
        self.assertEqual((rows.DONE, self.second), (row.state, row.host))
        self.assertEqual(['sent', 'second', 'second done'], self.notes)

    def test_failed_passing_on_is_retried(self):
        row = self.run_through(self.sends(), self.ends(), self.tries - 1)
        self.assertEqual(rows.DONE, row.state)
        self.assertEqual(['sent'] * self.tries + ['second', 'second done'], self.notes)

    def test_operation_that_cannot_be_passed_on_fails_at_the_first_worker(self):
        row = self.run_through(self.sends(lambda work: self.notes.append('undone')), self.ends(), self.tries)
        self.assertEqual((rows.FAILED, self.first), (row.state, row.host))
        self.assertEqual(['sent'] * self.tries + ['undone', 'first failed: the database says no'], self.notes)

    def test_undo_step_passes_the_operation_on(self):
        def fail(work):
            raise RuntimeError('not here')

        row = self.run_through(self.plan('first', Step(fail, self.send)), self.ends())
        self.assertEqual((rows.DONE, None), (row.state, row.error))
        self.assertNotIn('failure', row.data, 'what is said of an undo here is nothing to the next')
        self.assertEqual(['sent', 'second', 'second done'], self.notes)

    def test_undo_step_passes_the_operation_on_after_failed_attempts(self):
        row = self.run_through(self.sends(self.send), self.ends(), self.tries)
        self.assertEqual(rows.DONE, row.state)
        self.assertEqual(['sent'] * (self.tries + 1) + ['second', 'second done'], self.notes)
