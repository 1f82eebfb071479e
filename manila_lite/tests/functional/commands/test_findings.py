# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor through the API: listed, and mended beside running services."""

import datetime

from oslo_utils import timeutils

from manila_lite.db import models
from manila_lite.tests.functional import base, manage

_DOWN = {'what': 'service', 'id': 'gone@alpha', 'state': 'down'}


class FindingsTest(manage.ManageTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.drop, models.services, models.services.c.host == _DOWN['id'])

    def found(self, query=''):
        """Return the findings by their resources."""
        return {one['id']: one for one in self.admin.ok('GET', f'/findings{query}')['findings']}

    def stuck(self):
        """Return a share that is being extended, without an operation that would do it."""
        share = self.admin.share()
        self.put(share, 'extending', target_size=2)
        self.addCleanup(self.put, share, 'available', target_size=None)
        return share

    def lose_service(self):
        now = timeutils.utcnow()
        self.add(
            models.services,
            host=_DOWN['id'],
            binary='manila-share',
            topic='manila-share',
            stopped=False,
            created_at=now,
            heartbeat_at=now - datetime.timedelta(hours=1),
        )

    def test_stuck_share_is_found_and_mended_once(self):
        share = self.stuck()
        found = self.found()[share['id']]
        self.assertEqual(
            ('share', 'extending', True, True, 'p', 'test@alpha#pool1'),
            tuple(found[name] for name in ('what', 'state', 'wrong', 'mendable', 'project_id', 'about')),
        )
        self.assertEqual('no operation will end this', found['why'])
        which = {name: found[name] for name in ('what', 'id', 'state')}
        self.assertEqual(
            {'mended': 'share.extend was begun again'}, self.admin.ok('POST', '/findings/mend', which)
        )
        self.assertEqual(2, self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')['size'])
        base.eventually(lambda: share['id'] not in self.found(), 'it is found still')
        status, document, _ = self.admin.call('POST', '/findings/mend', which)
        self.assertEqual((404, 'finding_not_found'), (status, document['itemNotFound']['reason']))

    def test_finding_that_only_an_operator_can_mend_says_what_to_do(self):
        self.lose_service()
        found = self.found()[_DOWN['id']]
        self.assertEqual((True, False, 'manila-share'), (found['wrong'], found['mendable'], found['about']))
        self.assertIn('start it', found['why'])
        self.assertGreaterEqual(found['age'], 3600)
        status, document, _ = self.admin.call('POST', '/findings/mend', _DOWN)
        self.assertEqual((409, 'finding_not_mendable'), (status, document['conflictingRequest']['reason']))
        self.assertIn('start it', document['conflictingRequest']['message'])

    def test_findings_are_filtered_and_paged_with_the_wrong_ones_first(self):
        self.lose_service()
        shares = {self.stuck()['id'] for _ in range(2)}
        self.service.knob('alpha', 'create_share:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        busy = self.admin.share(wait=None)['id']
        base.eventually(lambda: busy in self.found(), 'the new share is not found')
        every = self.admin.ok('GET', '/findings')['findings']
        self.assertEqual(
            sorted((one['wrong'] for one in every), reverse=True), [one['wrong'] for one in every]
        )
        self.assertEqual({_DOWN['id'], *shares}, set(self.found('?wrong=true')))
        self.assertIn(busy, self.found('?wrong=false'))
        self.assertEqual({_DOWN['id']}, set(self.found('?wrong=1&older_than=3000')))
        first = self.admin.ok('GET', '/findings?wrong=true&limit=2')
        self.assertEqual((2, 'next'), (len(first['findings']), first['findings_links'][0]['rel']))
        self.assertEqual(1, len(self.found('?wrong=true&limit=2&offset=2')))
        self.service.knob('alpha', '')
        self.admin.wait(f'/shares/{busy}', 'share', 'available')

    def test_unknown_filters_and_incomplete_bodies_are_refused(self):
        for path in (
            '/findings?older=1',
            '/findings?older_than=-1',
            '/findings?wrong=perhaps',
            '/findings?limit=x',
        ):
            self.assertEqual(400, self.admin.call('GET', path)[0], path)
        for body in (
            {},
            {'what': 'share'},
            {**_DOWN, 'force': True},
            {**_DOWN, 'id': 7},
            {**_DOWN, 'state': ''},
        ):
            self.assertEqual(400, self.admin.call('POST', '/findings/mend', body)[0], body)

    def test_findings_are_for_administrators(self):
        for method, path in (('GET', '/findings'), ('POST', '/findings/mend')):
            self.assertEqual(403, self.caller().call(method, path, _DOWN if method == 'POST' else None)[0])
