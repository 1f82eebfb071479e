# SPDX-License-Identifier: Apache-2.0
"""Wake-ups that come twice, late, or for an operation that has ended: nothing is done twice."""

from manila_lite import engine
from manila_lite.db.queries import operations
from manila_lite.tests.functional import base

_TIMES = 5


class Repeated(base.ServiceTest):
    def calls(self, share):
        return [
            share_id for _, share_id in self.service.managers['alpha'].driver.store.calls('create_share')
        ].count(share)

    def woken(self, share):
        """Send the manager several wake-ups for the operation, and let it look for work; return the operation."""
        with self.service.services.db.reader() as conn:
            [found] = operations.list_of_resource(conn, share, 'share.create')
        for _ in range(_TIMES):
            self.service.services.bus.wake('share', 'test@alpha', engine.WORK)
            self.service.managers['alpha'].worker.runner.wake()
            self.service.managers['alpha'].worker.runner._find_work()
        return found

    def test_running_operation_is_not_started_again(self):
        self.addCleanup(self.service.knob, 'alpha', '')
        self.service.knob('alpha', 'create_share:hang')
        share = self.admin.share(wait=None)['id']
        instance = self.admin.ok('GET', f'/shares/{share}/instances')['share_instances'][0]['id']
        base.eventually(lambda: self.calls(instance), 'the backend is not asked')
        self.woken(share)
        self.service.knob('alpha', '')
        self.admin.wait(f'/shares/{share}', 'share', 'available')
        self.assertEqual(1, self.calls(instance))

    def test_ended_operation_is_not_started_again(self):
        share = self.admin.share()['id']
        instance = self.admin.ok('GET', f'/shares/{share}/instances')['share_instances'][0]['id']

        def ended():
            with self.service.services.db.reader() as conn:
                return [row.state for row in operations.list_of_resource(conn, share, 'share.create')] == [
                    'done'
                ]

        base.eventually(ended, 'is not done')
        before = self.woken(share)
        self.admin.share()  # all effects of the wake-ups come before the end of this
        with self.service.services.db.reader() as conn:
            [after] = operations.list_of_resource(conn, share, 'share.create')
        self.assertEqual((1, before), (self.calls(instance), after))
