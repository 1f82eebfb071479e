# SPDX-License-Identifier: Apache-2.0
"""Every status of servers and attachments can be reached and left, and clients can be shown it."""

import testtools

from manila_lite.siblings.compute import states
from manila_lite.siblings.compute.server_plans import PLANS as SERVER_PLANS
from manila_lite.siblings.compute.share_plans import PLANS as SHARE_PLANS


class MachinesTest(testtools.TestCase):
    def test_each_status_can_be_reached_and_left(self):
        for machine in states.MACHINES.values():
            starts = set().union(*(verb.allowed for verb in machine.verbs.values()))
            ends = {
                status
                for verb in machine.verbs.values()
                for status in (verb.during, verb.ok, verb.fail)
                if status
            }
            self.assertLessEqual(starts, ends)
            self.assertLessEqual({verb.ok for verb in machine.verbs.values() if verb.ok}, starts)
            self.assertLessEqual({verb.fail for verb in machine.verbs.values()}, starts)

    def test_each_server_status_has_a_status_shown_to_clients(self):
        self.assertEqual(states.SERVER.statuses, set(states.SHOWN))

    def test_attachment_statuses_are_those_of_nova(self):
        self.assertEqual(
            {'attaching', 'inactive', 'active', 'detaching', 'error'}, states.ATTACHMENT.statuses
        )
        self.assertEqual({'attaching', 'detaching'}, states.ATTACHMENT.transient)

    def test_each_verb_has_a_plan(self):
        kinds = {plan.kind for plan in SERVER_PLANS} - {'server.console'}
        self.assertEqual({f'server.{verb}' for verb in states.SERVER.verbs}, kinds)
        self.assertEqual({'attachment.attach', 'attachment.detach'}, {plan.kind for plan in SHARE_PLANS})

    def test_statuses_of_a_running_server_exclude_the_stopped_ones(self):
        self.assertEqual(
            states.SERVER.statuses - states.ON, {'building', 'stopped', 'suspended', 'error', 'deleting'}
        )
