# SPDX-License-Identifier: Apache-2.0
"""The runner under failures: a failing operation does not affect others, and each operation ends."""

import dataclasses
import threading

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import begin
from manila_lite.engine.plans import FAST, Plan, Step
from manila_lite.engine.runner import Runner
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class Killed(BaseException):
    """The process died here."""


class Unreachable:
    """A database that cannot be written for the next ``failures`` transactions."""

    def __init__(self, db):
        self._db = db
        self.failures = 0

    def reader(self):
        return self._db.reader()

    def writer(self):
        if self.failures:
            self.failures -= 1
            raise ConnectionError('the database is locked')
        return self._db.writer()

    def write(self, work):
        with self.writer() as conn:
            return work(conn)


class Trouble(base.ServiceTest):
    """A runner without a service."""

    PARTS = ()

    def runner(self, plans, db=None):
        found = self.service.services
        if db is not None:
            found = dataclasses.replace(found, db=db)
        runner = Runner(found, 'share', uuidutils.generate_uuid(), plans, None)
        self.addCleanup(runner.stop)
        return runner

    def begin(self, runner, kind='test', **more):
        with self.service.services.db.writer() as conn:
            return begin(
                conn,
                self.service.context(),
                kind,
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=runner.host,
                **more,
            ).operation_id

    def row(self, resource_id):
        with self.service.services.db.reader() as conn:
            return rows.get(conn, resource_id)

    def ends(self, resource_id):
        base.eventually(lambda: self.row(resource_id).state != rows.OPEN, f'{resource_id} has not ended')
        return self.row(resource_id)

    def take_over(self, resource_id):
        """Free the claim of a process that died, as the next process does at its start."""
        row = self.row(resource_id)
        if row.state == rows.OPEN and row.owner:
            with self.service.services.db.writer() as conn:
                operation_claims.free_claims_of(conn, row.owner)

    @staticmethod
    def plan(do, undo=None, failed=None, kind='test'):
        return Plan(
            kind, (Step(do, undo, 'do'),), lambda conn, work: None, failed or (lambda conn, work, error: None)
        )

    def test_failed_claim_does_not_lose_other_operations(self):
        db = Unreachable(self.service.services.db)
        runner = self.runner([self.plan(lambda work: None)], db)
        idents = [self.begin(runner) for _ in range(4)]
        runner.free_dead_claims()
        runner.free_dead_claims = lambda: setattr(
            db, 'failures', 1
        )  # the first claim meets a locked database
        runner.start()
        for resource_id in idents:
            self.ends(resource_id)
        base.eventually(lambda: not runner.busy, 'hands are lost')

    def test_the_fast_lane_does_not_wait_behind_a_backlog(self):
        release = threading.Event()
        runner = self.runner(
            [self.plan(lambda work: release.wait(waiting.LIMIT)), self.plan(lambda work: None, kind='quick')]
        )
        self.addCleanup(release.set)  # before the runner is stopped, which waits for running work
        for _ in range(30):
            self.begin(runner)
        quick = self.begin(runner, 'quick', lane=FAST)
        runner.start()
        self.ends(quick)

    def test_operation_fails_if_its_undo_always_kills_the_process(self):
        died = []

        def do(work):
            raise errors.Final('no')

        def undo(work):
            died.append(work.op.attempts)
            raise Killed

        failed = []
        runner = self.runner([self.plan(do, undo, lambda conn, work, error: failed.append(str(error)))])
        operation_id = self.begin(runner)
        runner.start()
        self.goes_on(runner, operation_id, lambda: f'{len(died)} deaths so far')
        self.assertEqual(rows.FAILED, self.row(operation_id).state)
        self.assertEqual(1, len(failed))

    def test_operation_is_parked_if_its_end_cannot_be_written(self):
        def refuse(*args):
            raise errors.Final('no')

        runner = self.runner([self.plan(refuse, failed=refuse)])
        operation_id = self.begin(runner)
        runner.start()
        self.goes_on(runner, operation_id, 'it has ended')
        self.assertEqual(rows.PARKED, self.row(operation_id).state)
        self.assertIn('could not be written', self.row(operation_id).error)

    def test_an_operation_of_unknown_kind_ends(self):
        runner = self.runner([self.plan(lambda work: None)])
        operation_id = self.begin(runner, 'from.another.version')
        runner.start()
        self.goes_on(runner, operation_id, 'it has ended')

    def goes_on(self, runner, resource_id, what):
        """Wait until the operation has ended; let another process take it over whenever one dies in it."""

        def ended():
            if self.row(resource_id).state != rows.OPEN:
                return True
            if not runner.busy:
                self.take_over(resource_id)
            runner.wake()
            return False

        waiting.until(ended, what, pause=0.05)

    def test_unreadable_operation_does_not_block_others(self):
        runner = self.runner([self.plan(lambda work: None)])
        bad, good = self.begin(runner), self.begin(runner)
        with self.service.services.db.writer() as conn:
            conn.execute(sa.text("UPDATE operations SET data = '{\"cut' WHERE id = :id"), {'id': bad})

        def heal():
            with self.service.services.db.writer() as conn:
                conn.execute(sa.text("UPDATE operations SET data = '{}' WHERE id = :id"), {'id': bad})

        self.addCleanup(heal)
        runner.start()
        self.ends(good)

    def test_stop_does_not_wait_for_a_backlog(self):
        runner = self.runner([self.plan(lambda work: runner._stopped.wait(waiting.LIMIT))])
        with self.service.services.db.writer() as conn:
            for _ in range(400):
                begin(
                    conn,
                    self.service.context(),
                    'test',
                    'test',
                    uuidutils.generate_uuid(),
                    topic='share',
                    host=runner.host,
                )
        runner.start()
        waiting.until(lambda: runner.busy, 'it is at work')
        runner.stop()
        with self.service.services.db.reader() as conn:
            left = conn.execute(
                sa.select(sa.func.count()).where(
                    models.operations.c.host == runner.host, models.operations.c.state == rows.OPEN
                )
            ).scalar()
        self.assertGreater(left, 0)
