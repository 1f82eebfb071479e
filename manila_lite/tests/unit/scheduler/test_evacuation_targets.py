# SPDX-License-Identifier: Apache-2.0

import testtools

from manila_lite.operation_data.evacuation import Evacuate
from manila_lite.scheduler import evacuation_targets
from manila_lite.scheduler.interface import PoolState

_POOLS = [
    PoolState(host, total_gb=100.0, free_gb=free)
    for host, free in (('h@small#p', 10.0), ('h@large#p', 50.0), ('h@large#q', 20.0), ('h@equal#p', 10.0))
]


class Order(testtools.TestCase):
    def order(self, *named):
        return evacuation_targets._in_order(named, _POOLS, 1)

    def test_most_room_in_one_pool_comes_first(self):
        self.assertEqual(['h@large', 'h@equal', 'h@small'], self.order())

    def test_named_pools_are_destinations_of_their_own(self):
        self.assertEqual(['h@large', 'h@large#q', 'h@equal', 'h@small'], self.order('h@large#q', 'h@small'))


class Where(testtools.TestCase):
    def test_reason_names_the_limit_of_the_request(self):
        for data, said in (
            ({'to': ['a', 'b'], 'any_zone': True}, ': none of a, b is up and enabled'),
            ({'to': [], 'any_zone': False}, ': none in its availability zone is up and enabled'),
            ({'to': [], 'any_zone': True}, ''),
        ):
            self.assertEqual(
                said,
                evacuation_targets._where(Evacuate(host='h', began=0.0, at_once=1, dry_run=False, **data)),
            )
