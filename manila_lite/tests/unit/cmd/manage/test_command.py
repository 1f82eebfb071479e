# SPDX-License-Identifier: Apache-2.0
"""Output of commands."""

import argparse
import contextlib
import datetime
import io
import json

import testtools

from manila_lite.cmd.manage.command import Call, natural


class ShowTest(testtools.TestCase):
    ROWS = [
        {'name': 'a', 'size': 10, 'more': datetime.datetime.fromisoformat('2030-01-01')},
        {'name': 'longer', 'size': None, 'more': None},
    ]

    def shown(self, form):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            Call(None, None, argparse.Namespace(format=form), None).show(('name', 'size'), self.ROWS)
        return out.getvalue()

    def test_columns_are_as_wide_as_needed(self):
        self.assertEqual('name    size\na       10\nlonger\n', self.shown('table'))

    def test_json_shows_all_fields(self):
        self.assertEqual(
            [{**self.ROWS[0], 'more': '2030-01-01 00:00:00'}, self.ROWS[1]], json.loads(self.shown('json'))
        )

    def test_natural_numbers_are_not_negative(self):
        self.assertEqual(0, natural('0'))
        for text in ('-1', 'x', '1.5'):
            self.assertRaises(ValueError, natural, text)
