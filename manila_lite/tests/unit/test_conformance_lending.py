# SPDX-License-Identifier: Apache-2.0
"""Loans of client machines over a socket."""

import json
import socket
from pathlib import Path

import fixtures
import testtools

from manila_lite.tests.conformance import lending


class _Machine:
    """A machine that records its commands."""

    def __init__(self, *addresses):
        self.addresses = addresses
        self.asked = []

    def run(self, command):
        self.asked.append(command)
        if command == 'hang':
            raise AssertionError('it hangs')
        return {'status': 0, 'stdout': 'said', 'stderr': ''}

    def clean(self):
        self.asked.append('clean')


class Lending(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.machines = [_Machine('10.0.0.1/24', 'fd00::1/64'), _Machine('10.0.0.2/24')]
        self.lender = self.useFixture(lending.Lender(folder / 'socket', self.machines))

    def call(self, *words):
        with socket.socket(socket.AF_UNIX) as line, line.makefile('rw') as file:
            line.connect(str(self.lender.path))
            file.write(json.dumps(words) + '\n')
            file.flush()
            return json.loads(file.readline())

    def test_each_machine_is_lent_to_one_at_a_time_and_cleaned_before_the_next(self):
        first = {'value': {'number': 0, 'addresses': ['10.0.0.1', 'fd00::1']}}
        self.assertEqual(first, self.call('lend'))
        self.assertEqual({'value': {'number': 1, 'addresses': ['10.0.0.2']}}, self.call('lend'))
        self.assertIn('error', self.call('lend'))
        self.assertEqual({'value': None}, self.call('give_back', 0))
        self.assertEqual(['clean'], self.machines[0].asked)
        self.assertEqual(first, self.call('lend'))

    def test_command_runs_on_the_machine_that_was_named(self):
        self.assertEqual({'value': {'status': 0, 'stdout': 'said', 'stderr': ''}}, self.call('run', 1, 'ls'))
        self.assertEqual([[], ['ls']], [machine.asked for machine in self.machines])

    def test_what_went_wrong_is_told(self):
        self.assertEqual({'error': 'AssertionError: it hangs'}, self.call('run', 0, 'hang'))
        self.assertIn('KeyError', self.call('what')['error'])
