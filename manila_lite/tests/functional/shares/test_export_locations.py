# SPDX-License-Identifier: Apache-2.0
"""Metadata of export locations that only the backend sets: hosts that copy a share give its mount options to mount(8)."""

from manila_lite.db import models
from manila_lite.tests.functional import base

_TOLD = {'ip_version': '4', 'mount_options': 'port=2050'}


class OfBackend(base.ServiceTest):
    def setUp(self):
        super().setUp()
        self.user = base.Api(self.service.app, 'u', 'p', 'member,reader')
        share = self.user.share()['id']
        [place, *_] = self.user.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        self.path = f'/shares/{share}/export_locations/{place["id"]}/metadata'
        with self.service.services.db.writer() as conn:
            rows = [{'owner_id': place['id'], 'key': key, 'value': value} for key, value in _TOLD.items()]
            conn.execute(models.export_location_metadata.insert(), rows)

    def has(self, **values):
        self.assertEqual(values, self.user.ok('GET', self.path)['metadata'])

    def test_nobody_changes_or_deletes_them(self):
        for caller in (self.user, self.admin):
            for key in _TOLD:
                for method in ('POST', 'PUT'):
                    body = {'metadata': {'site': 'x', key: 'ip=192.0.2.66'}}
                    status, said, _ = caller.call(method, self.path, body)
                    self.assertEqual(403, status, said)
                    self.assertIn(f'metadata: only the backend sets or deletes {key}.', str(said))
                self.assertEqual(403, caller.call('DELETE', f'{self.path}/{key}')[0])
        self.has(**_TOLD)

    def test_replacing_all_metadata_keeps_them(self):
        self.user.ok('PUT', self.path, {'metadata': {'site': 'x'}})
        self.has(site='x', **_TOLD)

    def test_a_client_may_send_back_what_it_has_read(self):
        for method in ('POST', 'PUT'):
            self.user.ok(method, self.path, {'metadata': {**_TOLD, 'site': method}})
            self.has(site=method, **_TOLD)
