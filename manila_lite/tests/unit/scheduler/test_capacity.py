# SPDX-License-Identifier: Apache-2.0

import dataclasses
import fractions
import math

import hypothesis
import testscenarios
import testtools
from hypothesis import strategies

from manila_lite.scheduler.filters import capacity
from manila_lite.scheduler.interface import PlacementRequest, PoolState

THICK = {'total_gb': 100.0, 'free_gb': 60.0}
THIN = {**THICK, 'thin_provisioning': True, 'max_over_subscription_ratio': 2.0, 'provisioned_gb': 30.0}
TYPE_THICK = {'thin_provisioning': '<is> False'}

# Name, pool, extra specs, GiB that may still be claimed.
CASES = [
    ('thick', THICK, {}, 60),
    ('thick-reserved', {**THICK, 'reserved_percentage': 15}, {}, 45),
    ('thick-claimed', {**THICK, 'claimed_gb': 25.0}, {}, 35),
    (
        'thick-ignores-the-ratio',
        {**THICK, 'max_over_subscription_ratio': 5.0, 'provisioned_gb': 90.0},
        {},
        60,
    ),
    ('thick-more-reserved-than-free', {**THICK, 'reserved_percentage': 70}, {}, 0),
    ('thick-all-claimed', {**THICK, 'claimed_gb': 99.0}, {}, 0),
    ('thin-by-what-is-free', THIN, {}, 120),
    ('thin-by-ratio', {**THIN, 'provisioned_gb': 150.0}, {}, 50),
    ('thin-reserved', {**THIN, 'provisioned_gb': 150.0, 'reserved_percentage': 10}, {}, 30),
    ('thin-claimed', {**THIN, 'provisioned_gb': 150.0, 'claimed_gb': 20.0}, {}, 30),
    ('thin-over-the-ratio', {**THIN, 'provisioned_gb': 250.0}, {}, 0),
    ('thin-full', {**THIN, 'free_gb': 0.0}, {}, 0),
    ('thin-type-asks-thick', THIN, TYPE_THICK, 60),
    ('thin-type-asks-thick-scoped', THIN, {'capabilities:thin_provisioning': 'False'}, 60),
    ('thin-type-asks-thin', THIN, {'thin_provisioning': '<is> True'}, 120),
    ('unknown-free', {**THICK, 'free_gb': 'unknown'}, {}, capacity.UNLIMITED),
    ('infinite-free', {**THICK, 'free_gb': 'infinite', 'claimed_gb': 5.0}, {}, capacity.UNLIMITED),
    (
        'all-infinite',
        {'total_gb': math.inf, 'free_gb': math.inf, 'reserved_percentage': 10},
        {},
        capacity.UNLIMITED,
    ),
    ('unknown-total', {**THICK, 'total_gb': 'unknown', 'reserved_percentage': 10}, {}, 60),
    ('thin-unknown-free', {**THIN, 'free_gb': 'unknown'}, {}, 170),
    ('thin-infinite-total', {**THIN, 'total_gb': 'infinite'}, {}, 120),
    (
        'thin-nothing-over',
        {**THIN, 'total_gb': 'unknown', 'free_gb': 'unknown', 'max_over_subscription_ratio': 0.0},
        {},
        capacity.UNLIMITED,
    ),
    ('nothing-reported', {}, {}, 0),
]


class TestHeadroom(testscenarios.WithScenarios, testtools.TestCase):
    scenarios = [(name, {'held': held, 'specs': specs, 'left': left}) for name, held, specs, left in CASES]

    def test_headroom_has_the_value_of_the_table(self):
        self.assertAlmostEqual(
            self.left, capacity.headroom(PlacementRequest(1, self.specs), PoolState('h@b#p', **self.held))
        )

    def test_check_refuses_requests_larger_than_the_headroom(self):
        pool = PoolState('h@b#p', **self.held)
        self.assertIsNotNone(
            capacity.Capacity().check(PlacementRequest(int(self.left) + 1, self.specs), pool)
        )
        if self.left >= 1:
            self.assertIsNone(capacity.Capacity().check(PlacementRequest(int(self.left), self.specs), pool))


class TestReason(testtools.TestCase):
    def test_the_reason_has_the_figures_of_a_thin_pool(self):
        pool = PoolState(
            'h@b#p', **{**THIN, 'provisioned_gb': 180.0, 'claimed_gb': 12.5, 'reserved_percentage': 1}
        )
        self.assertEqual(
            '10 GiB asked for, 5.5 GiB left: free 60 GiB of 100 GiB, 1 % reserved, 12.5 GiB promised since the last '
            'report, 180 GiB provisioned before, over-subscription ratio 2',
            capacity.Capacity().check(PlacementRequest(10), pool),
        )

    def test_reason_for_a_thick_pool_omits_thin_provisioning_figures(self):
        self.assertEqual(
            '61 GiB asked for, 60 GiB left: free 60 GiB of 100 GiB, 0 % reserved, 0 GiB promised since the last report',
            capacity.Capacity().check(PlacementRequest(61), PoolState('h@b#p', **THICK)),
        )

    def test_reason_shows_unknown_free_space(self):
        pool = PoolState('h@b#p', **{**THIN, 'free_gb': 'unknown', 'total_gb': 10.0})
        self.assertIn('free unknown of 10 GiB', capacity.Capacity().check(PlacementRequest(10), pool))


class Row:
    """The row of a pool, with the conditional UPDATE that claims."""

    def __init__(self, pool):
        self.claimed = pool.claimed_gb

    def claim(self, size, most):
        if self.claimed + size > most:
            return False
        self.claimed += size
        return True


@strategies.composite
def pools(draw):
    total = draw(strategies.integers(0, 5000))
    return PoolState(
        'h@b#p',
        total_gb=float(total),
        free_gb=float(draw(strategies.integers(0, total))),
        reserved_percentage=draw(strategies.integers(0, 100)),
        thin_provisioning=draw(strategies.booleans()),
        max_over_subscription_ratio=draw(strategies.sampled_from([1.0, 1.5, 2.0, 20.0])),
        provisioned_gb=float(draw(strategies.integers(0, 2 * total))),
        claimed_gb=float(draw(strategies.integers(0, 50))),
    )


def limits(pool):
    """Return the limit of all claims, computed in fractions."""
    total, free = fractions.Fraction(pool.total_gb), fractions.Fraction(pool.free_gb)
    reserved = total * pool.reserved_percentage / 100
    if not pool.thin_provisioning:
        return free - reserved
    ratio = fractions.Fraction(pool.max_over_subscription_ratio)
    return min(
        (total - reserved) * ratio - fractions.Fraction(pool.provisioned_gb), (free - reserved) * ratio
    )


ASKED = strategies.lists(
    strategies.tuples(strategies.integers(1, 800), strategies.integers(0, 9)), min_size=1, max_size=40
)


class TestClaims(testtools.TestCase):
    @hypothesis.given(pools(), ASKED)
    @hypothesis.settings(database=None, deadline=None, max_examples=300)
    def test_guarded_claims_never_exceed_the_limit(self, pool, asked):
        """Claims never exceed the limit, though every scheduler sees an older state of the row, up to nine claims ago."""
        row, seen, limit = Row(pool), [pool], limits(pool)
        tiny = fractions.Fraction(1, 10**6)
        for size, age in asked:
            state = seen[max(0, len(seen) - 1 - age)]
            most = state.claimed_gb + capacity.headroom(PlacementRequest(size), state)
            granted = row.claim(size, most)
            if not granted and age == 0:
                self.assertGreater(row.claimed + size, limit - tiny)
            seen.append(dataclasses.replace(pool, claimed_gb=row.claimed))
        self.assertLessEqual(row.claimed, max(pool.claimed_gb, limit + tiny))
