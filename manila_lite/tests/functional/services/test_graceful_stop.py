# SPDX-License-Identifier: Apache-2.0
"""A share manager that is stopped keeps all its leases until its last work has ended, and gives them up then.

For points in time that are rare see ``tests/simulation``: ``test_gaps.Stops``, and histories of shares.
"""

import datetime
import threading
import time

import fixtures
import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.queries import backend_machines, services
from manila_lite.manager.runtime.backend_lease import BackendLease
from manila_lite.tests.functional import base
from manila_lite.tests.functional.engine import test_leases
from manila_lite.tests.waiting import LIMIT, until

#: What says that a process lives and works, and has to be renewed: the table of operations or of services, and the time there.
LEASES = {
    'claim of an operation': (models.operations, 'lease_expires_at'),
    'lease of the backend': (models.services, 'lease_expires_at'),
    'heartbeat of the service': (models.services, 'heartbeat_at'),
}


class GracefulStopTest(base.ServiceTest):
    """The stop of a share manager whose backend takes its time."""

    EXTRA = 'report_interval = 1\n'

    def row(self, table):
        """Return the row of the operation, or of the share manager's service."""
        with self.service.services.db.reader() as conn:
            which = (
                table.c.resource_id == self.share
                if table is models.operations
                else sa.and_(table.c.host == self.manager.host, table.c.binary == 'manila-share')
            )
            return conn.execute(table.select().where(which)).one()

    def times(self):
        return {kind: getattr(self.row(table), column) for kind, (table, column) in LEASES.items()}

    def must_be_renewed(self):
        """Wait until each lease was renewed for so long that it would be over without that."""
        before = until(lambda: None not in (times := self.times()).values() and times, 'each lease has begun')

        def left():
            return [
                kind
                for kind, time in self.times().items()
                if time <= before[kind] + datetime.timedelta(seconds=10.5)
            ]

        until(lambda: not left(), lambda: f'not renewed while the stop waits for work: {left()}')

    def test_leases_are_renewed_until_the_last_work_has_ended(self):
        self.manager, done = self.service.managers['alpha'], []
        timer = self.manager.worker._until_stopped(lambda: done.append('a timer has run'))
        timer()
        self.service.knob('alpha', 'create_share:hang')
        self.addCleanup(self.service.knob, 'alpha')
        self.share = self.caller().share(wait=None)['id']
        # A thread of the runner is busy before it has claimed: a stop in between leaves the operation to the next process.
        until(
            lambda: (row := self.row(models.operations)).topic == 'share' and row.owner,
            'the share manager has claimed it',
        )
        stop = threading.Thread(target=self.manager.stop, daemon=True)
        stop.start()
        until(self.manager.worker.runner._stopped.is_set, 'the stop has begun')
        self.must_be_renewed()
        timer()
        service = self.row(models.services)
        self.assertEqual((True, False, ['a timer has run']), (stop.is_alive(), service.stopped, done))
        self.assertIsNotNone(service.lease_owner)
        self.service.knob('alpha')
        stop.join(LIMIT)
        self.assertFalse(stop.is_alive())
        service, operation = self.row(models.services), self.row(models.operations)
        self.assertEqual(
            ('done', None, None, True),
            (operation.state, operation.owner, service.lease_owner, service.stopped),
        )


class StartThatHangsTest(base.ServiceTest):
    """The stop of a share manager whose backend is not even ready, and does not answer."""

    PARTS = ()

    def test_lease_is_kept_while_a_start_is_at_the_backend(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.manager.runtime.service._PATIENCE', 0.01))
        manager, at_work, answers, shut = (
            self.service.managers['alpha'],
            *(threading.Event() for _ in range(3)),
        )
        self.addCleanup(answers.set)

        def setup():
            at_work.set()
            answers.wait(LIMIT)

        manager.driver.setup, manager.driver.shutdown = setup, shut.set

        def owner():
            with self.service.services.db.reader() as conn:
                return services.get(conn, manager.host, 'manila-share').lease_owner

        manager.start()
        self.assertTrue(at_work.wait(LIMIT))
        stop = threading.Thread(target=manager.stop, daemon=True)
        stop.start()
        self.assertTrue(shut.wait(LIMIT))
        stop.join(0.5)  # it would not take so long to give the lease up
        self.assertTrue(stop.is_alive())
        self.assertIsNotNone(owner())
        answers.set()
        stop.join(LIMIT)
        self.assertIsNone(owner())


class _Served:
    """A backend that serves until it is told otherwise: ``until`` is a time of the clock that goes on while machines sleep."""

    until = 0.0

    def take_up(self, until):
        self.until = until

    def keep(self, until):
        self.until = until
        return True

    def let_go(self):
        self.until = 0.0

    def obstacle(self):
        return ''


class GuardedBackendTest(test_leases.LeaseTestCase):
    """A backend that several machines can serve: this one goes on as long as the stop takes."""

    def machine(self):
        with self.services.db.reader() as conn:
            return backend_machines.list_machines(conn, test_leases.HOST)[0]

    def test_backend_is_allowed_to_serve_until_the_last_work_has_ended(self):
        self.services.conf.set_override('lease', 10.0, 'operations')
        self.addCleanup(self.services.conf.clear_override, 'lease', 'operations')
        served = _Served()
        lease = BackendLease(self.services, test_leases.HOST, test_leases.BINARY, guarded=served)
        self.addCleanup(lease.stop)
        lease.start()
        until(lease.held, 'the lease is free')
        lease.finish()  # a stop begins with this
        began, reported = time.clock_gettime(time.CLOCK_BOOTTIME), self.machine().expires_at
        until(lambda: served.until > began + 20, 'the backend is not told any more that it may serve')
        until(
            lambda: self.machine().expires_at > reported + datetime.timedelta(seconds=10),
            'the machine is not reported any more',
        )
        until(lease.held, 'the lease is kept')
