# SPDX-License-Identifier: Apache-2.0
"""Histories of the engine: ``$SIMULATION_HISTORIES`` of them, from ``$SIMULATION_SEED`` on: others with each commit.

A failure names its seed and the command to see that history again. ``shares/test_shares.py`` has those of shares.
"""

import os

import testtools

from manila_lite.tests.simulation import tally
from manila_lite.tests.simulation.history import History

FIRST = int(os.environ.get('SIMULATION_SEED') or os.environ.get('MANILA_LITE_TEST_TURN', '1'))
#: The tests of a class run in one process, and a test may take ten minutes.
_PARTS = 16


class Histories:
    """Some of the histories of one kind: every one of ``parts``, beginning with number ``part``."""

    kind: type = History
    count = int(os.environ.get('SIMULATION_HISTORIES', '100'))
    part = 0
    parts = 1

    def check(self):
        """Run the histories, none of which may fail."""
        deployment = self.useFixture(self.kind.deployment_class())
        counts = tally.Tally(self.kind.must_succeed)
        for seed in range(FIRST + self.part, FIRST + self.count, self.parts):
            history = self.kind(seed, deployment)
            why = history.run()
            self.assertIsNone(why, f'{history.kind}, seed {seed}: {why}\nTo see it again: {history.again}')
            counts.add(history.model.rows.values())
        self.assertIsNone(counts.refusal())


def in_parts(histories, parts):
    """Return so many classes of tests by their names, with all these histories between them."""
    return {
        f'Part{part + 1:02}': type(
            f'Part{part + 1:02}',
            (histories, testtools.TestCase),
            {'__module__': histories.__module__, 'part': part, 'parts': parts},
        )
        for part in range(parts)
    }


class EngineHistories(Histories):
    def test_all_operations_end_as_they_may(self):
        self.check()


globals().update(in_parts(EngineHistories, _PARTS))


class SameSeedTest(testtools.TestCase):
    kind = History
    seeds = 5

    def test_a_seed_has_one_history(self):
        deployment = self.useFixture(self.kind.deployment_class())
        for seed in range(FIRST, FIRST + self.seeds):
            first, second = self.kind(seed, deployment), self.kind(seed, deployment)
            first.run()
            second.run()
            self.assertEqual(first.trace, second.trace)

    def test_seeds_have_different_histories(self):
        deployment = self.useFixture(self.kind.deployment_class())
        first, second = self.kind(FIRST, deployment), self.kind(FIRST + 1, deployment)
        first.run()
        second.run()
        self.assertNotEqual(first.trace, second.trace)
