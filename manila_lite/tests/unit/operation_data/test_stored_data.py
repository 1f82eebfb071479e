# SPDX-License-Identifier: Apache-2.0
"""How the fields of operation data are stored, and what is read of what another release stored."""

import dataclasses

import testtools

from manila_lite.operation_data.base import ALWAYS, Failure, OperationData
from manila_lite.operation_data.untyped import Untyped


@dataclasses.dataclass(kw_only=True)
class Move(OperationData):
    """Data of a kind with a field of each sort."""

    source: str | None = dataclasses.field(metadata={'key': 'from'})
    zone: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    left: set[str] = dataclasses.field(default_factory=set, metadata={'load': set, 'dump': sorted})


class Storing(testtools.TestCase):
    def stored(self, **more):
        return Move.from_json({'from': 'a', **more})

    def test_field_at_its_default_is_stored_only_if_the_release_before_expects_it(self):
        self.assertEqual({'from': 'a', 'zone': None}, Move(source='a').to_json())
        self.assertEqual({}, OperationData().to_json())

    def test_each_field_is_stored_under_its_key_in_its_form(self):
        data = Move(
            source='a',
            zone='z',
            left={'y', 'x'},
            asked=2,
            progress={'percent': 1},
            begun_again=True,
            failure=Failure('no room', 'FULL'),
        )
        self.assertEqual(
            {
                'from': 'a',
                'zone': 'z',
                'left': ['x', 'y'],
                'asked': 2,
                'progress': {'percent': 1},
                'begun_again': True,
                'failure': {'told': 'no room', 'detail': 'FULL'},
            },
            data.to_json(),
        )
        self.assertEqual(data, Move.from_json(data.to_json()))

    def test_unknown_keys_of_a_newer_release_are_kept(self):
        data = self.stored(since=1)
        data.left = {'x'}
        self.assertEqual({'from': 'a', 'zone': None, 'since': 1, 'left': ['x']}, data.to_json())

    def test_null_counts_as_not_there(self):
        self.assertEqual(set(), self.stored(left=None).left)

    def test_required_field_must_be_there_and_may_be_null(self):
        self.assertIsNone(Move.from_json({'from': None}).source)
        self.assertRaisesRegex(ValueError, 'from is missing', Move.from_json, {'zone': 'z'})

    def test_data_of_another_form_are_refused(self):
        for bad in ({'from': 'a', 'left': 1}, {'from': 'a', 'failure': 'text'}, None, 7):
            self.assertRaisesRegex(ValueError, '^Move: ', Move.from_json, bad)

    def test_what_was_stored_is_not_changed(self):
        stored = {'from': 'a', 'more': 1}
        Move.from_json(stored).others.clear()
        self.assertEqual({'from': 'a', 'more': 1}, stored)


class OfKindsWithoutAClass(testtools.TestCase):
    def test_common_fields_are_those_of_the_stored_data(self):
        data = Untyped.from_json({'failure': {'told': 'no room', 'detail': None}, 'asked': 3, 'looks': 1})
        self.assertEqual((Failure('no room'), 3, 1), (data.failure, data.asked, data.looks))
        data.failure, data.looks, data.asked = None, 0, 4
        self.assertEqual({'asked': 4}, data.to_json())
        data.failure = Failure('late', 'SLOW')
        self.assertEqual({'asked': 4, 'failure': {'told': 'late', 'detail': 'SLOW'}}, data.to_json())
