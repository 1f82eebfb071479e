# SPDX-License-Identifier: Apache-2.0
"""Histories of shares: ``$SIMULATION_SHARES`` of them, from ``$SIMULATION_SEED`` on: in tools/test others with each commit.

A failure names its seed and the command to see that history again.
"""

import os

from manila_lite.tests.simulation import test_simulation
from manila_lite.tests.simulation.shares.history import SharesHistory


class Histories(test_simulation.Histories):
    kind = SharesHistory
    count = int(os.environ.get('SIMULATION_SHARES', '30'))

    def test_shares_quotas_and_pools_agree(self):
        self.check()


globals().update(test_simulation.in_parts(Histories, 4))


class SameSeedTest(test_simulation.SameSeedTest):
    kind = SharesHistory
