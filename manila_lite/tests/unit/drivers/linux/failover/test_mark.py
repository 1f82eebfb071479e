# SPDX-License-Identifier: Apache-2.0
"""The mark on the device of a shared pool."""

import dataclasses
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.failover import mark
from manila_lite.host.commands import CommandFailed

_SIZE = 64 << 10


class MarkTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.device = Path(self.useFixture(fixtures.TempDir()).path, 'device')
        self.device.write_bytes(bytes(_SIZE))

    def test_device_without_a_mark_has_none(self):
        self.assertIsNone(mark.read(self.device))

    def test_mark_is_read_as_it_was_written(self):
        for one in (mark.Mark('t', 'host', '/lib/a'), mark.Mark('u', 'ö', '/lib/a', 7, True)):
            mark.write(self.device, one)
            self.assertEqual(one, mark.read(self.device))

    def test_mark_changes_one_block_only(self):
        content = bytes(range(256)) * (_SIZE // 256)
        self.device.write_bytes(content)
        mark.write(self.device, mark.Mark('t', 'host', '/lib/a'))
        after = self.device.read_bytes()
        changed = [at for at in range(_SIZE) if content[at] != after[at]]
        self.assertEqual((True, True), (changed[0] >= 48 << 10, changed[-1] < 52 << 10))

    def test_mark_of_a_later_release_is_read(self):
        later = dataclasses.make_dataclass('Later', [('more', str, 'new')], bases=(mark.Mark,), frozen=True)
        mark.write(self.device, later('t', 'host', '/lib/a', 3))
        self.assertEqual(mark.Mark('t', 'host', '/lib/a', 3), mark.read(self.device))

    def test_other_data_are_no_mark(self):
        self.device.write_bytes(b'boot loader ' * (_SIZE // 12))
        refused = self.assertRaises(CommandFailed, mark.read, self.device)
        self.assertIn('not of manila_lite', str(refused))

    def test_torn_mark_is_no_mark(self):
        mark.write(self.device, mark.Mark('t', 'host', '/lib/a'))
        with self.device.open('r+b') as file:
            file.seek((48 << 10) + 100)
            file.write(b'xx')
        self.assertRaises(CommandFailed, mark.read, self.device)

    def test_missing_device_is_named(self):
        self.assertIn('nowhere', str(self.assertRaises(CommandFailed, mark.read, Path('/nowhere'))))
        self.assertIn(
            'nowhere',
            str(self.assertRaises(CommandFailed, mark.write, Path('/nowhere'), mark.Mark('t', 'h', '/'))),
        )
