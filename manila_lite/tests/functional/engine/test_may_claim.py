# SPDX-License-Identifier: Apache-2.0
"""A runner without the right to claim, and wake-ups that name lanes."""

import threading

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db.queries import operations as rows
from manila_lite.engine.begin import begin
from manila_lite.engine.plans import FAST, WORK, Plan, Step
from manila_lite.engine.runner import Runner
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base


class MayClaim(base.ServiceTest):
    """The runner alone; it looks for operations only when it is woken."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.go_on = threading.Event()
        self.began = []
        self.pauses = []  # delays with which the step raises Again
        conf = self.service.services.conf
        for name, value in (('poll_interval', 3600), ('workers', 1), ('fast_workers', 1)):
            conf.set_override(name, value, 'operations')
            self.addCleanup(conf.clear_override, name, 'operations')
        plan = Plan('test', (Step(self.work),), lambda conn, work: None, lambda conn, work, error: None)
        self.runner = Runner(self.service.services, 'share', uuidutils.generate_uuid(), [plan], None)
        self.addCleanup(self.runner.stop)
        self.addCleanup(self.go_on.set)

    def work(self, work):
        self.began.append(work.op.id)
        if self.pauses:
            raise errors.Again(self.pauses.pop())
        self.go_on.wait(waiting.LIMIT)

    def begin(self, lane=WORK):
        with self.service.services.db.writer() as conn:
            return begin(
                conn,
                self.service.context(),
                'test',
                'test',
                uuidutils.generate_uuid(),
                topic='share',
                host=self.runner.host,
                lane=lane,
            ).operation_id

    def row(self, resource_id):
        with self.service.services.db.reader() as conn:
            return rows.get(conn, resource_id)

    def until(self, check, what):
        process.until(check, what, lambda: '')

    def test_nothing_is_claimed_until_claiming_is_allowed(self):
        asked = threading.Semaphore(0)
        allowed = threading.Event()

        def may_claim():
            asked.release()
            return allowed.is_set()

        self.runner.may_claim = may_claim
        operation_id = self.begin()
        self.runner.start()
        self.assertTrue(asked.acquire(timeout=waiting.LIMIT))
        self.assertIsNone(self.row(operation_id).owner)
        allowed.set()
        self.runner.wake()
        self.until(lambda: self.began == [operation_id], 'it is worked on')

    def test_claim_is_undone_if_the_permission_is_lost_meanwhile(self):
        answers = [True, False]
        self.runner.may_claim = lambda: answers.pop(0) if answers else False
        operation_id = self.begin()
        self.runner.start()
        self.until(lambda: not answers, 'it was claimed')
        self.runner.stop()
        row = self.row(operation_id)
        self.assertEqual((None, 0, rows.OPEN), (row.owner, row.attempts, row.state))
        self.assertEqual([], self.began)

    def test_wake_up_for_a_lane_without_a_free_worker_is_kept(self):
        """Check that the wake-up causes no query now, and is not forgotten when a thread is free."""
        first = self.begin()
        self.runner.start()
        self.until(lambda: self.began == [first], 'the first is worked on')
        looks = []
        self.runner.may_claim = lambda: looks.append(1) or True
        second = self.begin()
        self.runner.wake([WORK])
        fast = self.begin(FAST)
        self.runner.wake([FAST])
        self.until(lambda: fast in self.began, 'the other lane is not held up')
        self.assertNotIn(second, self.began)
        self.go_on.set()
        self.until(lambda: second in self.began, 'the second is worked on')

    def test_wake_up_for_a_full_lane_causes_no_query(self):
        first = self.begin()
        self.runner.start()
        self.until(lambda: self.began == [first], 'the first is worked on')
        self.runner._poke.clear()
        self.runner.wake([WORK])
        self.assertFalse(self.runner._poke.is_set())

    def test_wake_up_for_an_unknown_lane_checks_all_lanes(self):
        first = self.begin()
        self.runner.wake(['new'])
        self.runner.start()
        self.until(lambda: self.began == [first], 'the first is worked on')
        self.begin(FAST)
        self.runner.wake(['new', WORK])
        self.until(lambda: len(self.began) == 2, 'all lanes were looked at')

    def test_operation_is_retried_after_the_delay_it_asks_for(self):
        self.pauses += [0.3, 0.2]
        operation_id = self.begin()
        self.runner.start()
        self.until(lambda: self.began == [operation_id] * 3, 'it was tried again, long before the next look')
