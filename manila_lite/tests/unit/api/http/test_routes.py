# SPDX-License-Identifier: Apache-2.0
"""Calls that are found by their path."""

import testtools

from manila_lite.api.framework.call import Call
from manila_lite.api.http import routes


def call(req):
    """Answer."""


SHOW = Call('GET', '/things/{thing_id}', call, 'thing:get')
DETAIL = Call('GET', '/things/detail', call, 'thing:get')
NEW = Call('GET', '/things', call, 'thing:get', old_path='/os-things')
LATE = Call('POST', '/things', call, 'thing:create', since='2.9')
GONE = Call('DELETE', '/things/{thing_id}', call, 'thing:delete', until='2.8')
PART = Call('GET', '/things/{thing_id}/parts/{key}', call, 'thing:get')


class Routes(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.routes = routes.Routes([SHOW, DETAIL, NEW, LATE, GONE, PART])

    def find(self, path, version=50):
        return self.routes.find(path.split('/'), version)

    def test_parameters_are_parts_of_the_path(self):
        match = self.find('things/x/parts/k')
        self.assertEqual((PART,), match.calls)
        self.assertEqual({'thing_id': 'x', 'key': 'k'}, match.params)

    def test_fixed_paths_are_preferred_to_parameters(self):
        self.assertEqual((DETAIL,), self.find('things/detail').calls)
        self.assertEqual((SHOW,), self.find('things/details').calls)

    def test_a_path_without_its_id_says_so(self):
        self.assertEqual('parts', self.find('things/parts').skipped)
        for path in ('things/x', 'things', 'things/parts/parts/parts'):
            self.assertIsNone(self.find(path).skipped, path)

    def test_empty_parts_are_no_parameters(self):
        for path in ('things/', 'things//parts/k', 'things/x/parts/', ''):
            self.assertIsNone(self.find(path), path)

    def test_a_path_has_the_calls_of_its_version(self):
        self.assertEqual((NEW,), self.find('things', 8).calls)
        self.assertEqual((NEW, LATE), self.find('things', 9).calls)
        self.assertEqual((SHOW, GONE), self.find('things/x', 8).calls)
        self.assertEqual((SHOW,), self.find('things/x', 9).calls)

    def test_old_names(self):
        self.assertEqual((NEW,), self.find('os-things', 6).calls)
        self.assertIsNone(self.find('os-things', 7))
        self.assertIsNone(self.find('things', 6))

    def test_project_id_in_front_of_the_path_is_read(self):
        match = self.find('p/things/x')
        self.assertEqual({'project_id': 'p', 'thing_id': 'x'}, match.params)
        self.assertNotIn('project_id', self.find('things/x').params)

    def test_project_named_like_a_path_is_recognised(self):
        self.assertEqual({'project_id': 'things'}, self.find('things/things/detail').params)

    def test_unknown_paths_are_not_found(self):
        for path in (
            '',
            'nothing',
            '/things',
            'things/',
            'p/q/things',
            'things/x/parts',
            'things/x/parts/',
            'things/x/y/z',
        ):
            self.assertIsNone(self.find(path), path)
