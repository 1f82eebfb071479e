# SPDX-License-Identifier: Apache-2.0
"""The rules of a planned switch, on rows."""

import datetime
import types

import testtools

from manila_lite.db.queries import backend_machines as rows
from manila_lite.workflow.machines import Machines

NOW = datetime.datetime.fromisoformat('2026-01-01')


def row(machine, stage=rows.WAITS, *, seen=1.0, lives=10.0, **values):
    """Return the row of a machine that was seen so many seconds ago, and lives for so many."""
    return types.SimpleNamespace(
        **{
            'backend_host': 'stor@fast',
            'machine': machine,
            'stage': stage,
            'seen_at': NOW - datetime.timedelta(seconds=seen),
            'expires_at': NOW + datetime.timedelta(seconds=lives),
            'problem': None,
            'drained': False,
            **values,
        }
    )


def view(*found, owner='one/world/1/1', lease=10.0):
    """Return the view of rows of a backend whose lease this process has for so many seconds."""
    of_lease = {'lease_owner': owner, 'lease_expires_at': owner and NOW + datetime.timedelta(seconds=lease)}
    return Machines.of([types.SimpleNamespace(**vars(each), **of_lease) for each in found], NOW)


class Rules(testtools.TestCase):
    def test_machine_passes_the_backend_on_only_if_it_is_drained_and_another_one_is_ready_now(self):
        ready = {'stage': rows.READY}
        for is_drained, other, passes in (
            (True, ready, True),
            (False, ready, False),
            (True, {}, False),
            (True, ready | {'seen': 5.0}, False),
            (True, ready | {'lives': 0.0}, False),
            (True, ready | {'problem': 'no device'}, False),
            (True, ready | {'drained': True}, False),
        ):
            found = view(row('one', rows.SERVES, drained=is_drained), row('two', **other))
            self.assertEqual(passes, found.must_pass_on('one'), (is_drained, other))

    def test_drained_machine_takes_the_lease_only_if_no_other_one_could(self):
        drained = row('one', drained=True)
        for other, may in (
            ({}, False),
            ({'lives': -1.0}, True),
            ({'problem': 'no device'}, True),
            ({'drained': True}, True),
        ):
            found = view(drained, row('two', **other), owner=None)
            self.assertEqual(
                (may, True),
                (found.may_take('one'), view(drained, row('two'), owner=None).may_take('two')),
                other,
            )
        self.assertFalse(view(row('one', problem='no device'), row('two'), owner=None).may_take('one'))
        self.assertTrue(
            view(row('one', problem='no device'), row('two', drained=True), owner=None).may_take('one')
        )
        self.assertTrue(view(drained).may_take('one'))
        self.assertTrue(view().may_take('one'))

    def test_machine_attends_while_the_one_that_serves_is_drained(self):
        one, two, three = row('one', rows.SERVES, drained=True), row('two'), row('three', drained=True)
        found = view(one, two, three)
        self.assertEqual([False, True, False], [found.attends(name) for name in ('one', 'two', 'three')])
        self.assertFalse(view(one, two, owner=None).attends('two'))
        self.assertFalse(view(row('one'), two).attends('two'))

    def test_machine_serves_while_its_lease_lasts(self):
        self.assertEqual(
            [True, False], [view(row('one'), row('two')).serves(name) for name in ('one', 'two')]
        )
        self.assertFalse(view(row('one'), lease=0.0).serves('one'))
        self.assertFalse(view(row('one'), owner=None).serves('one'))
        self.assertEqual(('stor@fast', None), (view(row('one')).host, view(row('one')).row('two')))
