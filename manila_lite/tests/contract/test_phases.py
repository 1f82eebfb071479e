# SPDX-License-Identifier: Apache-2.0
"""Phases of operations, as shown to users, match the steps of plans."""

import testtools

from manila_lite.engine import phases
from manila_lite.manager.runtime import service as manager
from manila_lite.scheduler import service as scheduler


class Phases(testtools.TestCase):

    def test_every_step_of_a_backend_has_its_name(self):
        for plan in manager.PLANS:
            names = [step.do.__name__ for step in plan.steps]
            if len(names) > 1 or plan.kind in phases.STEPS:
                told = phases.steps(plan.kind)
                self.assertEqual(len(told), len(names), plan.kind)
                self.assertEqual(list(told), [name if do == 'step' else do for name, do in zip(told, names, strict=True)])
        self.assertLessEqual(set(phases.STEPS), {plan.kind for plan in manager.PLANS})

    def test_the_scheduler_does_one_thing(self):
        self.assertEqual({1}, {len(plan.steps) for plan in scheduler.PLANS})
        self.assertEqual(phases.PLACING, phases.now('share.create', 'scheduler', 0))
        self.assertEqual('create', phases.now('share.create', 'share', 0))

    def test_a_step_beyond_the_last_is_the_last(self):
        self.assertEqual('cut_over', phases.now('share_server.migrate', 'share', 7))
