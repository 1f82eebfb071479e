# SPDX-License-Identifier: Apache-2.0

import configparser
import pathlib
import sys

import fixtures
import testtools
from oslo_config import cfg
from stevedore import extension

from manila_lite import conf, errors
from manila_lite.scheduler import filters, interface, weighers

ROOT = pathlib.Path(__file__).parents[4]
HERE = 'manila_lite.scheduler'

POINTS = {
    'filters': {
        'up': f'{HERE}.filters.up:Up',
        'capacity': f'{HERE}.filters.capacity:Capacity',
        'wrong': f'{HERE}.weighers.goodness:Goodness',
        'gone': f'{HERE}.filters.gone:Gone',
    },
    'weighers': {
        'goodness': f'{HERE}.weighers.goodness:Goodness',
        'capacity': f'{HERE}.weighers.capacity:Capacity',
    },
}


class LoadTestCase(testtools.TestCase):
    def install(self, points):
        """Put these entry points in place of those of the installed package."""
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        info = place / 'manila_lite-9999.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: manila-lite\nVersion: 9999\n')
        (info / 'entry_points.txt').write_text(
            '\n'.join(
                f'[{HERE}.{group}]\n' + '\n'.join(f'{name} = {target}' for name, target in found.items())
                for group, found in points.items()
            )
        )
        self.useFixture(fixtures.MonkeyPatch('sys.path', [str(place), *sys.path]))
        self.useFixture(fixtures.EnvironmentVariable('XDG_CACHE_HOME', str(place)))
        # The extension manager caches groups for the life of the process.
        self.useFixture(fixtures.MonkeyPatch('stevedore.extension.ExtensionManager.ENTRY_POINT_CACHE', {}))
        self.assertEqual(
            set(points['filters']), set(extension.ExtensionManager(f'{HERE}.filters').entry_points_names())
        )


class TestLoad(LoadTestCase):
    def setUp(self):
        super().setUp()
        self.install(POINTS)

    def test_filters_are_loaded_in_the_given_order(self):
        for names in (['up', 'capacity'], ['capacity', 'up']):
            found = [type(item).__name__ for item in filters.load(names)]
            self.assertEqual([name.capitalize() for name in names], found)

    def test_given_multipliers_are_used(self):
        found = weighers.load(['capacity', 'goodness'], {'goodness': 0.25})
        self.assertEqual(
            [('Capacity', 1.0), ('Goodness', 0.25)],
            [(type(item).__name__, item.multiplier) for item in found],
        )

    def refused(self, load, *names):
        return str(self.assertRaises(errors.BadConfig, load, list(names)))

    def test_refusal_of_an_unknown_name_lists_the_known_names(self):
        self.assertEqual(
            '[scheduler] filters: no such filter: upp; known: capacity, gone, up, wrong',
            self.refused(filters.load, 'up', 'upp'),
        )
        self.assertEqual(
            '[scheduler] weighers: no such weigher: up; known: capacity, goodness',
            self.refused(weighers.load, 'up'),
        )

    def test_a_name_given_twice_is_refused(self):
        self.assertEqual(
            '[scheduler] filters: up is given twice', self.refused(filters.load, 'up', 'capacity', 'up')
        )

    def test_class_that_is_not_a_filter_is_refused(self):
        self.assertIn('[scheduler] filters: wrong is no Filter but', self.refused(filters.load, 'wrong'))

    def test_filter_that_cannot_be_imported_is_refused(self):
        self.assertIn(
            '[scheduler] filters: gone cannot be loaded: No module named', self.refused(filters.load, 'gone')
        )


class TestDefaults(LoadTestCase):
    """The defaults of the options are the entry points of setup.cfg, and every file of the packages has one."""

    def setUp(self):
        super().setUp()
        setup = configparser.ConfigParser()
        setup.read(ROOT / 'setup.cfg')
        self.points = {
            group: dict(
                line.split(' = ')
                for line in setup.get('entry_points', f'{HERE}.{group}', fallback='').split('\n')
                if line
            )
            for group in ('filters', 'weighers')
        }
        self.install(self.points)
        self.options = conf.register(cfg.ConfigOpts())
        self.options([], project='manila_lite', default_config_files=[])

    def test_every_default_is_installed_and_loads(self):
        found = filters.load(self.options.scheduler.filters)
        self.assertEqual(set(self.points['filters']), set(self.options.scheduler.filters))
        self.assertTrue(all(isinstance(item, interface.Filter) for item in found))
        self.assertEqual(len(found), len({item.name for item in found}))
        self.assertEqual(set(self.points['weighers']), set(self.options.scheduler.weighers))
        self.assertEqual(len(self.points['weighers']), len(weighers.load(self.options.scheduler.weighers)))

    def test_every_file_has_an_entry_point(self):
        for group, points in self.points.items():
            modules = {target.partition(':')[0].rpartition('.')[2] for target in points.values()}
            files = {path.stem for path in (ROOT / 'manila_lite/scheduler' / group).glob('[a-z]*.py')}
            self.assertEqual(files, modules)

    def test_every_weigher_has_its_multiplier_option(self):
        for name in self.points['weighers']:
            self.assertEqual(1.0, self.options.scheduler[f'{name}_weight_multiplier'])
