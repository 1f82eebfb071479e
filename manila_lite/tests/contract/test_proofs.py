# SPDX-License-Identifier: Apache-2.0
"""Every call of the contract is proved by a test, and the page of proofs is right."""

import testtools

from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import proofs


class Proofs(testtools.TestCase):
    def test_each_call_has_a_proof(self):
        missing = sorted({proofs.label(op) for op in CALLS if proofs.proof(op) is None})
        self.assertEqual(
            [],
            missing,
            'give them a request in tests/functional/gabbits, or a line in tests/functional/proofs.py',
        )

    def test_named_files_contain_the_request_of_their_call(self):
        files = {proofs.label(op): (op, proofs.proof(op)) for op in CALLS}
        self.assertEqual(
            [],
            [
                (line, file)
                for line, (op, file) in files.items()
                if file and ':' not in file and not proofs.is_named_in(op, file)
            ],
        )

    def test_most_proofs_are_computed(self):
        """Most proofs are computed, so that the table of names does not become the proof."""
        computed = [op for op in CALLS if ':' in (proofs.proof(op) or '')]
        self.assertLess(len(CALLS) * 3 // 4, len(computed))
