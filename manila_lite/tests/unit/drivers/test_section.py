# SPDX-License-Identifier: Apache-2.0
"""The section of a backend is read again, all of it or nothing, and no other value changes."""

from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

import manila_lite.conf
from manila_lite import errors
from manila_lite.drivers import load, section


class SectionTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.root / 'manila.conf'
        self.write('dummy_pools = a')
        self.conf = manila_lite.conf.register(cfg.ConfigOpts())
        self.conf([f'--config-file={self.file}'], project='manila_lite')
        load.make('dummy', 'east', 'here@east', self.conf, self.root / 'state')
        self.section = section.Section(self.conf, 'east', 'here@east', self.root / 'state')

    def write(self, *lines, first='driver = dummy'):
        self.file.write_text(
            '\n'.join(('[DEFAULT]', f'state_path = {self.root}', '[east]', first, *lines, ''))
        )

    def test_nothing_changed(self):
        self.assertFalse(self.section.reread())

    def test_applied_and_waiting_options(self):
        self.write('dummy_pools = b', 'dummy_pool_size_gb = 7')
        self.assertEqual(section.Changes(('dummy_pool_size_gb',), ('dummy_pools',)), self.section.reread())
        self.assertEqual((7.0, ['a']), (self.conf.east.dummy_pool_size_gb, self.conf.east.dummy_pools))
        self.assertEqual(section.Changes((), ('dummy_pools',)), self.section.reread())

    def test_file_of_before_takes_a_change_back(self):
        for lines in (('dummy_pools = b', 'dummy_pool_size_gb = 7'), ('dummy_pools = a',)):
            self.write(*lines)
            changes = self.section.reread()
        self.assertEqual(section.Changes(('dummy_pool_size_gb',)), changes)
        self.assertEqual(1000.0, self.conf.east.dummy_pool_size_gb)

    def test_nothing_is_applied_beside_a_mistake(self):
        self.write('dummy_pools = a', 'dummy_pool_size_gb = 7', 'dummy_export_ips = nonsense')
        bad = self.assertRaises(errors.BadConfig, self.section.reread)
        self.assertEqual('[east] dummy_export_ips: nonsense is not IPv4 or IPv6 address', str(bad))
        self.assertEqual(1000.0, self.conf.east.dummy_pool_size_gb)

    def test_another_driver_needs_a_restart_and_a_missing_one_is_a_mistake(self):
        self.write(first='driver = linux')
        self.assertRaises(errors.BadConfig, self.section.reread)  # the pool of the new driver is missing
        self.write(first='')
        self.assertIn('driver: missing', str(self.assertRaises(errors.BadConfig, self.section.reread)))
        self.file.unlink()
        self.assertIn('manila.conf', str(self.assertRaises(errors.BadConfig, self.section.reread)))

    def test_references_mean_the_values_in_use(self):
        self.write('dummy_pools = a', 'share_backend_name = $state_path')
        self.file.write_text(
            self.file.read_text().replace(f'state_path = {self.root}', 'state_path = /elsewhere')
        )
        self.section.reread()
        self.assertEqual(
            (str(self.root), str(self.root)), (self.conf.east.share_backend_name, self.conf.state_path)
        )

    def test_values_of_a_later_reading_of_all_files_win(self):
        self.write('dummy_pools = a', 'dummy_pool_size_gb = 7')
        self.section.reread()
        self.write('dummy_pools = a', 'dummy_pool_size_gb = 8')
        self.conf.mutate_config_files()
        self.section.follow_files()
        self.assertEqual(8.0, self.conf.east.dummy_pool_size_gb)
        self.assertFalse(self.section.reread())

    def test_new_process_adopts_all_values_or_none(self):
        self.write('dummy_pools = b', 'dummy_pool_size_gb = 7')
        section.adopt(self.conf, 'east')
        self.assertEqual((7.0, ['b']), (self.conf.east.dummy_pool_size_gb, self.conf.east.dummy_pools))
        log = self.useFixture(fixtures.FakeLogger())
        self.write('dummy_pools = c', 'dummy_pool_size_gb = much')
        section.adopt(self.conf, 'east')
        self.assertEqual((7.0, ['b']), (self.conf.east.dummy_pool_size_gb, self.conf.east.dummy_pools))
        self.assertIn('dummy_pool_size_gb', log.output)
