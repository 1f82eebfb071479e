# SPDX-License-Identifier: Apache-2.0
"""The data of operations that the doctor begins again."""

import json
import types

import testtools

from manila_lite.doctor.recovery_table import REDO
from manila_lite.tests.unit.operation_data import stored

_REDO = REDO['share']['creating']


def _data(text, zone='of the row'):
    last = None if text is None else types.SimpleNamespace(text=text)
    return _REDO.data(None, types.SimpleNamespace(zone=zone), last).to_json()


class Placement(testtools.TestCase):
    def test_all_that_was_asked_for_is_asked_for_again(self):
        asked = stored.BY_KIND['share.create']
        notes = {
            'asked': 2,
            'failure': {'told': 'No.', 'detail': None},
            'progress': {'percent': 1},
            'begun_again': True,
        }
        self.assertEqual(
            {key: value for key, value in asked.items() if key != 'exports'}, _data(json.dumps(asked | notes))
        )

    def test_without_readable_data_the_zone_is_that_of_the_share(self):
        for text in (None, '{', '[]'):
            self.assertEqual('of the row', _data(text)['zone'])
