# SPDX-License-Identifier: Apache-2.0
"""The fence: a host that still beats, or cannot be fenced, keeps its pool."""

import itertools
import time
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.drivers.linux.failover import fence, mark
from manila_lite.host.commands import CommandFailed
from manila_lite.tests import waiting

_OTHER = mark.Mark('other', 'stor1', '/lib/a')


class FenceTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.device = Path(self.useFixture(fixtures.TempDir()).path, 'device')
        self.device.write_bytes(bytes(64 << 10))
        for name, seconds in (
            ('_STILL', 0.6),
            ('_STILL_AFTER_COMMAND', 0.6),
            ('_LETS_GO', 1.5),
            ('_BEFORE_COMMAND', 1.2),
        ):
            self.useFixture(fixtures.MonkeyPatch(f'manila_lite.drivers.linux.failover.fence.{name}', seconds))

    def settle(self, *command, state='/lib/a', name='stor2', token='mine'):
        return fence.Fence(command, 10).settle(self.device, token, state, name)

    def beats(self, *, until=lambda beat: False, token='other'):
        """Have the other host beat before each look at the mark, and let go instead if ``until`` says so."""
        read, beats = mark.read, itertools.count(1)

        def look(device):
            beat = next(beats)
            mark.write(device, mark.Mark(token, 'stor1', '/lib/a', beat, until(beat)))
            return read(device)

        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.mark.read', look))

    def test_pool_that_nobody_has_is_taken_at_once(self):
        self.assertIsNone(self.settle('/bin/false'))
        for one in (mark.Mark('mine', 'stor2', '/lib/a'), mark.Mark('other', 'stor1', '/lib/a', 4, True)):
            mark.write(self.device, one)
            self.assertEqual(one, self.settle('/bin/false'))

    def test_pool_of_a_host_that_beats_no_more_is_taken(self):
        mark.write(self.device, _OTHER)
        self.assertEqual(_OTHER, self.settle())

    def test_time_before_the_end_of_the_lease_counts(self):
        """Look at the mark while it stands still; the pool is taken at once then, also when nothing may be waited for."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.fence._GAP', waiting.LIMIT))
        mark.write(self.device, _OTHER)
        one = fence.Fence((), 10)
        waiting.until(lambda: one.observe(self.device).seconds >= 0.6, 'the mark stands still')
        looks = []
        self.useFixture(fixtures.MonkeyPatch('time.sleep', looks.append))
        self.assertEqual(_OTHER, one.settle(self.device, 'mine', '/lib/a', 'stor2'))
        self.assertEqual([], looks)

    def test_time_between_two_looks_does_not_count_if_it_is_long(self):
        """The mark may have been another one meanwhile."""
        self.useFixture(fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.fence._GAP', 0.2))
        mark.write(self.device, _OTHER)
        one = fence.Fence((), 10)
        first = one.observe(self.device).since
        waiting.until(lambda: time.monotonic() - first > 0.3, 'the pause')
        self.assertEqual(0, one.observe(self.device).seconds)

    def test_pool_of_a_host_that_beats_is_not_taken(self):
        mark.write(self.device, _OTHER)
        self.beats()
        self.assertIn('stor1 still has the pool', str(self.assertRaises(CommandFailed, self.settle)))

    def test_pool_is_taken_as_soon_as_it_is_let_go_of(self):
        mark.write(self.device, _OTHER)
        self.beats(until=lambda beat: beat > 3)
        self.assertTrue(self.settle().free)

    def test_failed_fence_command_keeps_the_pool_where_it_is(self):
        mark.write(self.device, _OTHER)
        refused = self.assertRaises(CommandFailed, self.settle, '/usr/bin/test', '{host}', '=', 'nobody')
        self.assertIn('stor1 could not be fenced', str(refused))
        self.assertIn('test stor1 = nobody', str(refused))

    def test_fence_command_is_given_the_name_of_the_host(self):
        mark.write(self.device, _OTHER)
        self.assertEqual(_OTHER, self.settle('/usr/bin/test', '{host}', '=', 'stor1'))

    def test_fence_command_that_turns_off_another_host_is_noticed(self):
        mark.write(self.device, _OTHER)
        self.beats()
        refused = self.assertRaises(CommandFailed, self.settle, '/bin/true', '{host}')
        self.assertIn('stor1 still writes', str(refused))

    def test_fence_command_ends_the_beats(self):
        off = self.device.with_name('off')
        mark.write(self.device, _OTHER)
        self.beats(until=lambda beat: off.exists())
        self.assertTrue(self.settle('/usr/bin/touch', str(off)).free)

    def test_host_does_not_fence_itself_after_its_boot(self):
        before = mark.Mark('mine.boot-1', 'stor2', '/lib/a', 9)
        mark.write(self.device, before)
        self.assertEqual(before, self.settle('/bin/false', token='mine.boot-2'))

    def test_copy_of_the_disk_of_a_host_is_another_host(self):
        """Have the other host beat with the id of this one, as after the copy of a virtual machine."""
        copied = mark.Mark('mine.boot-1', 'stor1', '/lib/a')
        mark.write(self.device, copied)
        refused = self.assertRaises(CommandFailed, self.settle, '/bin/false', token='mine.boot-2')
        self.assertIn('stor1 could not be fenced', str(refused))
        self.beats(token='mine.boot-1')
        self.assertIn(
            'stor1 still has', str(self.assertRaises(CommandFailed, self.settle, token='mine.boot-2'))
        )

    def test_two_hosts_of_one_name_are_not_fenced_by_it(self):
        mark.write(self.device, mark.Mark('other.boot', 'stor2', '/lib/a'))
        refused = self.assertRaises(CommandFailed, self.settle, '/bin/true', '{host}')
        self.assertIn('named stor2, too', str(refused))

    def test_hosts_mount_the_pool_in_the_same_folder(self):
        mark.write(self.device, _OTHER)
        self.assertIn('state_path', str(self.assertRaises(errors.Final, self.settle, state='/lib/b')))
        mark.write(self.device, mark.Mark('earlier', 'stor2', '/lib/a', 0, True))
        self.assertEqual('earlier', self.settle(state='/lib/b').token)  # this host, with a new state_path
