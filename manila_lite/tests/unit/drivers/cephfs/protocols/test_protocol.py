# SPDX-License-Identifier: Apache-2.0
"""What fails while a client is shut out."""

import testtools

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.protocols.protocol import tried_until_done


class TriedUntilDone(testtools.TestCase):
    def test_whatever_fails_is_tried_again_for_ever(self):
        for bad in (AttributeError('x'), Away('x'), errors.Final('x'), errors.Again(3.0, 'x')):
            raised = self.assertRaises(errors.Again, self.fail_with, bad)
            self.assertIn('x', str(raised))

    @staticmethod
    def fail_with(bad):
        with tried_until_done('share'):
            raise bad
