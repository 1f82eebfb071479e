# SPDX-License-Identifier: Apache-2.0
"""Drivers whose calls are passed on to their parts."""

import types

import testtools

from manila_lite.drivers.passing_on import passes_on


class PassesOn(testtools.TestCase):
    def test_method_after_a_call_is_called_after_that_call_only(self):
        done = []
        shares = types.SimpleNamespace(
            create=lambda: done.append('create'), delete=lambda: done.append('delete')
        )
        parts = types.SimpleNamespace(shares=shares, commit=lambda: done.append('commit'))
        kind = passes_on(
            {'create_share': 'shares.create', 'delete_share': 'shares.delete'},
            then='commit',
            after=('create_share',),
        )(type('Driver', (), {'parts': parts}))
        kind().create_share()
        kind().delete_share()
        self.assertEqual(['create', 'commit', 'delete'], done)

    def test_unknown_name_is_an_error(self):
        error = self.assertRaises(
            TypeError, passes_on, {'create_share': 'shares.create'}, then='commit', after=('creat_share',)
        )
        self.assertIn('creat_share', str(error))
