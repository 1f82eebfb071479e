# SPDX-License-Identifier: Apache-2.0
"""The lease of a backend, as rows and as the right to work. For processes: services/test_takeover."""

import datetime
import threading

import testtools
from oslo_utils import fixture as clock
from oslo_utils import timeutils

from manila_lite.db.queries import backend_leases, services
from manila_lite.manager.runtime.backend_lease import BackendLease
from manila_lite.tests import fixtures, waiting

HOST, BINARY = 'test@alpha', 'manila-share'


class Seen(threading.Condition):
    """Condition that reports, in ``waits``, that a thread waits."""

    def __init__(self):
        super().__init__()
        self.waits = threading.Event()

    def wait(self, timeout=None):
        self.waits.set()  # a notifier can come only after this, because this thread still has the lock
        return super().wait(timeout)


class LeaseTestCase(testtools.TestCase):
    """The row of a service without a worker."""

    def setUp(self):
        super().setUp()
        self.services = self.useFixture(fixtures.Service(parts=())).services
        with self.services.db.writer() as conn:
            services.heartbeat(conn, HOST, BINARY, 'nova')

    def do(self, function, *args):
        with self.services.db.writer() as conn:
            return function(conn, HOST, BINARY, *args)


class Rows(LeaseTestCase):
    def test_only_one_owner_can_take_and_renew_the_lease(self):
        self.assertTrue(self.do(backend_leases.take, 'one', 30))
        self.assertFalse(self.do(backend_leases.take, 'two', 30))
        self.assertFalse(self.do(backend_leases.renew, 'two', 30))
        self.assertTrue(self.do(backend_leases.renew, 'one', 30))
        self.assertEqual('one', self.do(backend_leases.get_holder)[0])

    def test_expired_lease_can_be_taken_by_another(self):
        time = self.useFixture(clock.TimeFixture(timeutils.utcnow()))
        self.do(backend_leases.take, 'one', 30)
        time.advance_time_delta(datetime.timedelta(seconds=29))
        self.assertFalse(self.do(backend_leases.take, 'two', 30))
        self.assertTrue(self.do(backend_leases.renew, 'one', 30))
        time.advance_time_delta(datetime.timedelta(seconds=29))
        self.assertFalse(self.do(backend_leases.take, 'two', 30))
        time.advance_time_delta(datetime.timedelta(seconds=2))
        self.assertTrue(self.do(backend_leases.take, 'two', 30))
        self.assertFalse(self.do(backend_leases.renew, 'one', 30))

    def test_released_lease_can_be_taken(self):
        self.do(backend_leases.take, 'one', 30)
        self.do(backend_leases.release, 'two')
        self.assertFalse(self.do(backend_leases.take, 'two', 30))
        self.do(backend_leases.release, 'one')
        self.assertTrue(self.do(backend_leases.take, 'two', 30))

    def test_lease_of_a_dead_owner_is_taken_by_the_first_claimant_only(self):
        self.do(backend_leases.take, 'one', 30)
        self.assertTrue(self.do(backend_leases.take, 'two', 30, 'one'))
        self.assertFalse(self.do(backend_leases.take, 'three', 30, 'one'))

    def test_each_service_has_its_own_lease(self):
        self.do(backend_leases.take, 'one', 30)
        with self.services.db.writer() as conn:
            services.heartbeat(conn, 'test@beta', BINARY, 'nova')
            self.assertTrue(backend_leases.take(conn, 'test@beta', BINARY, 'two', 30))


class Tenures(LeaseTestCase):
    def backend_lease(self):
        backend_lease = BackendLease(self.services, HOST, BINARY)
        self.addCleanup(backend_lease.stop)
        return backend_lease

    def test_free_lease_is_held_at_once(self):
        backend_lease = self.backend_lease()
        self.assertFalse(backend_lease.held())
        backend_lease.start()
        self.assertTrue(backend_lease.held())
        self.assertFalse(backend_lease.wait().is_set())
        self.assertFalse(backend_lease.elsewhere())

    def test_lease_is_not_held_while_another_holds_it(self):
        self.do(backend_leases.take, 'elsewhere/w/1/1', 60)
        backend_lease = self.backend_lease()
        backend_lease.start()
        self.assertFalse(backend_lease.held())
        self.assertTrue(backend_lease.elsewhere())
        backend_lease.finish()
        self.assertIsNone(backend_lease.wait())

    def test_finish_ends_a_wait_for_the_lease(self):
        self.do(backend_leases.take, 'elsewhere/w/1/1', 60)
        backend_lease = self.backend_lease()
        backend_lease._changed = seen = Seen()
        backend_lease.start()
        answers = []
        waits = threading.Thread(target=lambda: answers.append(backend_lease.wait()), daemon=True)
        waits.start()
        self.assertTrue(seen.waits.wait(waiting.LIMIT))
        backend_lease.finish()
        waits.join(waiting.LIMIT)
        self.assertEqual([None], answers)

    def test_lease_is_kept_after_finish_and_released_after_stop(self):
        backend_lease = self.backend_lease()
        backend_lease.start()
        end = backend_lease.wait()
        backend_lease.finish()
        self.assertTrue(end.is_set())
        self.assertTrue(backend_lease.held())
        self.assertFalse(self.do(backend_leases.take, 'other', 60))
        backend_lease.stop()
        self.assertFalse(backend_lease.held())
        self.assertTrue(self.do(backend_leases.take, 'other', 60))

    def test_lost_lease_ends_its_tenure_and_is_taken_again(self):
        self.services.conf.set_override('lease', 2.0, 'operations')
        self.addCleanup(self.services.conf.clear_override, 'lease', 'operations')
        backend_lease = self.backend_lease()
        backend_lease.start()
        end = backend_lease.wait()
        with self.services.db.writer() as conn:  # at once: it would take a free lease again
            holder, _ = backend_leases.get_holder(conn, HOST, BINARY)
            backend_leases.release(conn, HOST, BINARY, holder)
            self.assertTrue(backend_leases.take(conn, HOST, BINARY, 'elsewhere/w/1/1', 3))
        self.assertTrue(end.wait(waiting.LIMIT))
        again = backend_lease.wait()
        self.assertIsNot(end, again)
        self.assertTrue(backend_lease.held() or again.wait(waiting.LIMIT))
