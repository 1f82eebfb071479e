# SPDX-License-Identifier: Apache-2.0
"""Metadata and extra specs, when several requests set the same key at the same time."""

import concurrent.futures

from manila_lite.tests.functional import base


class PairsAtOnce(base.ServiceTest):
    def write(self, path, wrapped, methods=('POST', 'PUT')):
        """Check that of several writes at once each succeeds, and that the value is then that of one of them."""
        for method in methods * 3:
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                calls = [
                    pool.submit(self.admin.call, method, path, {wrapped: {method: str(value)}})
                    for value in range(6)
                ]
            self.assertEqual([200] * 6, [call.result()[0] for call in calls])
            self.assertIn(self.admin.ok('GET', path)[wrapped][method], map(str, range(6)))

    def test_concurrent_writes_of_share_metadata_succeed(self):
        self.write(f'/shares/{self.admin.share()["id"]}/metadata', 'metadata')

    def test_concurrent_writes_of_snapshot_metadata_succeed(self):
        share = self.admin.share()
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        self.write(f'/snapshots/{snapshot["id"]}/metadata', 'metadata')

    def test_concurrent_writes_of_export_location_metadata_succeed(self):
        path = f'/shares/{self.admin.share()["id"]}/export_locations'
        place = self.admin.ok('GET', path)['export_locations'][0]
        self.write(f'{path}/{place["id"]}/metadata', 'metadata')

    def test_concurrent_creations_near_one_share_succeed_and_are_all_noted(self):
        named = self.admin.share()['id']
        wanted = {'size': 1, 'share_proto': 'NFS', 'scheduler_hints': {'same_host': named}}
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(self.admin.call, 'POST', '/shares', {'share': wanted}) for _ in range(6)]
        answers = [call.result() for call in calls]
        self.assertEqual([200] * 6, [answer[0] for answer in answers], answers)
        noted = self.admin.ok('GET', f'/shares/{named}/metadata')['metadata']['__affinity_same_host']
        self.assertEqual({answer[1]['share']['id'] for answer in answers}, {*noted.split(',')})

    def test_concurrent_writes_of_extra_specs_succeed(self):
        kind = self.admin.ok(
            'POST',
            '/types',
            {'share_type': {'name': 'written', 'extra_specs': {'driver_handles_share_servers': 'False'}}},
        )['share_type']
        self.write(f'/types/{kind["id"]}/extra_specs', 'extra_specs', ('POST',))
