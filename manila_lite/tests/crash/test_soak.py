# SPDX-License-Identifier: Apache-2.0
"""A short soak: the command, on what is there."""

import testtools

from manila_lite.tests.crash import soak
from manila_lite.tests.crash.deployment import Servers

_SECONDS = 20.0


class Soak(testtools.TestCase):

    def test_ends_clean(self):
        deployment = self.useFixture(soak.deployment_of(self.useFixture(Servers())))
        run = soak.Soak(deployment, _SECONDS, seed=1)
        problems = run.run()
        self.assertEqual([], problems, f'{run.summary()}\n{deployment.tail()}')
        self.assertGreater(run.killer.counts.total(), 0)
        self.assertTrue(any(client.promised['share'] for client in run.clients), run.summary())
