# SPDX-License-Identifier: Apache-2.0
"""The field ``shares``: its schema, paths, conflicts, and the shares of a node."""

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite import errors
from manila_lite.api.framework import fields
from manila_lite.siblings.dataproc import paths, validation

ONE, TWO = '0b0b0b0b-0000-4000-8000-000000000001', '0b0b0b0b-0000-4000-8000-000000000002'
_CHECK = fields.compiled({'type': 'object', 'properties': {'shares': validation.SCHEMA}})


class SchemaTest(testtools.TestCase):
    """Values that the specification's schema accepts and refuses."""

    def refuses(self, *shares):
        self.assertRaises(errors.Invalid, fields.check, _CHECK, {'shares': list(shares)})

    def test_valid_shares_are_accepted(self):
        for share in (
            {'id': ONE},
            {'id': ONE, 'path': None},
            {'id': ONE, 'path': '/x', 'access_level': 'ro'},
        ):
            fields.check(_CHECK, {'shares': [share]})

    def test_invalid_shares_are_refused(self):
        for share in (
            {},
            {'path': '/x'},
            {'id': 'x'},
            {'id': 1},
            {'id': ONE, 'access_level': None},
            {'id': ONE, 'access_level': 'RW'},
            {'id': ONE, 'path': 1},
            {'id': ONE, 'more': 1},
            [],
            ONE,
            None,
        ):
            self.refuses(share)


class PathsTest(testtools.TestCase):
    """Paths where a share may be mounted."""

    def test_paths_are_normalised(self):
        for given_, wanted in (
            ('/a', '/a'),
            ('//a///b/', '/a/b'),
            ('/a b;"\'$(x)`', '/a b;"\'$(x)`'),
            ('/é/ü', '/é/ü'),
            ('/mnt/...', '/mnt/...'),
            ('/etcetera', '/etcetera'),
            ('/mnt/etc', '/mnt/etc'),
            ('/home/data', '/home/data'),
            ('/var/www', '/var/www'),
            ('/variable', '/variable'),
            ('/srv', '/srv'),
            ('/mnt', '/mnt'),
        ):
            self.assertEqual(wanted, paths.normal(given_))

    def test_wrong_paths_are_refused(self):
        for path in (
            '',
            'a',
            'mnt/x',
            './x',
            '/',
            '//',
            '/.',
            '/a/..',
            '/a/../b',
            '/a/./b',
            '/a\0b',
            '/a\nb',
            '/a\rb',
            '/a\x7f',
            '/a\x1b[2J',
            '/a\u2028b',
            '/a\x85b',
            '/a\udce9',
            f'/{"a" * 256}',
            f'/{"ü" * 128}',
            '/a' * 2048,
            '/etc',
            '/etc/',
            '//etc',
            '/etc/x',
            '/proc/1',
            '/sys',
            '/dev/shm',
            '/boot',
            '/usr/local',
            '/bin',
            '/sbin',
            '/lib',
            '/lib64/x',
            '/lib32',
            '/run/x',
            '/root/x',
            '/var',
            '/var/',
            '/home',
            '//home//',
            '/opt',
            '/tmp',
            '/var/lib',
            '/var/log',
            '/var/run',
        ):
            self.assertRaises(errors.Invalid, paths.normal, path)

    def test_longest_paths_are_accepted(self):
        self.assertEqual(255, len(paths.normal(f'/{"a" * 255}')) - 1)
        self.assertEqual(4094, len(paths.normal('/a' * 2047)))

    @settings(deadline=None, database=None)
    @given(st.text(max_size=40))
    def test_normalised_paths_are_absolute_and_stay_unchanged(self, text):
        try:
            normal = paths.normal(text)
        except errors.Invalid:
            return
        self.assertEqual(normal, paths.normal(normal))
        self.assertTrue(normal.startswith('/'))
        self.assertFalse({'', '.', '..'} & set(normal.split('/')[1:]))

    @settings(deadline=None, database=None)
    @given(st.lists(st.lists(st.sampled_from(['a', 'a b', 'a!', 'b']), min_size=1, max_size=4), max_size=6))
    def test_nested_and_equal_paths_clash_in_any_order(self, parts):
        paths_of_parts = [f'/{"/".join(one)}' for one in parts]
        there = any(
            paths.within(inner, outer)
            for number, inner in enumerate(paths_of_parts)
            for other, outer in enumerate(paths_of_parts)
            if number != other
        )
        clash = paths.clash(paths_of_parts)
        self.assertEqual(there, clash is not None)
        if clash:
            self.assertTrue(paths.within(clash[1], clash[0]))


class SharesTest(testtools.TestCase):
    """Lists of shares."""

    def test_shares_get_their_defaults(self):
        self.assertEqual(
            [
                {'id': ONE, 'path': f'/mnt/{ONE}', 'access_level': 'rw'},
                {'id': TWO, 'path': '/x', 'access_level': 'ro'},
            ],
            validation.normal(
                [
                    {'id': ONE.upper(), 'path': None},
                    {'id': TWO.replace('-', ''), 'path': '/x/', 'access_level': 'ro'},
                ]
            ),
        )
        self.assertEqual([], validation.normal(None))

    def refused(self, *shares):
        return str(self.assertRaises(validation.InvalidData, validation.normal, list(shares)))

    def test_conflicting_shares_are_refused(self):
        self.assertIn('named twice', self.refused({'id': ONE}, {'id': ONE.upper(), 'path': '/x'}))
        self.assertIn(
            "'/x' is used twice", self.refused({'id': ONE, 'path': '/x/'}, {'id': TWO, 'path': '//x'})
        )
        self.assertIn(
            "'/x/y' is inside '/x'", self.refused({'id': ONE, 'path': '/x/y'}, {'id': TWO, 'path': '/x'})
        )
        self.assertIn('used twice', self.refused({'id': ONE, 'path': f'/mnt/{TWO}'}, {'id': TWO}))
        self.assertIn("inside '/mnt'", self.refused({'id': ONE, 'path': '/mnt'}, {'id': TWO}))
        self.assertIn('shares[1].path', self.refused({'id': ONE}, {'id': TWO, 'path': 'x'}))

    def test_shares_of_the_cluster_override_those_of_the_group(self):
        cluster = validation.normal([{'id': ONE, 'path': '/x', 'access_level': 'ro'}])
        group = validation.normal([{'id': ONE, 'path': '/y'}, {'id': TWO}])
        self.assertEqual([*cluster, group[1]], validation.effective(cluster, group))
        self.assertEqual(group, validation.effective(None, group))
        self.assertEqual(cluster, validation.effective(cluster, None))

    def test_group_and_cluster_are_checked_together(self):
        cluster = validation.normal([{'id': ONE, 'path': '/x'}])
        fine = validation.normal([{'id': ONE, 'path': '/y'}])  # the share of the cluster is used
        bad = validation.normal([{'id': TWO, 'path': '/x/below'}])
        validation.check_groups(cluster, [('a', fine), ('b', None)])
        error = self.assertRaises(
            validation.InvalidData, validation.check_groups, cluster, [('a', fine), ('b', bad)]
        )
        self.assertIn('node group b', str(error))
