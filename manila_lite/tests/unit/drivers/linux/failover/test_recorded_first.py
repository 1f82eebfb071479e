# SPDX-License-Identifier: Apache-2.0
"""Whoever takes a pool, or a share server, away from this host first records it: what goes on here meanwhile sees that.

A record that comes after the end leaves a moment in which a share manager that hung makes an address again.
"""

import threading
import time
import types
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.failover import guard, mark
from manila_lite.drivers.linux.failover.keeper import Keeper
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.tests import waiting


def _soon():
    return time.clock_gettime(time.CLOCK_BOOTTIME) + 600


class PoolTest(testtools.TestCase):
    """Each way in which a guard, or a share manager, lets go of the pool."""

    def setUp(self):
        super().setUp()
        state = Path(self.useFixture(fixtures.TempDir()).path)
        self.device = state / 'device'
        self.device.write_bytes(bytes(64 << 10))
        self.task = FailoverTask(str(self.device), str(state), 'no-such-fabric', 'mine.boot', 'None')
        self.files = self.task.files
        self.files.token()  # makes the folder
        self.files.allow_until(_soon())
        self.seen = []
        self.replace(guard.Guard, '_mount', lambda guard: None)
        self.replace(guard, 'let_go', self.let_go)
        self.replace(Keeper, '_let_go', lambda keeper: self.let_go())

    def replace(self, owner, name, by):
        self.useFixture(
            fixtures.MonkeyPatch(
                f'{owner.__module__}.{owner.__name__}.{name}'
                if isinstance(owner, type)
                else f'{owner.__name__}.{name}',
                by,
            )
        )

    def let_go(self, *_, **__):
        """Note what the files and the device say while the pool is let go of."""
        found = mark.read(self.device)
        self.seen.append(
            (self.files.fenced.exists(), self.files.serving.exists(), bool(found and found.free))
        )

    def serving(self):
        """Return a guard that serves, in a thread, and this."""
        one = guard.Guard(self.task)
        thread = threading.Thread(target=one.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(one.end)
        waiting.until(self.files.serving.exists, 'the guard serves')
        return one, thread

    def oust(self, one):
        """Have another host write its mark until the guard has seen it: a beat may replace the first."""

        def seen():
            mark.write(self.device, mark.Mark('other.boot', 'stor1', '/lib/a'))
            return one._ousted.is_set()

        waiting.until(seen, 'the guard sees the mark')

    def test_by_a_guard(self):
        ways = {
            'told': lambda one: one.end(),
            'the lease is over': lambda one: self.files.allow_until(0),
            'ousted': self.oust,
        }
        for number, (way, end) in enumerate(ways.items(), 1):
            self.files.fenced.unlink(missing_ok=True)
            self.files.allow_until(_soon())
            one, thread = self.serving()
            end(one)
            thread.join(waiting.LIMIT)
            self.assertEqual([(True, False, False)] * number, self.seen, way)
            self.assertEqual(way != 'ousted', mark.read(self.device).free, way)

    def test_by_a_guard_for_what_another_one_left(self):
        self.files.begin_to_serve()
        mark.write(self.device, self.task.marked())
        guard.Guard(self.task).leave()
        self.assertEqual([(True, False, False)], self.seen)
        self.assertTrue(mark.read(self.device).free)

    def test_by_a_share_manager_for_another_host(self):
        self.files.left.write_text('["s"]')
        Keeper(self.device, Path(self.task.state), 'no-such-fabric', None).leave()
        self.assertEqual([True], [fenced for fenced, _, _ in self.seen])


class ServerTest(testtools.TestCase):
    def test_share_server_is_halted_after_the_note_that_it_moves(self):
        state = Path(self.useFixture(fixtures.TempDir()).path)
        folder = state / 'servers' / 'one'
        folder.mkdir(parents=True)
        seen = []
        self.useFixture(
            fixtures.MonkeyPatch(
                'manila_lite.drivers.linux.servers.share_servers.ShareServers._halt',
                lambda servers, server_id: seen.append(fencing.by(folder)),
            )
        )
        servers = ShareServers(state, types.SimpleNamespace(linux_fabric_netns='no-such-fabric'), None)
        self.assertFalse(servers.fence('one', 'a-migration'))
        self.assertTrue(servers.fence('one', 'a-migration'))
        self.assertEqual(['a-migration'] * 2, seen)
