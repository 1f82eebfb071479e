# SPDX-License-Identifier: Apache-2.0
"""Claims of a runner: kept during the work, released if the result cannot be saved, and never two of one mutex key."""

import datetime
import threading

import fixtures
from oslo_db import exception as db_exception
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims
from manila_lite.db.queries import operations as rows
from manila_lite.engine import process_names
from manila_lite.engine.begin import begin
from manila_lite.engine.plans import Plan, Step
from manila_lite.engine.runner import Runner
from manila_lite.tests import waiting
from manila_lite.tests.functional import base


class Hasty(threading.Event):
    """An event that is waited for only briefly, with a list of the timeouts that callers asked for."""

    def __init__(self):
        super().__init__()
        self.wanted = []

    def wait(self, timeout=None):
        self.wanted.append(timeout)
        return super().wait(min(timeout, 0.05))


class Claims(base.ServiceTest):
    """A runner without a service, whose work waits for ``go_on``."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db = self.service.services.db
        with self.db.writer() as conn:
            conn.execute(models.operations.delete())
        self.conf = self.service.conf.operations
        self.began, self.go_on = [], threading.Event()
        self.refusals = []  # errors for ``done`` to raise
        plan = Plan('test', (Step(self.work),), self.done, lambda conn, work, error: None)
        self.runner = Runner(self.service.services, 'share', uuidutils.generate_uuid(), [plan], None)
        self.addCleanup(self.runner.stop)
        self.addCleanup(self.go_on.set)

    def work(self, work):
        self.began.append(work.op.id)
        self.go_on.wait(waiting.LIMIT)

    def done(self, conn, work):
        if self.refusals:
            raise self.refusals.pop()

    def begin(self, project='p', mutex_key=None):
        with self.db.writer() as conn:
            return begin(
                conn,
                self.service.context(project),
                'test',
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=self.runner.host,
                mutex_key=mutex_key,
            ).operation_id

    def row(self, resource_id):
        with self.db.reader() as conn:
            return rows.get(conn, resource_id)

    def until(self, test, what):
        base.eventually(test, what)

    def all_end(self, *idents):
        self.go_on.set()
        self.until(
            lambda: {self.row(resource_id).state for resource_id in idents} == {rows.DONE},
            'they have not ended',
        )

    def test_a_claim_holds_for_the_lease_and_is_renewed_long_before_its_end(self):
        lease = datetime.timedelta(seconds=self.conf.lease)
        hasty = self.runner._drained = Hasty()
        resource_id, now = self.begin(), timeutils.utcnow()
        self.runner.start()
        self.until(lambda: resource_id in self.began, 'it has not begun')
        first = self.row(resource_id).lease_expires_at
        self.assertGreaterEqual(first, now + lease)
        self.until(lambda: self.row(resource_id).lease_expires_at > first, 'it was not renewed')
        self.assertLessEqual(self.row(resource_id).lease_expires_at, timeutils.utcnow() + lease)
        # One renewal may fail: there is another before the lease is over.
        self.assertLess(2 * max(hasty.wanted), self.conf.lease)
        self.all_end(resource_id)

    def test_next_look_is_at_the_due_time_or_after_the_poll_interval(self):
        self.assertAlmostEqual(self.conf.poll_interval, self.runner._pause())
        self.runner._due_in(self.conf.poll_interval / 2)
        self.assertLessEqual(self.runner._pause(), self.conf.poll_interval / 2)

    def test_operations_of_one_serial_run_one_at_a_time(self):
        one, two = self.begin('one', 'mutex_key'), self.begin('two', 'mutex_key')
        other = self.begin('three')  # found by the same look, behind the two
        self.runner.start()
        self.until(lambda: other in self.began, 'the last has not begun')
        self.assertEqual(2, self.runner.busy)
        self.assertNotIn(two, self.began)
        self.all_end(one, two, other)

    def test_operation_waiting_for_its_serial_does_not_block_others(self):
        one = self.begin(mutex_key='mutex_key')
        self.runner.start()
        self.until(lambda: one in self.began, 'the first has not begun')
        two, other = self.begin(mutex_key='mutex_key'), self.begin()
        self.runner.wake()
        self.until(lambda: other in self.began, 'the other has not begun')
        self.assertNotIn(two, self.began)
        self.all_end(one, two, other)

    def test_lost_database_connection_costs_no_tries(self):
        self.refusals += [db_exception.DBConnectionError] * (2 * self.conf.max_attempts + 2)
        operation_id = self.begin()
        self.runner.start()
        self.all_end(operation_id)
        self.assertEqual([], self.refusals)

    def test_operation_is_not_claimed_before_its_pending_release(self):
        operation_id = self.begin()
        with self.db.writer() as conn:
            operation_claims.claim(
                conn, rows.get(conn, operation_id), self.runner.owner, -60
            )  # and that lease has run out
        self.runner._unsaved[operation_id] = True
        self.assertFalse(self.runner._find_work())
        self.assertEqual(
            (self.runner.owner, 1), (self.row(operation_id).owner, self.row(operation_id).attempts)
        )

    def test_claims_of_dead_workers_here_are_freed_at_once(self):
        world, pid, _ = process_names.name().rsplit('/', 2)
        owned = {
            f'{world}/{pid}/1': True,
            f'{world}/{pid}/1/1': True,
            'elsewhere/w/1/1': False,
            self.runner.owner: False,
        }
        idents = {}
        for owner in owned:
            idents[owner] = self.begin()
            with self.db.writer() as conn:
                operation_claims.claim(conn, rows.get(conn, idents[owner]), owner, 60)
        self.assertEqual(process_names.name(), self.runner.owner.rpartition('/')[0])
        self.runner.free_dead_claims()
        self.assertEqual(
            owned, {owner: self.row(resource_id).owner is None for owner, resource_id in idents.items()}
        )

    def test_passed_on_operation_stays_with_the_worker_that_claimed_it(self):
        beside = Runner(self.service.services, 'share', uuidutils.generate_uuid(), [], None)

        def pass_on_and_fail(work):
            with self.db.writer() as conn:
                work.pass_on(conn, 'share', beside.host)
            with self.db.writer() as conn:
                operation_claims.claim(conn, rows.get(conn, work.op.id), beside.owner, 60)
            raise errors.Final('refused')

        self.runner.executor.plans = {'test': Plan('test', (Step(pass_on_and_fail),), self.done, self.done)}
        operation_id = self.begin()
        with self.db.writer() as conn:
            op = operation_claims.claim(conn, rows.get(conn, operation_id), self.runner.owner, 60)
        self.assertRaises(errors.LostClaim, self.runner.executor.run, op)
        row = self.row(operation_id)
        self.assertEqual(
            (beside.host, beside.owner, rows.OPEN, 1), (row.host, row.owner, row.state, row.attempts)
        )

    def lost(self, change):
        """Return the lines of the log about an operation that ``change(conn, id)`` takes from its worker."""
        log = self.useFixture(
            fixtures.FakeLogger('manila_lite.engine.runner', format='%(levelname)s %(message)s')
        )
        operation_id = self.begin()
        self.runner.wake()
        waiting.until(lambda: self.began, 'the work did not begin')
        with self.db.writer() as conn:
            change(conn, operation_id)
        self.go_on.set()
        waiting.until(lambda: not self.runner.busy, 'the work did not end')
        return log.output

    def test_49_8_operation_that_a_request_ended_is_no_warning(self):
        self.runner.start()
        for change in (
            lambda conn, operation_id: rows.delete(conn, [operation_id]),  # a check that nobody waits for
            lambda conn, operation_id: rows.supersede(
                conn, rows.get(conn, operation_id).resource_id, ['test']
            ),
        ):
            said = self.lost(change)
            self.assertIn('was ended by a request', said)
            self.assertNotIn('WARNING', said)
            self.began.clear()
            self.go_on.clear()

    def test_49_8_operation_that_another_worker_took_over_is_a_warning_with_its_cause(self):
        self.runner.start()
        said = self.lost(
            lambda conn, operation_id: operation_claims.move(
                conn, operation_id, self.runner.owner, owner='another'
            )
        )
        self.assertIn('WARNING', said)
        self.assertIn('for longer than [operations] lease', said)
