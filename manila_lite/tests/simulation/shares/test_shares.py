# SPDX-License-Identifier: Apache-2.0
"""Histories of shares. ``$SIMULATION_SHARES`` of them, from ``$SIMULATION_SEED`` on, by default always the same.

A failure says its seed and how to see that history again.
"""

import os

from manila_lite.tests.simulation import test_simulation
from manila_lite.tests.simulation.shares.history import SharesHistory


class Histories(test_simulation.Histories):
    """As the base class, of shares."""

    kind = SharesHistory
    count = int(os.environ.get('SIMULATION_SHARES', '60'))


class FirstQuarter(Histories):
    def test_shares_quotas_and_pools_agree(self):
        self.check()


class SecondQuarter(Histories):
    part = 1

    def test_shares_quotas_and_pools_agree(self):
        self.check()


class ThirdQuarter(Histories):
    part = 2

    def test_shares_quotas_and_pools_agree(self):
        self.check()


class LastQuarter(Histories):
    part = 3

    def test_shares_quotas_and_pools_agree(self):
        self.check()


class SameSeedTest(test_simulation.SameSeedTest):
    kind = SharesHistory
