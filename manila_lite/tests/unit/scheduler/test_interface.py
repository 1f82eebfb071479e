# SPDX-License-Identifier: Apache-2.0

import dataclasses

import testtools

from manila_lite.scheduler.interface import PlacementRequest, PoolState

POOL = PoolState('h@b#p', 'nova', {'a': True, 'b': ['x', 'y'], 'pool_name': 'p'}, 100.0, 50.0)


class TestPoolState(testtools.TestCase):
    def test_places_are_pool_backend_and_host(self):
        self.assertEqual(('h@b#p', 'h@b', 'h'), POOL.host_names)
        self.assertEqual('h@b', POOL.backend)

    def test_signature_ignores_host_usage_and_pool_name(self):
        same = dataclasses.replace(
            POOL,
            host='i@c#q',
            free_gb=1.0,
            claimed_gb=5.0,
            generation=9,
            up=False,
            disabled=True,
            capabilities={'pool_name': 'q', 'b': ['x', 'y'], 'a': True},
        )
        self.assertEqual(POOL.signature, same.signature)

    def test_signature_changes_with_zone_capabilities_and_thin_provisioning(self):
        others = [
            dataclasses.replace(POOL, **change)
            for change in (
                {'availability_zone': 'x'},
                {'availability_zone': None},
                {'thin_provisioning': True},
                {'capabilities': {**POOL.capabilities, 'a': 'True'}},
                {'capabilities': {**POOL.capabilities, 'a': 1}},
                {'capabilities': {**POOL.capabilities, 'b': ['x']}},
                {'capabilities': {}},
                {'capabilities': {**POOL.capabilities, 'a': 2**70}},
                {'capabilities': {**POOL.capabilities, 'a': {1, 2}}},
            )
        ]
        self.assertEqual(len(others) + 1, len({POOL.signature, *(pool.signature for pool in others)}))

    def test_signature_ignores_the_order_of_capabilities(self):
        for odd in (1, 2**70):  # 2**70 is serialised in another way
            pools = [
                dataclasses.replace(POOL, capabilities=dict(pairs))
                for pairs in ([('a', odd), ('b', 'x')], [('b', 'x'), ('a', odd)])
            ]
            self.assertEqual(*(pool.signature for pool in pools))

    def test_thin_provisioning_is_matched_as_reported(self):
        self.assertIs(False, POOL.reported['thin_provisioning'])
        both = dataclasses.replace(POOL, capabilities={'thin_provisioning': [True, False]})
        self.assertEqual([True, False], both.reported['thin_provisioning'])


class TestRequest(testtools.TestCase):
    def test_static_key_depends_on_specs_protocol_and_zone_only(self):
        request = PlacementRequest(1, {'a': '1', 'b': '2'}, 'NFS', availability_zone='x')
        moved = dataclasses.replace(
            request, size=9, only_host='h', excluded={'h': 'x'}, extra_specs={'b': '2', 'a': '1'}
        )
        self.assertEqual(request.static_key, moved.static_key)
        for change in ({'extra_specs': {'a': '1'}}, {'proto': 'CIFS'}, {'availability_zone': None}):
            self.assertNotEqual(request.static_key, dataclasses.replace(request, **change).static_key)
