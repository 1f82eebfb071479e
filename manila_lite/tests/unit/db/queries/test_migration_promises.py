# SPDX-License-Identifier: Apache-2.0

import json

import testtools

from manila_lite.db.queries import migration_promises
from manila_lite.operation_data.migrations import Reached


class TestClaims(testtools.TestCase):
    def test_claims_of_each_pool_are_read(self):
        for data, claims in (
            ({}, {}),
            ({'claimed': None}, {}),
            ({'claimed': ['h@b#a', 5]}, {'h@b#a': 5}),  # as the release before writes it
            ({'claimed': ['h@b#a', 3], 'claimed_beside': {'h@b#b': 2}}, {'h@b#a': 3, 'h@b#b': 2}),
        ):
            self.assertEqual(claims, Reached.from_json(data).claims)

    def test_promises_of_an_operation_name_each_pool(self):
        data = {'claimed': ['h@b#a', 3], 'claimed_beside': {'h@b#b': 2}}
        for state, more, seen in (
            ('open', {}, False),
            ('parked', {'copied': True}, True),
            ('failed', {'cut': True}, True),
        ):
            self.assertEqual(
                [('h@b#a', 3, seen), ('h@b#b', 2, seen)],
                list(migration_promises.of_row(state, json.dumps(data | more))),
            )
        self.assertEqual([], list(migration_promises.of_row('failed', json.dumps(data))))
