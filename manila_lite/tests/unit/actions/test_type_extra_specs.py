# SPDX-License-Identifier: Apache-2.0

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite import errors
from manila_lite.actions import type_extra_specs

DHSS = type_extra_specs.DHSS
MIN, MAX, MOST = type_extra_specs.MIN_SIZE, type_extra_specs.MAX_SIZE, type_extra_specs.MAX_EXTEND_SIZE

#: Key, value that is sent, value that is kept.
ACCEPTED = (
    (DHSS, False, 'False'),
    (DHSS, 'true', 'true'),
    (DHSS, '<is> True', '<is> True'),
    ('snapshot_support', '<is>False', '<is>False'),
    ('mount_point_name_support', ' 1 ', '1'),
    ('availability_zones', 'nova', 'nova'),
    ('availability_zones', ' nova , az 2,nova', 'nova,az 2'),
    (MIN, 1, '1'),
    (MAX, '0100', '100'),
    (MOST, ' 7 ', '7'),
    ('replication_type', 'dr', 'dr'),
    ('encryption_support', 'share_server', 'share_server'),
    ('default_qos_type', ' gold ', 'gold'),
    ('provisioning:mount_point_prefix', 'team-a_1', 'team-a_1'),
    ('vendor:key', ' kept as it is ', ' kept as it is '),
    ('compression', True, 'True'),
    ('rank', 1.5, '1.5'),
)

REFUSED = (
    (DHSS, 'maybe'),
    (DHSS, ''),
    (DHSS, '<is>'),
    (DHSS, '<is> maybe'),
    (DHSS, 2),
    ('create_share_from_snapshot_support', 'yess'),
    ('snapshot_inherit_share_access_support', 'None'),
    ('availability_zones', ','),
    ('availability_zones', 'nova,'),
    ('availability_zones', ' '),
    (MIN, 0),
    (MIN, '-1'),
    (MIN, '1.5'),
    (MIN, True),
    (MAX, 2**31),
    (MAX, '\u0661'),
    (MOST, 'all'),
    ('replication_type', 'DR'),
    ('replication_type', 'async'),
    ('encryption_support', 'share,share_server'),
    ('default_qos_type', 'x' * 256),
    ('provisioning:mount_point_prefix', 'a/b'),
    ('provisioning:mount_point_prefix', '../'),
    ('vendor:key', ''),
    ('vendor:key', 'x' * 1024),
    ('', 'x'),
    ('a b', 'x'),
    ('a/b', 'x'),
    ('x' * 256, 'x'),
    ('key\n', 'x'),
)


class ReadTest(testtools.TestCase):
    """Values as they are kept, by the values that are sent."""

    def test_accepted_values_are_kept_in_one_form(self):
        for key, sent, kept in ACCEPTED:
            self.assertEqual({key: kept}, type_extra_specs.read({key: sent}), f'{key}={sent!r}')

    def test_bad_values_are_refused_with_the_key_in_the_message(self):
        for key, sent in REFUSED:
            error = self.assertRaises(errors.Invalid, type_extra_specs.read, {key: sent})
            self.assertTrue(str(error).startswith('extra_specs'), f'{key}={sent!r}: {error}')
            self.assertIn(repr(key) if 'the key' in str(error) else key, str(error))

    @settings(deadline=None, database=None)
    @given(
        st.sampled_from(sorted(type_extra_specs.KNOWN)), st.text(max_size=30) | st.booleans() | st.integers()
    )
    def test_kept_values_can_be_sent_again(self, key, sent):
        try:
            kept = type_extra_specs.read({key: sent})
        except errors.Invalid:
            return
        self.assertEqual(kept, type_extra_specs.read(kept))

    @settings(deadline=None, database=None)
    @given(st.lists(st.from_regex(r'\A *[a-z0-9-]{1,9} *\Z'), min_size=1, max_size=5))
    def test_zones_are_kept_without_blanks_and_in_order(self, names):
        kept = type_extra_specs.read({'availability_zones': ','.join(names)})['availability_zones'].split(',')
        self.assertEqual([name.strip() for name in dict.fromkeys(name.strip() for name in names)], kept)


class WholeTest(testtools.TestCase):
    """Rules for all extra specs of a type together."""

    def test_missing_required_extra_spec_is_refused(self):
        error = self.assertRaises(
            errors.Invalid, type_extra_specs.check_complete, {'snapshot_support': 'True'}
        )
        self.assertIn(DHSS, str(error))

    def test_minimum_size_above_the_maximum_is_refused(self):
        for large in (MAX, MOST):
            error = self.assertRaises(
                errors.Invalid, type_extra_specs.check_complete, {DHSS: 'False', MIN: '10', large: '9'}
            )
            self.assertIn(MIN, str(error))

    def test_equal_minimum_and_maximum_sizes_are_accepted(self):
        type_extra_specs.check_complete({DHSS: 'False', MIN: '10', MAX: '10', MOST: '10'})

    def test_numbers_are_compared_as_numbers(self):
        type_extra_specs.check_complete({DHSS: 'False', MIN: '9', MAX: '10'})


class VisibleTest(testtools.TestCase):
    """Extra specs of a type that users see."""

    SPECS = {
        DHSS: 'False',
        'snapshot_support': 'True',
        'vendor:secret': 'x',
        'thin_provisioning': 'True',
        MAX: '5',
        'provisioning:mount_point_prefix': 'p',
        'default_qos_type': 'gold',
        'availability_zones': 'nova',
    }

    def test_users_see_only_specs_about_share_behaviour(self):
        self.assertEqual(
            {DHSS: 'False', 'snapshot_support': 'True', MAX: '5', 'availability_zones': 'nova'},
            type_extra_specs.visible_specs(self.SPECS),
        )

    def test_unmentioned_abilities_are_returned_as_false(self):
        self.assertEqual(
            {
                'create_share_from_snapshot_support': 'False',
                'revert_to_snapshot_support': 'False',
                'mount_snapshot_support': 'False',
                'snapshot_inherit_share_access_support': 'False',
            },
            type_extra_specs.missing_abilities(self.SPECS),
        )

    def test_only_driver_handles_share_servers_is_required(self):
        self.assertEqual({DHSS: 'False'}, type_extra_specs.required_specs(self.SPECS))
        self.assertEqual({}, type_extra_specs.required_specs({'snapshot_support': 'True'}))
