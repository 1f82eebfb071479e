# SPDX-License-Identifier: Apache-2.0
"""Held rows of share networks, so that no share is added while a share or share server is unmanaged."""

import re

from manila_lite.tests.factories import networks
from manila_lite.tests.functional import refused
from manila_lite.tests.functional.api.test_budgets import counting


class Held(refused.Refusing):
    """The order of statements: it alone keeps transactions apart where the database runs them beside each other."""

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            [(self.network, *_, self.server)] = networks.make(conn, 1)

    def statements(self, path):
        """Return the statements of a request to unmanage, in order."""
        with counting(self.service.services.db.engine) as counter:
            self.admin.ok('POST', f'{path}/action', {'unmanage': None})
        return [text.replace('"', '').replace('`', '') for text in counter.asked()]

    def held_before(self, pattern, path):
        """Check that the network's row is held before the first statement that matches the pattern."""
        seen = self.statements(path)
        [held, *_], [other, *_] = (
            [place for place, text in enumerate(seen) if re.match(what, text, re.DOTALL)] or [None]
            for what in (r'UPDATE share_networks SET .*created_at=share_networks\.created_at', pattern)
        )
        self.assertNotIn(None, (held, other), seen)
        self.assertLess(held, other, seen)

    def test_network_row_is_locked_before_a_share_is_unmanaged(self):
        self.type('on servers', driver_handles_share_servers='True')
        share = self.share(share_type='on servers', share_network_id=self.network)
        self.share_is(share, share_server_id=self.server)
        self.all_done()
        self.held_before('UPDATE share_instances', f'/shares/{share}')

    def test_network_row_is_locked_before_shares_of_an_unmanaged_server_are_read(self):
        self.held_before(r'SELECT .*share_instances', f'/share-servers/{self.server}')
