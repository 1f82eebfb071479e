# SPDX-License-Identifier: Apache-2.0
"""Findings as plain values, and ages."""

import datetime
import json

import testtools

from manila_lite.doctor.finding import Finding, RepairContext


class FindingTest(testtools.TestCase):
    def test_finding_can_be_written_as_json(self):
        found = Finding('share', 'x', 'creating', 'no operation', wrong=True, mend=lambda conn, repair: None)
        self.assertTrue(json.loads(json.dumps(found.as_dict()))['mendable'])
        self.assertFalse(Finding('share', 'x', 'creating', 'fine', wrong=False).as_dict()['mendable'])

    def test_ages_are_never_negative(self):
        now = datetime.datetime.fromisoformat('2030-01-01')
        repair = RepairContext(None, now)
        self.assertEqual(60, repair.age(now - datetime.timedelta(minutes=1)))
        self.assertIsNone(repair.age(None))
        # The clock of another host may be ahead: such an operation must not drop out of "older than 0 seconds".
        self.assertEqual(0, repair.age(now + datetime.timedelta(minutes=1)))
