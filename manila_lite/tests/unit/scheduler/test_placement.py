# SPDX-License-Identifier: Apache-2.0

import collections
import dataclasses
import math
import random
import threading

import testtools

from manila_lite.scheduler import placement
from manila_lite.scheduler.filters import (
    availability_zone,
    capabilities,
    capacity,
    create_from_snapshot,
    excluded,
    protocol,
    up,
)
from manila_lite.scheduler.interface import Filter, PlacementRequest, PoolState, Weigher
from manila_lite.scheduler.weighers import capacity as free_space
from manila_lite.scheduler.weighers import goodness


def pool(name, free=50.0, zone='nova', *, host='h@b', **more):
    reported = {
        'storage_protocol': 'NFS',
        'snapshot_support': True,
        'pool_name': name,
        **more.pop('capabilities', {}),
    }
    return PoolState(f'{host}#{name}', zone, reported, 100.0, free, **more)


def filters():
    return [
        up.Up(),
        excluded.Excluded(),
        availability_zone.AvailabilityZone(),
        protocol.Protocol(),
        capabilities.Capabilities(),
        create_from_snapshot.CreateFromSnapshot(),
        capacity.Capacity(),
    ]


def placing(*, weighers=None, rng=None, **more):
    return placement.Placement(
        filters(),
        [free_space.Capacity()] if weighers is None else weighers,
        rng=rng or random.Random(4),
        **more,
    )


def names(result):
    return [item.host.partition('#')[2] for item in result.candidates]


class Counting(Filter):
    """A static filter that notes the pools it is asked about."""

    name = 'CountingFilter'
    static = True

    def __init__(self):
        self.asked = []

    def check(self, request, pool):
        self.asked.append(pool.host)
        return None if pool.capabilities.get('good') else 'it is not good'


class TestCandidates(testtools.TestCase):
    def test_candidates_are_ordered_best_first(self):
        result = placing().place(
            PlacementRequest(5), [pool('a', 10.0), pool('b', 90.0), pool('c', 40.0), pool('d', 4.0)]
        )
        self.assertEqual(['b', 'c', 'a'], names(result))
        self.assertEqual(4, result.asked)
        self.assertEqual(
            [('CapacityFilter', 'FILTER_CAPACITY', 1, 'h@b#d')],
            [(item.filter, item.detail, item.pools, item.example) for item in result.refusals],
        )

    def test_multipliers_change_the_best_candidate(self):
        pools = [
            pool('roomy', 90.0, capabilities={'goodness': 10}),
            pool('good', 60.0, capabilities={'goodness': 100}),
            pool('poor', 10.0, capabilities={'goodness': 0}),
        ]
        for weights, best in (((1.0, 0.0), 'roomy'), ((1.0, 2.0), 'good'), ((-1.0, 0.0), 'poor')):
            weighers = [free_space.Capacity(weights[0]), goodness.Goodness(weights[1])]
            self.assertEqual(best, names(placing(weighers=weighers).place(PlacementRequest(5), pools))[0])

    def test_at_most_20_candidates_are_returned(self):
        pools = [pool(f'p{number}', 50.0 + number / 10) for number in range(30)]
        self.assertEqual(
            [f'p{number}' for number in range(29, 9, -1)], names(placing().place(PlacementRequest(1), pools))
        )

    def test_only_a_random_sample_of_many_pools_is_checked(self):
        pools = [pool(f'p{number}') for number in range(3 * placement.ENOUGH)]
        asked = []

        class Last(Filter):
            name = 'Last'

            def check(self, request, pool):
                asked.append(pool.host)

        result = placement.Placement([Last()], [], rng=random.Random(1)).place(PlacementRequest(1), pools)
        self.assertEqual(30, len(set(asked)))
        self.assertNotEqual([item.host for item in pools[:30]], asked)
        self.assertEqual(20, len(result.candidates))

    def test_the_only_pool_is_found_among_many(self):
        pools = [pool(f'p{number}', 1.0) for number in range(3 * placement.ENOUGH)] + [pool('good')]
        result = placing().place(PlacementRequest(20), pools)
        self.assertEqual(['good'], names(result))
        self.assertEqual(3 * placement.ENOUGH, result.refusals[0].pools)

    def test_equal_pools_are_shuffled_reproducibly_by_the_seed(self):
        pools = [pool(name) for name in 'abcd']
        first = collections.Counter(
            names(placing(rng=random.Random(seed)).place(PlacementRequest(1), pools))[0]
            for seed in range(400)
        )
        self.assertEqual(set('abcd'), set(first))
        self.assertGreater(min(first.values()), 50)
        again = [names(placing(rng=random.Random(7)).place(PlacementRequest(1), pools)) for _ in range(2)]
        self.assertEqual(again[0], again[1])

    def test_groups_of_pools_can_be_reused(self):
        groups = placement.Groups([pool('a'), pool('b', 90.0), pool('c', zone='x')])
        chooser = placing()
        for zone, expected in (('nova', ['b', 'a']), ('x', ['c'])):
            self.assertEqual(
                expected, names(chooser.place(PlacementRequest(1, availability_zone=zone), groups))
            )

    def test_pool_name_is_matched_for_each_pool(self):
        pools = [pool('a'), pool('b'), pool('c')]
        chooser = placing()
        for key in ('pool_name', 'capabilities:pool_name'):
            for name in 'bca':
                self.assertEqual([name], names(chooser.place(PlacementRequest(1, {key: name}), pools)))


class TestKeptVerdicts(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.counting = Counting()
        self.chooser = placement.Placement([self.counting], [], cached_requests=2, cached_signatures=4)
        self.good = [pool(name, capabilities={'good': True}) for name in 'abc']

    def place(self, pools, **asked):
        return self.chooser.place(PlacementRequest(1, **asked), pools)

    def test_filter_is_called_once_for_each_signature(self):
        bad = [pool('x'), pool('y')]
        for size in (1, 2, 3):
            result = self.chooser.place(PlacementRequest(size), [*self.good, *bad])
            self.assertEqual(set('abc'), set(names(result)))
            self.assertEqual(
                [placement.Refusal('CountingFilter', 'NO_VALID_HOST', 2, 'it is not good', 'h@b#x')],
                result.refusals,
            )
        self.assertEqual(['h@b#a', 'h@b#x'], self.counting.asked)

    def test_filter_is_called_again_for_a_changed_pool(self):
        self.place(self.good)
        changed = dataclasses.replace(self.good[1], capabilities={'good': False})
        self.assertEqual({'a', 'c'}, set(names(self.place([self.good[0], changed, self.good[2]]))))
        self.assertEqual({'a', 'b', 'c'}, set(names(self.place(self.good))))
        self.assertEqual(['h@b#a', 'h@b#b'], self.counting.asked)

    def test_filter_is_called_again_for_another_type_zone_or_protocol(self):
        for asked in ({}, {'extra_specs': {'a': '1'}}, {'proto': 'CIFS'}, {'availability_zone': 'x'}):
            self.place(self.good, **asked)
        self.assertEqual(4, len(self.counting.asked))

    def test_least_recently_used_request_is_evicted(self):
        for key in ('1', '2', '1', '3', '1', '2'):
            self.place(self.good, extra_specs={'a': key})
        self.assertEqual(4, len(self.counting.asked))

    def test_verdicts_of_old_signatures_are_evicted(self):
        for number in range(50):
            self.place([pool('a', capabilities={'good': number})])
        self.assertEqual(50, len(self.counting.asked))
        self.assertLessEqual(max(map(len, self.chooser._verdicts._known.values())), 5)

    def test_verdicts_are_kept_up_to_the_limit_of_signatures(self):
        pools = [pool('a', capabilities={'good': number}) for number in range(1, 5)]
        for _ in range(2):
            for each in pools:
                self.place([each])
        self.assertEqual(4, len(self.counting.asked))

    def test_dynamic_filters_see_every_change(self):
        chooser = placing()
        state = pool('a', 10.0)
        self.assertEqual(['a'], names(chooser.place(PlacementRequest(8), [state])))
        self.assertEqual(
            [], names(chooser.place(PlacementRequest(8), [dataclasses.replace(state, claimed_gb=5.0)]))
        )
        self.assertEqual(
            [], names(chooser.place(PlacementRequest(8), [dataclasses.replace(state, up=False)]))
        )
        self.assertEqual([], names(chooser.place(PlacementRequest(8, excluded={state.host: 'x'}), [state])))
        self.assertEqual(['a'], names(chooser.place(PlacementRequest(8), [state])))

    def test_verdicts_of_many_threads_are_not_mixed_up(self):
        chooser = placing(cached_requests=3, cached_signatures=2)
        pools = [pool(f'{zone}{number}', zone=zone) for zone in 'abcdef' for number in range(5)]
        wrong = []

        def work(zone):
            for _ in range(200):
                found = names(chooser.place(PlacementRequest(1, availability_zone=zone), pools))
                if {name[0] for name in found} != {zone} or len(found) != 5:
                    wrong.append((zone, found))

        threads = [threading.Thread(target=work, args=(zone,)) for zone in 'abcdef']
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)


START = 'No storage could be allocated for this share request: '


class TestWhyNone(testtools.TestCase):
    def why(self, pools, for_admin=True, **asked):
        return placement.why_none(
            placing().place(PlacementRequest(**{'size': 20, **asked}), pools), for_admin=for_admin
        )

    def test_reason_names_the_filter_and_an_example_pool(self):
        pools = [pool(name, capabilities={'dedupe': False}) for name in 'pq']
        text, detail = self.why(pools, extra_specs={'dedupe': '<is> True'})
        self.assertEqual(
            START + 'CapabilitiesFilter refused 2 of 2 pools '
            "(pool h@b#p: the share type asks dedupe='<is> True', the pool reports False).",
            text,
        )
        self.assertEqual('FILTER_CAPABILITIES', detail)

    def test_detail_is_that_of_the_filter_that_refused_the_last_pool(self):
        pools = [pool('a', zone='x'), pool('b', up=False), pool('c', 5.0)]
        text, detail = self.why(pools, availability_zone='nova')
        self.assertEqual('FILTER_CAPACITY', detail)
        self.assertIn(
            'CapacityFilter refused the last 1 of 3 pools (pool h@b#c: 20 GiB asked for, 5 GiB left', text
        )
        self.assertTrue(text.endswith('), after AvailabilityZoneFilter 1, UpFilter 1.'), text)

    def test_reason_names_the_earlier_failure_of_the_only_pool(self):
        text, detail = self.why([pool('a')], excluded={'h@b#a': 'the disk broke'})
        self.assertIn(
            'refused 1 of 1 pool (pool h@b#a: it was tried before and failed: the disk broke)', text
        )
        self.assertEqual('NO_VALID_HOST', detail)

    def test_pool_names_are_hidden_from_users(self):
        text, detail = self.why([pool('a', 5.0)], for_admin=False)
        self.assertTrue(
            text.startswith(f'{START}CapacityFilter refused 1 of 1 pool (20 GiB asked for, 5 GiB left: '),
            text,
        )
        self.assertNotIn('h@b', text)
        self.assertEqual('FILTER_CAPACITY', detail)

    def test_reason_without_pools_says_that_none_was_reported(self):
        self.assertEqual((f'{START}no backend has reported a pool yet.', 'NO_VALID_HOST'), self.why([]))

    def test_call_for_a_placeable_share_raises_valueerror(self):
        self.assertRaises(ValueError, self.why, [pool('a')])


class TestNormalised(testtools.TestCase):
    def test_weights_are_scaled_from_zero_to_one(self):
        for given, expected in (
            ([], []),
            ([5], [0]),
            ([3, 3], [0, 0]),
            ([10, 20, 15], [0, 1, 0.5]),
            ([-4, 0], [0, 1]),
            ([0, 10, math.inf], [0, 0.5, 1]),
            ([7, math.inf], [0, 1]),
            ([math.inf, math.inf], [0, 0]),
            ([math.nan, 2, 4], [0, 0, 1]),
            ([-math.inf, 2, 4], [0, 0, 1]),
        ):
            self.assertEqual(expected, placement.normalised(given))


class TestWeigherContract(testtools.TestCase):
    def test_too_few_weights_raise_valueerror(self):
        class Short(Weigher):
            def weigh(self, request, pools):
                return [1.0]

        self.assertRaises(
            ValueError, placing(weighers=[Short()]).place, PlacementRequest(1), [pool('a'), pool('b')]
        )
