# SPDX-License-Identifier: Apache-2.0
"""Drivers are found by name, and a section that cannot work is refused with a line for each mistake."""

import sys
from pathlib import Path

import fixtures
import testtools
from oslo_config import cfg

from manila_lite import errors
from manila_lite.drivers import interface, load
from manila_lite.drivers.dummy.driver import DummyDriver

ODD_ENTRIES = """\
[manila_lite.share.drivers]
gone = manila_lite.drivers.no_such_module:Driver
nameless = manila_lite.drivers.dummy.driver:NoSuchDriver
odd = json:JSONDecoder
needy = manila_lite.tests.unit.drivers.test_load:NeedyDriver
"""


class NeedyDriver(DummyDriver):
    OPTIONS = (*DummyDriver.OPTIONS, cfg.StrOpt('needed', required=True, help='Say what is needed.'))


class LoadTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)

    def _make(self, section: str, name: str = 'dummy') -> interface.ShareDriver:
        file = self.root / 'manila.conf'
        file.write_text(f'[east]\n{section}\n')
        conf = cfg.ConfigOpts()
        conf([], project='manila_lite', default_config_files=[str(file)])
        return load.make(name, 'east', 'here@east', conf, self.root / 'state')

    def _refused(self, section: str, name: str = 'dummy') -> list[str]:
        return str(self.assertRaises(errors.BadConfig, self._make, section, name)).splitlines()

    def _install_odd_ones(self) -> None:
        info = self.root / 'odd-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n')
        (info / 'entry_points.txt').write_text(ODD_ENTRIES)
        sys.path.insert(0, str(self.root))
        self.addCleanup(sys.path.remove, str(self.root))
        # stevedore caches the entry points for the life of the process.
        self.useFixture(fixtures.MonkeyPatch('stevedore.extension.ExtensionManager.ENTRY_POINT_CACHE', {}))

    def test_every_installed_driver_is_listed(self):
        self.assertLessEqual({'dummy', 'linux'}, set(load.names()))

    def test_class_by_name(self):
        self.assertIs(DummyDriver, load.load_class('dummy'))

    def test_driver_is_made_from_its_section(self):
        driver = self._make('dummy_pools = slow, fast')
        self.assertEqual(('east', 'here@east'), (driver.backend.name, driver.backend.host))
        self.assertEqual(['slow', 'fast'], driver.backend.conf.dummy_pools)
        self.assertFalse((self.root / 'state').exists(), 'making a driver wrote to disk')

    def test_section_decides_whether_share_servers_are_handled(self):
        for text, handles in (('', False), ('driver_handles_share_servers = true', True)):
            driver = self._make(text)
            self.assertIs(handles, driver.HANDLES_SHARE_SERVERS)
            self.assertIs(handles, interface.capabilities_of(driver)['driver_handles_share_servers'])
        (line,) = self._refused('driver_handles_share_servers = perhaps')
        self.assertIn('[east] driver_handles_share_servers', line)

    def test_one_driver_can_serve_several_backends(self):
        conf = cfg.ConfigOpts()
        conf([], project='manila_lite', default_config_files=[])
        made = [
            load.make('dummy', name, f'here@{name}', conf, self.root / name)
            for name in ('east', 'west', 'east')
        ]
        self.assertEqual(['east', 'west', 'east'], [driver.backend.name for driver in made])

    def test_unknown_driver_is_refused_with_the_known_names(self):
        (line,) = self._refused('', 'dumy')
        self.assertIn('driver = dumy: no such driver', line)
        self.assertIn(', '.join(load.names()), line)

    def test_unusable_drivers_are_refused_with_the_reason(self):
        self._install_odd_ones()
        for name, why in (
            ('gone', 'no_such_module'),
            ('nameless', 'NoSuchDriver'),
            ('odd', 'is not a ShareDriver'),
        ):
            (line,) = self._refused('', name)
            self.assertIn(f'driver = {name}: ', line)
            self.assertIn(why, line)

    def test_missing_required_option_is_refused_with_its_help(self):
        self._install_odd_ones()
        self.assertEqual(['[east] needed: missing; Say what is needed.'], self._refused('', 'needy'))
        self.assertEqual('a', self._make('needed = a', 'needy').backend.conf.needed)

    def test_unreadable_values_are_refused_with_one_line_each(self):
        lines = self._refused('dummy_pool_size_gb = much\ndummy_export_ips = 10.0.0.1, nowhere')
        self.assertEqual(2, len(lines), lines)
        self.assertTrue(lines[0].startswith('[east] dummy_pool_size_gb: '), lines)
        self.assertTrue(lines[1].startswith('[east] dummy_export_ips: '), lines)

    def test_each_problem_is_one_line_with_its_hint(self):
        lines = self._refused('dummy_pools =\ndummy_knobs = create_share:explode, no_such_call:fail')
        self.assertEqual('[east] dummy_pools is empty: name at least one', lines[0])
        self.assertIn("'create_share:explode' is no knob", lines[1])
        self.assertIn("'no_such_call:fail' is no knob", lines[2])

    def test_unwritable_state_directory_is_refused(self):
        (self.root / 'state').write_text('in the way')
        (line,) = self._refused('')
        self.assertIn(f'{self.root / "state"} is not a directory that can be written', line)
