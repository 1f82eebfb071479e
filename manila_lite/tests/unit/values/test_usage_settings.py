# SPDX-License-Identifier: Apache-2.0
"""Thresholds with hysteresis, and steps of growth."""

import testtools
from oslo_utils import units

from manila_lite.values import usage_settings
from manila_lite.values.usage_settings import UsageSettings

GROWING = {'usage:grow_by': '2', 'usage:grow_to': '7', 'usage:grow_at': '80'}


class Settings(testtools.TestCase):
    def test_metadata_comes_before_extra_specs_and_nonsense_counts_for_nothing(self):
        settings = UsageSettings.of(
            GROWING, {'usage:grow_to': '9', 'usage:grow_by': 'much', 'usage:warn_at': '70, 50'}
        )
        self.assertEqual(UsageSettings((50, 70), 2, 9, 80, by_owner=True), settings)
        self.assertFalse(UsageSettings.of(GROWING, {'usage:warn_at': '1'}).by_owner)
        self.assertTrue(UsageSettings.of(GROWING, {'usage:grow_at': '1'}).by_owner)
        self.assertEqual(UsageSettings(), UsageSettings.of({}, {'usage:grow_at': '0', 'usage:warn_at': ''}))
        self.assertEqual((), UsageSettings.of({'usage:warn_at': 'Never'}, {}).warn_at)

    def test_values_that_make_no_sense_are_refused(self):
        for key, values in {
            'usage:warn_at': ('', '0', '101', '80;90', '-1', '8e1'),
            'usage:grow_at': ('never', '0', '101'),
            'usage:grow_by': ('0', '-1', '1.5', '2147483648'),
            'usage:grow_to': ('0', 'all'),
        }.items():
            for value in values:
                self.assertRaises(ValueError, usage_settings.READ[key], value)
        self.assertEqual('80,90', usage_settings.READ['usage:warn_at']('80, 90'))

    def test_threshold_counts_once_until_the_share_has_fallen_well_below_it(self):
        told, seen = 0, []
        for percent in (79.9, 80, 85, 91, 89, 90, 86, 84.9, 91, 96, 50, 100):
            told = UsageSettings().threshold(percent, told)
            seen.append(told)
        self.assertEqual([0, 80, 80, 90, 90, 90, 90, 80, 90, 95, 0, 95], seen)

    def test_share_grows_in_steps_until_it_is_no_longer_full_or_has_its_largest_size(self):
        settings = UsageSettings.of(GROWING, {})
        for used, size, wanted in ((1.5, 2, 2), (1.61, 2, 4), (3.3, 2, 6), (6.9, 2, 7), (9, 7, 7), (9, 8, 8)):
            self.assertEqual(wanted, settings.size_for(int(used * units.Gi), size), (used, size))
            self.assertEqual(wanted > size, settings.is_to_grow(int(used * units.Gi), size), (used, size))
        for lacking in ('usage:grow_by', 'usage:grow_to'):
            specs = {key: value for key, value in GROWING.items() if key != lacking}
            self.assertFalse(UsageSettings.of(specs, {}).is_to_grow(2 * units.Gi, 2))
