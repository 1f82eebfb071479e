# SPDX-License-Identifier: Apache-2.0
"""A host dies, or hangs: its share servers come up on the other host, with the same addresses, rules and locks."""

import contextlib
import shutil
import subprocess
import time
from pathlib import Path

import fixtures
import psutil

from manila_lite.drivers.linux.failover import keeper, mark
from manila_lite.drivers.linux.failover.fence import Fence
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.host import clock, commands, daemon
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import failover_base as base

#: Seconds until the record of a client's first open is on the disk, without which it may not reclaim: btrfs takes five.
_ON_DISK = 7
_WAITS, _TAKES_OVER = 'works there; waiting', 'this process takes over'


class Failover(base.FailoverTest):
    """Without a fence command."""

    def begin(self, device=None):
        """Start both share managers, and a client that writes. Return the path of its share, and the client."""
        path = super().begin()
        self.start(self.two, device=device)
        self.said(_WAITS)
        self.assertEqual([], self.two.remains())
        return path, self.writer(path)

    def moved(self, title, writer, path):
        """Check that the client goes on in time after the end of the lease, which nobody renews."""
        ended = self.lease_end()
        writer.goes_on()
        self.said(_TAKES_OVER)
        writer.goes_on()
        self.assertLess(self.show(title, writer, ended), base.WITHIN)
        self.assert_kept(writer, path)

    def test_servers_come_up_elsewhere_after_their_host_died(self):
        path, writer = self.begin()
        self.one.power_off()
        waiting.until(self.shelf.is_free, 'the pool is free')
        self.moved('host killed', writer, path)

    def test_no_acknowledged_write_is_lost_with_the_power(self):
        """Let the other host see the disk as it was at the moment of the failure, without the caches of the dead host."""
        path, writer = self.begin(device=self.shelf.spare)
        began = time.monotonic()
        self.until(lambda: time.monotonic() - began > _ON_DISK, 'the record of the client is on the disk')
        self.stop(self.one, self.one.processes())
        self.shelf.copy()
        self.one.power_off()
        waiting.until(self.shelf.is_free, 'the pool is free')
        self.shelf.lose_power()
        self.moved('power lost', writer, path)

    def test_guard_lets_go_for_a_share_manager_that_was_killed(self):
        """Kill share manager and share servers, with two programs on the pool, one of them in mounts of its own, as a
        sandbox is; start the manager again: it serves nothing.
        """
        path, writer = self.begin()
        pool = self.state / 'alpha' / 'pool'
        users = []
        for words in (
            (f'--wdns={pool}', 'sleep'),
            ('unshare', '--mount', '--propagation', 'private', 'sleep'),
        ):
            users.append(user := subprocess.Popen(self.one.inside(*words, '1000')))
            self.addCleanup(user.wait, waiting.LIMIT)
            self.addCleanup(user.kill)
        self.until(lambda: len(self.one.processes('sleep 1000')) == 2, 'two programs have the pool')
        self.assertEqual(2, len(self.one.managers()))
        self.one.signal([*self.one.managers(), *self.one.servers()], base.KILL)
        self.moved('share manager and servers killed', writer, path)
        self.assertEqual([], self.one.guards())  # nobody reaps it there
        self.assertEqual([-base.KILL] * 2, [user.wait(waiting.LIMIT) for user in users])
        self.assertEqual([], self.one.remains())
        self.start(self.one)
        self.said(_WAITS, 2)
        self.assertEqual([], self.one.remains())
        self.assertEqual([], self.one.guards())

    def test_guard_lets_go_for_a_share_manager_that_hangs(self):
        """Stop the share manager only. When it goes on, it serves nothing; when the other host dies, it serves again."""
        path, writer = self.begin()
        stopped = self.one.managers()
        self.assertEqual(2, len(stopped))
        self.stop(self.one, stopped)
        self.moved('share manager stopped', writer, path)
        self.assertEqual([], self.one.remains())
        self.one.signal(stopped, base.CONTINUE)
        self.said('stops its work there')
        self.assertEqual([], self.one.remains())
        # The lock of the first writer stays until its server forgets that client.
        more, writer = self.share(), self.writer(path, 'log-2')
        self.two.power_off()
        self.said(_TAKES_OVER, 2)
        writer.goes_on()
        self.assert_kept(writer, path)
        self.assertEqual((True, ''), self.call('friend', more, 'write', 'f', 'new'))

    def test_guard_lets_nothing_come_back_of_a_share_manager_that_hangs_in_a_change(self):
        """Stop the share manager while a new share server gets its address; the other host finishes that."""
        path, writer = self.begin()
        with self.one.busy_fabric():
            share = self.request(self.share_network())
            self.until(lambda: len(self.one.spaces()) == 2, 'another share server is being made')
            stopped = self.one.managers()
            self.stop(self.one, stopped)
            self.moved('share manager stopped in a change', writer, path)
            self.assertEqual(
                1, sum(one.is_running() and one.status() == psutil.STATUS_STOPPED for one in stopped)
            )
        server = base.server_base.address('four', 6)
        more = self.location(share, server)
        self.one.signal(stopped, base.CONTINUE)
        self.said(_WAITS, 2)
        self.assertEqual([], self.one.remains())
        self.assertEqual(
            (True, ''),
            self.until(
                lambda: self.unless_grace('friend', more, 'write', 'f', 'new', server=server),
                'the grace period is over',
            ),
        )
        self.assertEqual([], self.one.remains())


class Restart(base.FailoverTest):
    """A restart takes longer than the lease on a busy machine; a share manager that is stopped prolongs it for that."""

    def test_servers_stay_where_they_are_while_their_manager_is_restarted(self):
        """Restart the share manager, and kill the guard: clients notice nothing, and the pool is guarded again."""
        path = self.begin()
        self.start(self.two)
        self.said(_WAITS)
        writer = self.writer(path)
        (guard,) = self.one.guards()
        managers = self.one.managers()
        self.assertEqual(2, len(managers))
        for one in managers:
            one.terminate()
        self.until(lambda: not self.one.managers(), 'the share manager has ended')
        self.start(self.one)
        self.until(self.is_up, 'the API says that the backend works again')
        self.share()
        writer.goes_on(200)
        self.assertEqual([guard], self.one.guards())
        guard.kill()
        self.said('another one is started')
        writer.goes_on(200)
        self.assertNotEqual([guard], self.one.guards())
        self.share()
        self.assertEqual((1, []), (len(self.one.guards()), writer.reclaims))
        self.assertLess(writer.longest, 10, 'more than a busy machine')
        self.assertEqual([], self.two.remains())


class Refusals(base.server_base.MachineTest):
    def test_device_of_a_backend_with_several_hosts_is_refused_by_one_without_a_fence(self):
        image = self.machine.state / 'pool.img'
        with image.open('wb') as file:
            file.truncate(1 << 30)
        base.base.command('mkfs.btrfs', '--quiet', str(image))
        device = Path(base.base.command('losetup', '--find', '--show', str(image)).strip())
        self.addCleanup(base.base.mounts.detach, image)
        pool = BtrfsPool(self.machine.state / 'pool', device, 1)
        self.addCleanup(pool.close)
        mark.write(device, mark.Mark('other', 'stor1', '/lib/a', 7, True))
        refused = str(self.assertRaises(CommandFailed, pool.open))
        self.assertIn('set linux_pool_fence as on the others', refused)
        self.assertFalse(base.base.mounts.is_mounted(pool.root))
        base.base.command(*refused.partition('erase its mark: ')[2].split())
        pool.open()
        self.assertTrue(base.base.mounts.is_mounted(pool.root))
        mark.write(device, mark.Mark('other', 'stor1', '/lib/a'))
        self.assertIn('linux_pool_fence', str(self.assertRaises(CommandFailed, pool.open)))


#: A program in the place of mount(8), for a pool that takes long to mount.
_SLOW_MOUNT = """#!/bin/sh
touch {go}.asked
until [ -e {go} ]; do sleep 0.1; done
exec {mount} "$@"
"""


class Keepers(base.server_base.MachineTest):
    def keeper(self, image):
        """Return a keeper of a new pool that waits a second for its guard, and may serve."""
        with image.open('wb') as file:
            file.truncate(1 << 30)
        base.base.command('mkfs.btrfs', '--quiet', str(image))
        device = Path(base.base.command('losetup', '--find', '--show', str(image)).strip())
        self.addCleanup(base.base.mounts.detach, image)
        self.useFixture(fixtures.MonkeyPatch(f'{keeper.__name__}._MOUNTS', 1.0))
        found = keeper.Keeper(device, self.machine.state / 'alpha', '', Fence((), 1))
        self.addCleanup(found.release)
        found.take_up(clock.boottime() + 600)
        return found

    def slow_down(self):
        """Have mounts of guards wait for a file; return it."""
        folder, go = self.machine.state / 'bin', self.machine.state / 'go'
        folder.mkdir()
        (folder / 'mount').write_text(_SLOW_MOUNT.format(go=go, mount=shutil.which('mount')))
        (folder / 'mount').chmod(0o755)
        path = f'{folder}:{commands.ENV["PATH"]}'
        self.useFixture(fixtures.MonkeyPatch(f'{daemon.__name__}.ENV', {**commands.ENV, 'PATH': path}))
        return go

    def test_guard_that_mounts_a_pool_for_long_is_waited_for_by_later_tries(self):
        pool, go = self.keeper(self.machine.state / 'pool.img'), self.slow_down()
        self.assertIn('not mounted yet', str(self.assertRaises(CommandFailed, pool.acquire)))
        first = pool._guard.process()
        self.assertIn('not mounted yet', str(self.assertRaises(CommandFailed, pool.acquire)))
        self.assertEqual(first, pool._guard.process())
        go.touch()
        self.assertTrue(self.until_acquired(pool))
        self.assertEqual((first, True), (pool._guard.process(), pool.guarded))

    def test_guard_that_is_told_to_let_go_while_it_mounts_serves_nothing(self):
        pool, go = self.keeper(self.machine.state / 'pool.img'), self.slow_down()
        self.assertRaises(CommandFailed, pool.acquire)
        waiting.until(go.with_name('go.asked').exists, 'the guard mounts')
        pool._guard.process().terminate()
        go.touch()
        waiting.until(lambda: pool._guard.process() is None, 'the guard has ended')
        self.assertEqual('', pool.presence())
        self.assertFalse(base.base.mounts.is_mounted(self.machine.state / 'alpha' / 'pool'))
        self.assertNotIn('is mounted at', pool._files.log.read_text())

    def test_pool_is_let_go_of_with_a_full_disk(self):
        folder = self.machine.state / 'alpha' / 'guard'
        folder.mkdir(parents=True)
        base.base.command('mount', '-t', 'tmpfs', '-o', 'size=1m', 'full', str(folder))
        self.addCleanup(base.base.mounts.unmount, folder)
        pool = self.keeper(self.machine.state / 'pool.img')
        self.assertTrue(self.until_acquired(pool))
        with contextlib.suppress(OSError), (folder / 'filler').open('wb', buffering=0) as filler:
            while True:
                filler.write(bytes(1 << 10))
        self.assertRaises(OSError, pool.keep, clock.boottime() + 600)
        pool.leave()
        self.assertIsNone(pool._guard.process())
        self.assertFalse(base.base.mounts.is_mounted(self.machine.state / 'alpha' / 'pool'))

    def until_acquired(self, pool):
        """Try until the pool is there."""

        def acquired():
            with contextlib.suppress(CommandFailed):
                return pool.acquire()

        return waiting.until(acquired, 'the pool is mounted')


class FenceCommand(base.FailoverTest):
    """With a fence command: it fails until an administrator says that the host is off."""

    FENCE = 'command'

    def test_pool_of_a_host_that_hangs_is_taken_over_only_once_it_is_fenced(self):
        off = self.machine.state / 'off'
        command = f'linux_fence_command = /usr/bin/test,-e,{off}-{{host}}'
        path = self.begin(more=command)
        self.start(self.two, more=command)
        self.said(_WAITS)
        writer = self.writer(path)
        self.stop(self.one, self.one.processes())
        ended = self.lease_end()
        self.said('one could not be fenced, so its pool', 2)
        self.assertEqual([], self.two.remains())
        before = writer.acknowledged
        self.assertNotEqual([], self.one.mounts())
        self.one.power_off()
        (self.machine.state / 'off-one').touch()
        writer.goes_on()
        self.assertLess(before, writer.acknowledged)
        self.show('host hung, and fenced late', writer, ended)
        self.assert_kept(writer, path)
