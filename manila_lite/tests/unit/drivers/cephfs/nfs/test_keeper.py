# SPDX-License-Identifier: Apache-2.0
import signal
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.cephfs.nfs import addresses, keeper
from manila_lite.drivers.file_servers import fencing
from manila_lite.host.daemon import Daemon
from manila_lite.tests import waiting
from manila_lite.tests.unit.drivers.cephfs.nfs import base


class KeeperTest(testtools.TestCase):
    """The keeper of the host "me", with an interface that is a set."""

    def setUp(self):
        super().setUp()
        self.home = Path(self.useFixture(fixtures.TempDir()).path)
        self.objects, self.now, self.held = base.Objects(), 100.0, set()
        self.patch(addresses, 'take', self.take)
        self.patch(addresses, 'leave', lambda interface, wanted: self.held.difference_update(wanted))
        self.keeper = keeper.Keeper(
            keeper.KeeperTask(str(self.home), 'me', 'eth0', ['10.0.0.1'], self.objects), lambda: self.now
        )

    def take(self, interface, wanted):
        lacked = [one for one in wanted if one not in self.held]
        self.held.update(wanted)
        return lacked

    def server(self):
        """Return a process that stands for NFS-Ganesha."""
        server = Daemon(self.home / 'ganesha.json')
        server.start(['sleep', '600'], self.home / 'log', start_key='', env={})
        self.addCleanup(server.stop)
        return server

    def test_addresses_are_held_while_this_host_may_serve(self):
        self.objects.kept[keeper.HOLDER] = b'me'
        self.assertTrue(self.keeper.check())
        self.assertEqual({'10.0.0.1'}, self.held)
        self.held.clear()  # as another program may do
        self.assertTrue(self.keeper.check())
        self.assertEqual({'10.0.0.1'}, self.held)
        self.assertTrue((self.home / keeper.KEPT).exists())

    def test_everything_is_let_go_when_another_host_may_serve(self):
        server = self.server()
        self.objects.kept[keeper.HOLDER] = b'me'
        self.keeper.check()
        self.objects.kept[keeper.HOLDER] = b'other'
        self.assertFalse(self.keeper.check())
        self.assertEqual(set(), self.held)
        self.assertFalse((self.home / keeper.KEPT).exists())
        self.assertIn('another host', fencing.by(self.home))
        self.assertEqual(b'me', self.objects.kept[keeper.FREED])
        self.assertEqual(-signal.SIGKILL, server._child.wait(waiting.LIMIT))

    def test_addresses_are_removed_while_the_cluster_is_away_for_long(self):
        server = self.server()
        self.objects.kept[keeper.HOLDER] = b'me'
        self.keeper.check()
        self.objects.away = True
        self.now += 2
        self.assertTrue(self.keeper.check())
        self.assertEqual({'10.0.0.1'}, self.held)
        self.now += 3
        self.assertTrue(self.keeper.check())
        self.assertEqual(set(), self.held)
        self.assertIsNotNone(server.process())
        self.objects.away = False
        self.keeper.check()
        self.assertEqual({'10.0.0.1'}, self.held)

    def test_end_removes_the_addresses_and_leaves_the_server_alone(self):
        server = self.server()
        self.objects.kept[keeper.HOLDER] = b'me'
        self.keeper.check()
        self.keeper.end()
        self.keeper.run()
        self.assertEqual(set(), self.held)
        self.assertIsNotNone(server.process())
        self.assertEqual('', fencing.by(self.home))


class TaskTest(testtools.TestCase):
    def test_task_is_read_as_it_was_written(self):
        task = keeper.KeeperTask(
            '/home', 'me', 'eth0', ['10.0.0.1'], Objects('/etc/ceph.conf', 'ceph', 'manila', 'pool', 'space')
        )
        file = Path(self.useFixture(fixtures.TempDir()).path) / 'task'
        task.write(file)
        self.assertEqual(task.start_key, keeper.KeeperTask.read(file).start_key)
