# SPDX-License-Identifier: Apache-2.0
"""Values that clients really send, parsed as they are meant; all others are a ValueError."""

import collections
import datetime

import orjson
import testtools
from hypothesis import given, settings, strategies

from manila_lite.api.framework import fields, shapes

_PLAIN = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text()
)
_PAIRS = strategies.dictionaries(strategies.text(), strategies.text() | strategies.integers(), max_size=3)
_WORDS = strategies.sampled_from(
    ('7', 'on', 'No', '{"a": 1}', "{'a': 'b'}", '2026-01-31', '2026-01-31T12:00:00Z', 'A')
)
JSON = (
    _PLAIN
    | _PAIRS
    | _WORDS
    | strategies.recursive(
        _PLAIN,
        lambda inner: (
            strategies.lists(inner, max_size=3)
            | strategies.dictionaries(strategies.text(), inner, max_size=3)
        ),
    )
)


def moment(*parts):
    """Return a time without a zone, as rows of the database have it."""
    return datetime.datetime(*parts)  # noqa: DTZ001


class Shapes(testtools.TestCase):
    def test_whole_numbers_are_read_and_large_ones_refused(self):
        for value in (5, '5', ' 5 ', '05', 5.0):
            self.assertEqual(5, shapes.integer(value))
        for value in (2**31, '2147483648', -(2**31), 'x', '', '1e3', '5.0'):
            self.assertRaises(ValueError, shapes.integer, value)

    def test_words_for_yes_and_no_are_flags(self):
        for value in (True, 'true', 'True', '1', 1, 'yes', 'on', 't', 'Y'):
            self.assertIs(True, shapes.flag(value))
        for value in (False, 'false', '0', 0, 'no', 'off', 'f', 'n'):
            self.assertIs(False, shapes.flag(value))
        for value in ('maybe', '', '2', 2):
            self.assertRaises(ValueError, shapes.flag, value)

    def test_pairs_are_read_from_json_and_python(self):
        for value in ('{"a": "b"}', "{'a': 'b'}", "{u'a': u'b'}", {'a': 'b'}):
            self.assertEqual({'a': 'b'}, shapes.pairs(value))
        self.assertEqual({'a': '1', '2': 'True'}, shapes.pairs("{'a': 1, 2: True}"))
        for value in (
            'a=b',
            '[]',
            '{"a": []}',
            '{"a"',
            '',
            'a',
            '__import__("os")',
            '{' * 5000,
            '"' + 'x' * 5000 + '"',
            '[' * 4000,
            '{"a": null}',
        ):
            self.assertRaises(ValueError, shapes.pairs, value)

    def test_times_are_read_as_utc(self):
        self.assertEqual(moment(2026, 1, 31, 11, 0), shapes.time('2026-01-31T12:00:00+01:00'))
        self.assertEqual(moment(2026, 1, 31, 12, 0), shapes.time('2026-01-31T12:00:00'))
        self.assertEqual(moment(2026, 1, 31), shapes.time('2026-01-31'))
        for value in ('yesterday', '', '2026-13-01', '2026-02-30', '0000-00-00T00:00:00'):
            self.assertRaises(ValueError, shapes.time, value)

    def test_one_of_ignores_case_and_refuses_other_words(self):
        parse = shapes.one_of('asc', 'desc')
        self.assertEqual('asc', parse('ASC'))
        self.assertIn('asc, desc', str(self.assertRaises(ValueError, parse, 'up')))

    def test_parsers_return_their_type_or_raise_a_known_error(self):
        """A parser returns a value of its kind or raises one of these errors, which become a 400, for any JSON."""
        parsed = collections.Counter()

        @settings(derandomize=True, deadline=None, database=None, max_examples=300)
        @given(JSON)
        def anything(value):
            for kind, parse in (
                (int, shapes.integer),
                (bool, shapes.flag),
                (dict, shapes.pairs),
                (datetime.datetime, shapes.time),
                (str, shapes.one_of('a', '0')),
            ):
                try:
                    found = parse(value)
                except (ValueError, TypeError, OverflowError):
                    parsed['refused', kind] += 1
                else:
                    self.assertIs(kind, type(found), value)
                    self.assert_in_bounds(found)
                    parsed['read', kind] += 1

        anything()
        for kind in (int, bool, dict, datetime.datetime, str):
            self.assertTrue(parsed['read', kind], f'nothing was read as {kind}')
            self.assertTrue(parsed['refused', kind], f'nothing was refused as {kind}')

    def assert_in_bounds(self, found):
        if isinstance(found, dict):
            self.assertLessEqual({type(part) for pair in found.items() for part in pair}, {str})
        elif isinstance(found, int):
            self.assertLessEqual(abs(found), shapes.MAX_INT)
        elif isinstance(found, datetime.datetime):
            self.assertIsNone(found.tzinfo)
        else:
            self.assertIn(found, ('a', '0'))

    def test_sizes_are_positive_and_small_enough(self):
        fits = fields.compiled(shapes.SIZE)
        for value in (1, shapes.MAX_INT, '1', '007'):
            self.assertEqual(value, fits(value))
        for value in (0, -1, shapes.MAX_INT + 1, '0', '-1', '', 'x', 1.5, True, None, [], '1' * 30):
            self.assertRaises(ValueError, fits, value)

    def test_time_schema_accepts_encoded_times_and_refuses_a_zone(self):
        fits = fields.compiled(shapes.TIME)
        for time in (moment(2026, 1, 31), moment(2026, 1, 31, 1, 2, 3, 456)):
            self.assertEqual(26, len(fits(orjson.loads(fields.encode(time)))))
        self.assertRaises(ValueError, fits, '2026-01-31T00:00:00Z')
