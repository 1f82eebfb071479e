# SPDX-License-Identifier: Apache-2.0
"""Reasons of the destination against the move of a share server."""

import testtools

from manila_lite.actions.share_server_migration import REQUESTS, ServerMove
from manila_lite.operation_data.migrations import Answer

_OPTIONS = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': False}


class Objections(testtools.TestCase):
    def objection(self, there, **support):
        move = ServerMove(None, 'host@there', 'network', None, (), (), (), there, _OPTIONS)
        return REQUESTS.objection(move, Answer(True, **support))

    def test_driver_of_the_destination_must_support_replicas_if_there_are_any(self):
        self.assertIsNone(self.objection(()))
        self.assertIsNone(self.objection(('a replica',), replicas=True))
        self.assertIn('replicas', self.objection(('a replica',)))
        self.assertIn('replicas', self.objection(('a replica',), replicas=False))
