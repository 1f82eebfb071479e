# SPDX-License-Identifier: Apache-2.0

import math

import testtools

from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.scheduler.weighers import capacity, goodness, host_affinity


class TestCapacity(testtools.TestCase):
    def test_weight_is_the_unclaimed_free_capacity(self):
        pools = [
            PoolState('h@b#1', total_gb=100.0, free_gb=40.0, claimed_gb=15.0),
            PoolState(
                'h@b#2', total_gb=100.0, free_gb=40.0, thin_provisioning=True, max_over_subscription_ratio=3.0
            ),
            PoolState('h@b#3', total_gb='infinite', free_gb='infinite', claimed_gb=3.0),
            PoolState('h@b#4', total_gb=100.0, free_gb='unknown'),
        ]
        self.assertEqual([25.0, 120.0, math.inf, 0.0], capacity.Capacity().weigh(PlacementRequest(1), pools))


class TestGoodness(testtools.TestCase):
    def test_goodness_is_clamped_to_0_to_100_and_other_values_give_zero(self):
        reported = [
            {'goodness': 40},
            {'goodness': '55.5'},
            {'goodness_function': 70, 'goodness': 1},
            {'goodness_function': '(capabilities.x > 5) ? 1 : 2', 'goodness': 30},
            {'goodness': 500},
            {'goodness': -3},
            {'goodness': 'infinite'},
            {'goodness': math.nan},
            {'goodness': True},
            {},
        ]
        pools = [PoolState(f'h@b#{number}', capabilities=value) for number, value in enumerate(reported)]
        self.assertEqual(
            [40, 55.5, 70, 30, 100, 0, 100, 0, 0, 0], goodness.Goodness().weigh(PlacementRequest(1), pools)
        )


class TestHostAffinity(testtools.TestCase):
    pools = [PoolState(host) for host in ('h@b#p', 'h@b#q', 'h@c#p', 'i@b#p')]

    def test_pools_nearer_to_the_source_weigh_more(self):
        self.assertEqual(
            [3, 2, 1, 0],
            host_affinity.HostAffinity().weigh(PlacementRequest(1, source_host='h@b#p'), self.pools),
        )

    def test_all_pools_weigh_zero_without_a_source(self):
        self.assertEqual([0, 0, 0, 0], host_affinity.HostAffinity().weigh(PlacementRequest(1), self.pools))


class TestMultiplier(testtools.TestCase):
    def test_multiplier_defaults_to_one(self):
        self.assertEqual(1.0, goodness.Goodness().multiplier)
        self.assertEqual(-2.0, goodness.Goodness(-2.0).multiplier)
