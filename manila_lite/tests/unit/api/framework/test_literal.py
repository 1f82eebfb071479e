# SPDX-License-Identifier: Apache-2.0
"""Dictionaries in Python's notation are parsed, nothing else is, and no code runs."""

import ast
import sys

import testtools
from hypothesis import given, settings
from hypothesis import strategies as st

from manila_lite.api.framework import literal

_TEXT = st.text(st.characters(exclude_categories=('Cs',)))
_SCALARS = _TEXT | st.booleans() | st.integers(-(10**18), 10**18)


class Literal(testtools.TestCase):
    @settings(deadline=None, database=None)
    @given(st.dictionaries(_SCALARS, _SCALARS))
    def test_dictionaries_written_by_python_are_read(self, value):
        self.assertEqual(value, literal.pairs(repr(value)))

    @settings(deadline=None, database=None)
    @given(st.text(alphabet='{}\'":, \\xuU1aTrue-\n[(', max_size=40))
    def test_accepted_text_means_the_same_to_python(self, text):
        try:
            found = literal.pairs(text)
        except ValueError:
            return
        self.assertEqual(ast.literal_eval(text.strip()), found)

    def test_every_notation_is_read_as_python_reads_it(self):
        for text, meant in (
            ('{}', {}),
            (" { 'a' : 1 , } ", {'a': 1}),
            ('{u\'a\': U"b"}', {'a': 'b'}),
            ("{'a': 'b', 'a': 'c'}", {'a': 'c'}),
            (r"{'\x41\u00e9\U0001f600\'\q': ''}", {"Aé😀'\\q": ''}),
        ):
            self.assertEqual(meant, literal.pairs(text), text)

    def test_other_expressions_are_refused_at_any_nesting_depth(self):
        for text in (
            '',
            '{',
            '}',
            '{,}',
            "{'a'}",
            "{'a': 'b' 'c'}",
            "{'a': 'b',,}",
            "{'a': 'b'}}",
            "{'a': 'b'",
            "{'a': 1.5}",
            "{'a': None}",
            "{'a': b'b'}",
            "{'a': f'{1}'}",
            "{'a': ['b']}",
            "{{'a': 'b'}: 'c'}",
            r"{'a': '\x'}",
            r"{'a': '\N{DASH}'}",
            r"{'a': '\777'}",
            r"{'a': '\U99999999'}",
            "{'a': 'b'} {'c': 'd'}",
            *(
                f"{{'a': {deep * 10 * sys.getrecursionlimit()}1}}"
                for deep in ('[', '(', '{', '-', '1+', 'a.')
            ),
        ):
            self.assertRaises(ValueError, literal.pairs, text)
