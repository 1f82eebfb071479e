# SPDX-License-Identifier: Apache-2.0
"""Names of steps as users see them."""

import re
from pathlib import Path

import testtools

from manila_lite.engine import PLACE
from manila_lite.manager.runtime import service as manager
from manila_lite.scheduler import service as scheduler

_PAGE = Path(__file__).resolve().parents[3] / 'doc/source/user/operations.rst'


class Steps(testtools.TestCase):
    def test_scheduler_plans_have_only_the_place_step_but_an_evacuation_and_a_schedule(self):
        self.assertEqual(
            {(PLACE,), ('evacuate',), ('make', 'wait', 'retain')}, {plan.names for plan in scheduler.PLANS}
        )

    def test_user_page_lists_the_steps_of_each_operation(self):
        told = {
            kind: tuple(re.findall('``([a-z_]+)``', names))
            for kind, names in re.findall(r'^``([a-z_]+\.[a-z_]+)`` +(.*)$', _PAGE.read_text(), re.MULTILINE)
        }
        self.assertEqual(
            told,
            {plan.kind: plan.names for plan in (*manager.PLANS, *scheduler.PLANS) if len(plan.names) > 1},
        )
