# SPDX-License-Identifier: Apache-2.0
"""Statuses set by hand: what was never made at a backend, and what other work had hold of."""

import webob

from manila_lite import context
from manila_lite.api import request
from manila_lite.api.v2 import shares as v2_shares
from manila_lite.tests.functional import base


class Hostless(base.ServiceTest):
    """A share that was never placed, which an administrator calls available."""

    def setUp(self):
        super().setUp()
        self.ident = self.admin.share(wait='error', size=101)['id']
        self.assertEqual(202, self.admin.action(self.ident, 'reset_status', {'status': 'available'})[0])

    def settles(self, path, key):
        transient = {'creating', 'extending', 'shrinking', 'deleting'}
        base.eventually(lambda: self.admin.ok('GET', path)[key]['status'] not in transient, f'{path} is stuck', 6)

    def test_force_extend(self):
        status, document, _ = self.admin.action(self.ident, 'extend', {'new_size': 102, 'force': True})
        self.assertLess(status, 500, document)

    def test_shrink(self):
        self.admin.action(self.ident, 'shrink', {'new_size': 1})
        self.settles(f'/shares/{self.ident}', 'share')

    def test_snapshot(self):
        status, document, _ = self.admin.call('POST', '/snapshots', {'snapshot': {'share_id': self.ident}})
        if status < 300:
            self.settles(f'/snapshots/{document["snapshot"]["id"]}', 'snapshot')


class Reset(base.ServiceTest):
    """An administrator's reset ends the work, and what else the work had hold of is let go."""

    def test_a_snapshot_being_reverted_to(self):
        self.addCleanup(self.service.knob, 'alpha', '')
        share = self.admin.share()['id']
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.service.knob('alpha', 'revert_to_snapshot:delay=1')
        self.admin.action(share, 'revert', {'snapshot_id': snapshot})
        self.admin.action(share, 'reset_status', {'status': 'available'})
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available', patience=5)

    def test_lists_of_a_caller_without_project_are_not_those_of_all(self):
        self.admin.share()
        ctx = context.RequestContext(user_id='u', project_id=None, roles=['reader'], services=self.service.services,
                                     overwrite=False)
        req = request.Request(webob.Request.blank('/v2/shares'), ctx, 80, '')
        self.assertEqual([], v2_shares.index(req))
