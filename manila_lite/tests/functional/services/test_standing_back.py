# SPDX-License-Identifier: Apache-2.0
"""A share manager whose backend lease another process has taken leaves the backend alone until the lease is free again."""

import dataclasses

from manila_lite.db.queries import backend_leases, pool_reports
from manila_lite.tests.functional import base

_OTHER = 'elsewhere/world/1/1'


class StandingBack(base.ServiceTest):
    BACKENDS = {'alpha': ''}

    def setUp(self):
        super().setUp()
        self.manager = self.service.managers['alpha']
        self.service_of = (self.manager.host, self.manager.worker.binary)
        self.hand_over(_OTHER)
        self.addCleanup(self.hand_over, None)
        base.eventually(
            lambda: not self.manager.backend_lease.held() and self.manager.backend_lease.elsewhere(),
            'goes on at the backend',
        )

    def hand_over(self, owner):
        """Give the lease to this owner for an hour, or to nobody."""
        with self.service.services.db.writer() as conn:
            backend_leases.release(
                conn, *self.service_of, backend_leases.get_holder(conn, *self.service_of)[0] or ''
            )
            if owner:
                self.assertTrue(backend_leases.take(conn, *self.service_of, owner, 3600))

    def test_wake_ups_are_received_only_with_the_lease(self):
        base.eventually(lambda: not self.manager.worker._listening, 'receives what is for the other process')
        self.hand_over(None)
        base.eventually(lambda: self.manager.worker._listening, 'receives nothing')

    def test_capacity_is_reported_only_with_the_lease(self):
        reports, report = [], self.manager.driver.report
        self.patch(self.manager.driver, 'report', lambda: reports.append(1) or report())
        self.manager._report()
        self.assertEqual([], reports)
        self.hand_over(None)
        base.eventually(lambda: reports, 'reports nothing')

    def test_report_is_not_stored_when_the_lease_was_lost_meanwhile(self):
        asked, report = [], self.manager.driver.report

        def slow():
            asked.append(1)
            found = [dataclasses.replace(pool, total_gb=12345.0) for pool in report()]
            self.hand_over(_OTHER)
            return found

        self.hand_over(None)
        base.eventually(self.manager._may_work, 'does not work again')
        self.patch(self.manager.driver, 'report', slow)
        # A lease that is renewed late is lost for a moment.
        base.eventually(lambda: self.manager._report() or asked, 'asks the backend nothing')
        with self.service.services.db.reader() as conn:
            self.assertNotIn(12345.0, [pool.total_gb for pool in pool_reports.list_pools(conn)])

    def test_a_share_is_created_once_the_lease_is_free(self):
        share = self.admin.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']
        self.hand_over(None)
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
