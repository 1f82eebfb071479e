# SPDX-License-Identifier: Apache-2.0
"""The gateway moves to another host: with its address, its exports and its clients."""

import time

from manila_lite.drivers.cephfs.nfs import keeper
from manila_lite.drivers.file_servers import fencing
from manila_lite.host.daemon import Daemon
from manila_lite.tests import waiting
from manila_lite.tests.functional.ceph import host, nfs_base
from manila_lite.tests.functional.linux import base
from manila_lite.tests.security import nfs4

#: Seconds for the move. The lease of the backend, of which [operations] says how long it is, comes before that.
_WITHIN = 10.0


class Failover(nfs_base.GatewayTest):
    """Two hosts of one backend."""

    def setUp(self):
        super().setUp()
        self.other = self.host('other')
        self.made = self.share()
        self.grant(self.made, (self.one, 'rw'))
        self.works('one', self.made, 'write', 'f', 'before')
        client = self.raw('one')
        self.file = client.lookup(client.walk('shares', self.made.id), 'f')

    def writes(self, content):
        """Write by the file handle that the client has had all along."""
        client = nfs4.Client(self.fabric.v4('gateway'), netns=self.fabric.name('one'))
        try:
            client.write(self.file, content)
            return client.read(self.file, len(content)) == content
        finally:
            client.close()

    def await_write(self, content):
        def writes():
            try:
                return self.writes(content)
            except (OSError, nfs4.Refused) as bad:
                tried.append(f'{type(bad).__name__} {bad}')
                return False

        tried = []
        waiting.until(writes, lambda: f'the client writes: {tried[-1:]}', pause=0.05)

    def process(self, name, record='ganesha.json'):
        return Daemon(self.state / name / record).process()

    def take_over(self, taker):
        """Have a host take over; return the seconds until a client writes again."""
        began = time.monotonic()
        taker.call('setup')
        self.await_write(b'by the other host')
        return time.monotonic() - began

    def give_back(self):
        """Have the first host take over again, with another share manager; return the seconds."""
        self.nas.kill()
        self.other.kill()
        type(self).nas = self.host('nas')
        return self.take_over(self.nas)

    def test_host_that_lives_lets_go_and_gets_the_gateway_back(self):
        """The share manager of the first host died, or lost the database; its gateway still runs."""
        self.nas.kill()
        self.assertLess(self.take_over(self.other), _WITHIN)
        self.assertNotIn(self.fabric.v4('gateway') + '/', self.addresses('nas'))
        self.assertNotIn(self.fabric.v6('gateway') + '/', self.addresses('nas'))
        self.assertIsNone(self.process('nas'))
        waiting.until(lambda: self.process('nas', 'keeper.pid') is None, 'the keeper has ended')
        self.assertTrue(fencing.by(self.state / 'nas'))
        self.assertEqual([], self.other.call('ensure', self.made, [(self.one, 'rw')]))
        self.refused('NOENT', 'two', self.made, 'list')
        self.assertLess(self.give_back(), _WITHIN)
        self.assertIn(self.fabric.v4('gateway') + '/', self.addresses('nas'))
        self.assertNotIn(self.fabric.v4('gateway') + '/', self.addresses('other'))

    def test_host_that_dies_is_replaced_within_ten_seconds(self):
        self.grant(self.made, (self.one, 'rw'), (self.fabric.v4('two'), 'ro'))
        self.nas.kill()
        base.ip('-n', self.fabric.name('fabric'), 'link', 'set', 'p-nas', 'down')
        base.power_off(self.state / 'nas', ())
        self.forget_addresses('nas')
        self.assertLess(self.take_over(self.other), _WITHIN)
        self.assertEqual('by the other host', self.works('two', self.made, 'read', 'f'))
        self.assertEqual('by the other host', self.works('one', self.made, 'read', 'f'))
        self.refused('ROFS', 'two', self.made, 'write', 'f', 'no')
        base.ip('-n', self.fabric.name('fabric'), 'link', 'set', 'p-nas', 'up')
        self.give_back()

    def test_share_manager_that_lost_the_gateway_does_not_start_it_again(self):
        self.assertLess(self.take_over(self.other), _WITHIN)
        waiting.until(lambda: self.process('nas', 'keeper.pid') is None, 'the keeper has ended')
        refused = self.assertRaises(host.Refused, self.grant, self.made)
        self.assertIn('moved away', str(refused))
        self.assertIsNone(self.process('nas'))
        self.assertTrue(self.writes(b'still open to the client'))
        self.give_back()
        self.assertEqual([None], self.grant(self.made, (self.one, 'rw')))
        self.assertTrue((self.state / 'nas' / keeper.KEPT).exists())
