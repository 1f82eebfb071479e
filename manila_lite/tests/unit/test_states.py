# SPDX-License-Identifier: Apache-2.0
"""Queries of the tables of states."""

import testtools

from manila_lite import states
from manila_lite.states import Crash, Verb


class Machines(testtools.TestCase):

    def test_a_row(self):
        self.assertEqual(Verb('extend', frozenset({'available'}), 'extending', 'available', 'extending_error', Crash.RETRY),
                         states.SHARE['extend'])

    def test_create_starts_from_nothing(self):
        for machine in states.MACHINES.values():
            if machine.born is None:
                self.assertEqual(frozenset(), machine['create'].allowed)
            else:
                self.assertNotIn('create', machine.verbs)

    def test_an_unknown_verb(self):
        self.assertRaises(KeyError, states.SHARE.__getitem__, 'fly')

    def test_statuses_are_those_of_the_verbs(self):
        self.assertLessEqual({'creating', 'available', 'error', 'deleting', 'error_deleting'}, states.SHARE.statuses)
        self.assertNotIn(None, states.SHARE.statuses)
        self.assertIn('migrating', states.SHARE.statuses)

    def test_a_status_that_only_success_leads_to_is_one(self):
        kettle = states.machine('kettle', 'status', (
            ('boil', 'cold', 'boiling', 'hot', 'broken'), ('drop', '', 'falling', None, 'bent')))
        self.assertEqual({'cold', 'boiling', 'hot', 'broken', 'falling', 'bent'}, kettle.statuses)

    def test_transient_are_those_that_work_leaves(self):
        self.assertEqual({'creating', 'deleting', 'restoring', 'migrating', 'server_migrating', 'manage_starting',
                          'unmanage_starting', 'deferred_deleting'}, states.SNAPSHOT.transient)
        self.assertNotIn('available', states.SHARE.transient)
        self.assertNotIn('awaiting_transfer', states.SHARE.transient)

    def test_rules_show_three_statuses(self):
        self.assertEqual(['active', 'syncing', 'error'], [str(status) for status in states.Rules])
