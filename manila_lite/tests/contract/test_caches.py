# SPDX-License-Identifier: Apache-2.0
"""Each cache has a row that says what ends its entries, and which tests show it. A new one needs a row."""

import ast
import csv
import pathlib

import testtools

from manila_lite.tests.contract import caches

_TESTS = pathlib.Path(__file__).parent.parent
_KINDS = {
    'arguments': 'a function of nothing but its arguments: no row, no caller, no configuration',
    'object': 'a part of one object, or of one request, that lives as long',
    'work': 'no cache: what is under way, registered or counted here',
    'cache': 'it could be out of date, or be of another caller: it has an end, and tests',
}
#: Names of what differs between callers and moments.
_NOT_ARGUMENTS = {'conn', 'ctx', 'req', 'request', 'caller', 'conf', 'services', 'db'}


class Caches(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with (pathlib.Path(__file__).parent / 'caches.tsv').open(newline='') as lines:
            rows = list(csv.reader((line for line in lines if not line.startswith('#')), delimiter='\t'))
        cls.rows = {place: (kind, end, shown) for place, kind, end, shown in rows}
        cls.places = [row[0] for row in rows]
        cls.found = caches.find()

    def test_each_cache_has_a_row(self):
        self.assertEqual(sorted(self.found), sorted(self.places))

    def test_kinds_are_known_and_caches_have_an_end_and_tests(self):
        for place, (kind, end, shown) in self.rows.items():
            self.assertIn(kind, _KINDS, place)
            if kind == 'cache':
                self.assertTrue(end and shown, place)

    def test_functions_of_arguments_depend_on_no_caller_and_no_moment(self):
        for place, (kind, _, _) in self.rows.items():
            function = self.found[place]
            if kind == 'arguments' and function is not None:
                names = {
                    node.arg if isinstance(node, ast.arg) else node.id
                    for node in ast.walk(function)
                    if isinstance(node, ast.arg | ast.Name)
                }
                self.assertEqual(set(), (names & _NOT_ARGUMENTS) | (names & {'self'}), place)

    def test_tests_exist(self):
        for place, (_, _, shown) in self.rows.items():
            for test in filter(None, shown.split(', ')):
                module, _, name = test.partition(':')
                path = _TESTS.joinpath(*module.split('.')).with_suffix('.py')
                self.assertIn(f'def {name}(', path.read_text(), place)
