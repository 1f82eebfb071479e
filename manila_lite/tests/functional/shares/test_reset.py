# SPDX-License-Identifier: Apache-2.0
"""Statuses that an administrator sets: of shares that were never made at a backend, and of resources under work."""

import webob

from manila_lite import context
from manila_lite.api import request
from manila_lite.api.v2 import shares as v2_shares
from manila_lite.tests.functional import base


class Hostless(base.ServiceTest):
    """A share that was never placed, and that an administrator set to available."""

    def setUp(self):
        super().setUp()
        self.share_id = self.admin.share(wait='error', size=101)['id']
        self.assertEqual(202, self.admin.action(self.share_id, 'reset_status', {'status': 'available'})[0])

    def refused(self, answer):
        """Check that the answer names the missing host, and that the share did not change."""
        status, document, _ = answer
        self.assertEqual(400, status, document)
        fault = document['badRequest']
        self.assertEqual('wrong_state', fault['reason'])
        self.assertIn('has no host: it was never created at a backend', fault['message'])
        share = self.admin.ok('GET', f'/shares/{self.share_id}')['share']
        self.assertEqual(('available', 101, None), (share['status'], share['size'], share['host']))

    def test_share_cannot_be_extended_even_by_force(self):
        self.refused(self.admin.action(self.share_id, 'extend', {'new_size': 102}))
        self.refused(self.admin.action(self.share_id, 'extend', {'new_size': 102, 'force': True}))

    def test_share_cannot_be_shrunk(self):
        self.refused(self.admin.action(self.share_id, 'shrink', {'new_size': 1}))

    def test_share_cannot_have_snapshots(self):
        self.refused(self.admin.call('POST', '/snapshots', {'snapshot': {'share_id': self.share_id}}))
        self.assertEqual([], self.admin.ok('GET', f'/snapshots?share_id={self.share_id}')['snapshots'])

    def test_share_can_be_deleted(self):
        self.assertEqual(202, self.admin.call('DELETE', f'/shares/{self.share_id}')[0])
        self.admin.wait(f'/shares/{self.share_id}', 'share', 'gone')


class Reset(base.ServiceTest):
    """Resets that end the work on a resource, and free the other resources that this work held."""

    def test_share_reset_during_a_revert_frees_the_snapshot(self):
        self.addCleanup(self.service.knob, 'alpha', '')
        share = self.admin.share()['id']
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.service.knob('alpha', 'revert_to_snapshot:delay=1')
        self.admin.action(share, 'revert', {'snapshot_id': snapshot})
        self.admin.action(share, 'reset_status', {'status': 'available'})
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')

    def test_caller_without_project_gets_an_empty_list(self):
        self.admin.share()
        ctx = context.RequestContext(
            user_id='u', project_id=None, roles=['reader'], services=self.service.services, overwrite=False
        )
        req = request.Request(webob.Request.blank('/v2/shares'), ctx, 80, '')
        self.assertEqual([], v2_shares.index(req))
