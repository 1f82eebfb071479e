# SPDX-License-Identifier: Apache-2.0
"""The stages of a planned switch, and the reasons of refusals. For real machines see functional/linux/test_switch.py."""

import testtools

from manila_lite import errors
from manila_lite.db.queries import backend_machines as rows
from manila_lite.tests.unit.workflow.test_machines import row, view
from manila_lite.workflow import switch


class Stages(testtools.TestCase):
    def test_from_the_first_machine_to_the_second(self):
        one, two = row('one', rows.SERVES, drained=True), row('two')
        letting_go, waits = row('one', rows.LETS_GO, drained=True), row('one', drained=True)
        for found, said, ended in (
            (view(one, two), 'waiting for both machines', None),
            (view(letting_go, two), 'one ends its work and lets go', None),
            (view(waits, two, owner=None), 'between two machines', None),
            (view(letting_go, two, lease=0.0), 'between two machines', None),
            (view(waits, row('two', rows.TAKES_OVER), owner='two/w/1/1'), 'two takes over', None),
            (view(waits, row('two', rows.SERVES), owner='two/w/1/1'), 'two serves', True),
            (
                view(one, row('two', lives=0.0)),
                'no other machine waits any more; one serves until one does',
                False,
            ),
            (view(row('one', rows.SERVES), two), 'one is not drained any more', False),
        ):
            self.assertEqual((said, ended), switch.stage(found, 'one'))


class Plans(testtools.TestCase):
    def plan(self, *found, **more):
        return switch.plan(switch.Names('one', [view(*found, **more)], []))

    def test_backend_that_the_machine_serves_is_switched(self):
        self.assertEqual(1, len(self.plan(row('one'), row('two'))))
        self.assertEqual([], self.plan(row('one'), row('two'), owner='two/w/1/1'))
        self.assertEqual([], self.plan(row('one'), lease=0.0))

    def test_reasons_say_what_to_do(self):
        for others, said in (
            ((), 'one is its only machine. Start manila-share on another one'),
            ((row('two', seen=60, lives=-1.0),), 'two was last seen at 2025-12-31 23:59:00 UTC: start'),
            ((row('two', problem='no device'),), 'two has a problem: no device'),
            ((row('two', drained=True),), '"manila-manage host drain two --undo"'),
        ):
            refused = str(self.assertRaises(errors.Conflict, self.plan, row('one'), *others))
            self.assertIn(said, refused)
            self.assertIn('Nothing was changed.', refused)
