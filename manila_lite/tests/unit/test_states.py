# SPDX-License-Identifier: Apache-2.0
"""Queries of the tables of states."""

import testtools

from manila_lite import states
from manila_lite.states import Crash, Verb


class Machines(testtools.TestCase):
    def test_verb_has_the_values_of_its_row(self):
        self.assertEqual(
            Verb(
                'extend', frozenset({'available'}), 'extending', 'available', 'extending_error', Crash.RETRY
            ),
            states.SHARE['extend'],
        )

    def test_create_has_no_start_status(self):
        for machine in states.MACHINES.values():
            if machine.born is None:
                self.assertEqual(frozenset(), machine['create'].allowed)
            else:
                self.assertNotIn('create', machine.verbs)

    def test_unknown_verb_raises_keyerror(self):
        self.assertRaises(KeyError, states.SHARE.__getitem__, 'fly')

    def test_statuses_include_those_of_all_verbs(self):
        self.assertLessEqual(
            {'creating', 'available', 'error', 'deleting', 'error_deleting'}, states.SHARE.statuses
        )
        self.assertNotIn(None, states.SHARE.statuses)
        self.assertIn('migrating', states.SHARE.statuses)

    def test_statuses_include_those_reached_only_by_success(self):
        kettle = states.state_machine(
            'kettle',
            'status',
            (('boil', 'cold', 'boiling', 'hot', 'broken'), ('drop', '', 'falling', None, 'bent')),
        )
        self.assertEqual({'cold', 'boiling', 'hot', 'broken', 'falling', 'bent'}, kettle.statuses)

    def test_transient_statuses_are_those_of_running_verbs(self):
        self.assertEqual(
            {
                'creating',
                'deleting',
                'restoring',
                'migrating',
                'server_migrating',
                'manage_starting',
                'unmanage_starting',
                'deferred_deleting',
            },
            states.SNAPSHOT.transient,
        )
        self.assertNotIn('available', states.SHARE.transient)
        self.assertNotIn('awaiting_transfer', states.SHARE.transient)

    def test_access_rules_have_three_statuses(self):
        self.assertEqual(['active', 'syncing', 'error'], [str(status) for status in states.Rules])
