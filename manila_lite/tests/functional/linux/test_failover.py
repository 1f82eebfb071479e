# SPDX-License-Identifier: Apache-2.0
"""A host dies, or hangs: its share servers come up on the other host, with the same addresses, rules and locks."""

from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import failover_base as base


class Failover(base.FailoverTest):
    def begin(self, **more):
        path = super().begin(**more)
        self.start(self.two)
        self.said('works there; waiting')
        self.assertEqual([], self.two.remains())
        return path

    def test_servers_come_up_elsewhere_after_their_host_died(self):
        path = self.begin()
        writer = self.writer(path)
        self.one.power_off()
        ended = self.lease_end()
        waiting.until(self.shelf.is_free, 'the pool is free', 3)
        writer.goes_on()
        self.assertLess(self.show('host killed', writer, ended), base.WITHIN)
        self.assert_kept(writer, path)
