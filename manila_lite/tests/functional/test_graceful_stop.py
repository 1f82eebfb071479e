# SPDX-License-Identifier: Apache-2.0
"""A share manager that is stopped keeps all its leases until its last work has ended, and gives them up then.

For points in time that are rare see ``tests/simulation``: ``test_gaps.Stops``, and histories of shares.
"""

import datetime
import threading

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.tests.functional import base
from manila_lite.tests.waiting import until

#: What says that a process lives and works, and has to be renewed: the table of operations or of services, and the time there.
LEASES = {'claim of an operation': (models.operations, 'lease_expires_at'),
          'lease of the backend': (models.services, 'lease_expires_at'),
          'heartbeat of the service': (models.services, 'heartbeat_at')}


class GracefulStopTest(base.ServiceTest):
    """The stop of a share manager whose backend takes its time."""

    EXTRA = '[DEFAULT]\nreport_interval = 1\n[operations]\nlease = 2\n'

    def row(self, table):
        """Return the row of the operation, or of the share manager's service."""
        with self.service.services.db.reader() as conn:
            which = (table.c.resource_id == self.share if table is models.operations else
                     sa.and_(table.c.host == self.manager.host, table.c.binary == 'manila-share'))
            return conn.execute(table.select().where(which)).one()

    def times(self):
        return {kind: getattr(self.row(table), column) for kind, (table, column) in LEASES.items()}

    def must_be_renewed(self):
        """Wait until each lease was renewed for so long that it would be over without that."""
        before = self.times()

        def left():
            return [kind for kind, time in self.times().items() if time <= before[kind] + datetime.timedelta(seconds=2.5)]
        until(lambda: not left(), lambda: f'not renewed while the stop waits for work: {left()}')

    def test_leases_are_renewed_until_the_last_work_has_ended(self):
        self.manager, done = self.service.managers['alpha'], []
        timer = self.manager.worker._until_stopped(lambda: done.append('a timer has run'))
        timer()
        self.service.knob('alpha', 'create_share:hang')
        self.addCleanup(self.service.knob, 'alpha')
        self.share = self.caller().share(wait=None)['id']
        until(lambda: self.manager.worker.runner.busy, 'the backend is at work')
        stop = threading.Thread(target=self.manager.stop, daemon=True)
        stop.start()
        until(self.manager.worker.runner._stopped.is_set, 'the stop has begun')
        self.must_be_renewed()
        timer()
        service = self.row(models.services)
        self.assertEqual((True, False, ['a timer has run']), (stop.is_alive(), service.stopped, done))
        self.assertIsNotNone(service.lease_owner)
        self.service.knob('alpha')
        stop.join(60)
        self.assertFalse(stop.is_alive())
        service, operation = self.row(models.services), self.row(models.operations)
        self.assertEqual(('done', None, None, True),
                         (operation.state, operation.owner, service.lease_owner, service.stopped))
