# SPDX-License-Identifier: Apache-2.0
"""Versions of every call, parameter and field are those recorded in record.yaml."""

import testtools

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api.v2 import CALLS
from manila_lite.tests.contract import record


class Record(testtools.TestCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.written, self.served = record.written(), record.served(CALLS)

    def test_contract_and_record_have_the_same_calls(self):
        self.assertEqual(sorted(self.written), sorted(self.served))

    def test_versions_are_those_of_the_record(self):
        wrong = []
        for name in sorted(self.written.keys() & self.served.keys()):
            ours, theirs = set(self.served[name].lines()), set(self.written[name].lines())
            wrong += [f'{name}: the contract has: {line}' for line in sorted(ours - theirs)]
            wrong += [f'{name}: the record says:  {line}' for line in sorted(theirs - ours)]
        self.assertEqual([], wrong, '\n'.join(['the contract and record.yaml differ:', *wrong]))
