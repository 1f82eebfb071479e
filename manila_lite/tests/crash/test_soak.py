# SPDX-License-Identifier: Apache-2.0
"""A short soak by its command, on the installed servers."""

import testtools

from manila_lite.tests.crash import soak
from manila_lite.tests.crash.deployment import Servers
from manila_lite.tests.crash.hostile import BACK, Asked, unexcused

_SECONDS = 20.0


class Soak(testtools.TestCase):
    def test_ends_clean(self):
        deployment = self.useFixture(soak.deployment_of(self.useFixture(Servers())))
        run = soak.Soak(deployment, _SECONDS, seed=1)
        problems = run.run()
        self.assertEqual([], problems, f'{run.summary()}\n{deployment.tail()}')
        self.assertGreater(run.killer.counts.total(), 0)
        self.assertTrue(any(client.promised['share'] for client in run.clients), run.summary())


class Excuses(testtools.TestCase):
    """Failures of /healthcheck that count in a hostile soak."""

    def test_what_was_slow_or_refused_is_excused_by_a_kill_near_it(self):
        kills = [(10.0, 10.5)]
        for asked, counts in (
            (Asked(9.0, 200, 0.1), False),
            (Asked(9.0, 200, 0.99), False),
            (Asked(9.5, 200, 2.0), False),
            (Asked(9.9, 0, 0.3), False),
            (Asked(11.0, 0, 0.1), False),
            (Asked(5.0, 0, 0.1), True),
            (Asked(11.0, 0, 1.5), True),
            (Asked(11.0, 200, 1.5), True),
            (Asked(11.0, 503, 0.1), True),
            (Asked(11.0 + BACK, 0, 0.1), True),
        ):
            self.assertEqual([asked] * counts, unexcused([asked], kills), asked)

    def test_once_it_answers_it_goes_on_to(self):
        asked = [Asked(11.0, 0, 0.1), Asked(12.0, 200, 0.1), Asked(13.0, 0, 0.1), Asked(21.0, 0, 0.1)]
        self.assertEqual([asked[2]], unexcused(asked, [(10.0, 10.5), (20.0, 20.5)]))
