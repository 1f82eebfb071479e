# SPDX-License-Identifier: Apache-2.0

import random

import testtools

from manila_lite import errors
from manila_lite.scheduler.filters import capabilities, capacity
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.scheduler.placement import Placement
from manila_lite.scheduler.spreading import spread
from manila_lite.scheduler.weighers import capacity as free_space


def pool(name, free, **more):
    return PoolState(
        f'h@b#{name}', 'nova', more.pop('capabilities', {}), more.pop('total', free), free, **more
    )


def share(size, **specs):
    return PlacementRequest(size=size, extra_specs=specs)


class TestSpread(testtools.TestCase):
    def spread(self, shares, *pools):
        """Return the names of the shares' pools, and the claimed GiB by pool."""
        placing = Placement(
            [capabilities.Capabilities(), capacity.Capacity()], [free_space.Capacity()], rng=random.Random(4)
        )
        chosen, self.claims = spread(placing, shares.items(), pools)
        return (
            {key: one.host[-1] for key, one in chosen.items()},
            {one.pool.host[-1]: one.size for one in self.claims},
        )

    def refusal(self, shares, *pools):
        return self.assertRaises(errors.NoValidHost, self.spread, shares, *pools)

    def test_largest_shares_come_first(self):
        chosen, sizes = self.spread({'x': share(1), 'y': share(2), 'z': share(3)}, pool('a', 3), pool('b', 3))
        self.assertEqual(({3: 1}, {'x', 'y', 'z'}), (dict.fromkeys(sizes.values(), 1), set(chosen)))
        self.assertEqual(chosen['x'], chosen['y'])

    def test_few_pools_are_used(self):
        _, sizes = self.spread({name: share(2) for name in 'uvwxyz'}, *(pool(name, 6) for name in 'abcd'))
        self.assertEqual([6, 6], list(sizes.values()))

    def test_each_share_passes_the_filters_of_its_type(self):
        fast = {'capabilities': {'fast': True}}
        chosen, _ = self.spread(
            {'x': share(2, fast='true'), 'y': share(3)}, pool('a', 3, **fast), pool('b', 4)
        )
        self.assertEqual({'x': 'a', 'y': 'b'}, chosen)
        refusal = self.refusal({'x': share(1, fast='true'), 'y': share(1)}, pool('a', 9), pool('b', 9))
        self.assertIn('There is no pool for a share of 1 GiB beside the others. ', str(refusal))
        self.assertIn('CapabilitiesFilter refused 2 of 2 pools', str(refusal))
        self.assertEqual('FILTER_CAPABILITIES', refusal.detail)

    def test_promises_of_others_count(self):
        _, sizes = self.spread(
            {'x': share(2), 'y': share(2)}, pool('a', 4, claimed_gb=1), pool('b', 4, claimed_gb=2)
        )
        self.assertEqual({'a': 2, 'b': 2}, sizes)
        self.assertEqual([4, 4], [one.most for one in self.claims])
        self.assertEqual(
            'FILTER_CAPACITY',
            self.refusal(
                {'x': share(2), 'y': share(2)}, pool('a', 4, claimed_gb=1), pool('b', 4, claimed_gb=3)
            ).detail,
        )

    def test_claims_are_in_the_order_of_their_pools(self):
        pools = [pool(name, 2) for name in 'dbca']
        self.spread({name: share(2) for name in 'wxyz'}, *pools)
        self.assertEqual(['h@b#a', 'h@b#b', 'h@b#c', 'h@b#d'], [one.pool.host for one in self.claims])

    def test_thin_and_thick_shares_of_a_pool_keep_the_limit_of_thick_ones(self):
        thin = {
            'thin_provisioning': True,
            'max_over_subscription_ratio': 10.0,
            'capabilities': {'thin_provisioning': [True, False]},
        }
        shares = {'x': share(5, thin_provisioning='false'), 'y': share(4)}
        _, sizes = self.spread(shares, pool('a', 6, **thin), pool('b', 6, **thin))
        self.assertEqual([4, 5], sorted(sizes.values()))
        self.assertEqual([6, 60], sorted(one.most for one in self.claims))
        self.assertIn('Thin and thick shares together', str(self.refusal(shares, pool('a', 6, **thin))))
