# SPDX-License-Identifier: Apache-2.0
"""Cells of the matrix, and a check that none is missing.

To be quick, every twelfth place of every eighth operation is tested, and every twelfth fault of its driver; the number
of commits says which. ``MANILA_LITE_TEST_MATRIX=all`` tests all of them, and so does ``tools/crash-matrix``, whose last
run must have been clean.
"""

import functools
import os

import testtools

from manila_lite.tests import turns
from manila_lite.tests.crash import columns, places, results, truth
from manila_lite.tests.crash.deployment import Deployment, Servers
from manila_lite.tests.crash.matrix import Story
from manila_lite.tests.crash.subjects import EVACUATIONS, SUBJECTS, covered

#: One of so many operations is tested.
_PART = 8
_STORIES = dict(columns.COLUMNS)
_OPERATIONS = sorted({story.subject.name for story in columns.all_stories()})
if os.environ.get('MANILA_LITE_TEST_MATRIX') != 'all':
    _STORIES |= {
        name: functools.partial(_STORIES[name], few=True)
        for name in ('killed', 'cut', 'broker', 'driver', 'evacuations')
    }
    _OPERATIONS = _OPERATIONS[turns.TURN % _PART :: _PART]


class Complete(testtools.TestCase):
    """The table covers all the code."""

    def test_every_plan_has_its_rows(self):
        registered = {(role, kind) for role, plans in places.PLANS.items() for kind in plans}
        self.assertEqual(registered, covered(), 'give the plan a row in manila_lite/tests/crash/subjects.py')

    def test_every_step_has_its_places(self):
        for subject in (*SUBJECTS, *EVACUATIONS):
            for way in subject.ways:
                keys = [place.key for place in way.places()]
                for step in places.PLANS[way.role][way.kind].names:
                    for what in (places.BEFORE, places.AFTER, places.RAISED):
                        self.assertIn(places.name(way.role, way.kind, what, step), keys)

    def test_the_results_are_not_stale(self):
        """Each cell has a row in the results of the last whole run, under its operation, and that run was clean."""
        totals, tables = results.read()
        rows = {tuple(row[:2]) for table in tables for row in table.rows}
        self.assertEqual(
            set(),
            {(story.subject.name, story.where) for story in columns.all_stories()} - rows,
            'run tools/crash-matrix',
        )
        self.assertEqual([], [name for name in truth.CLASSES if f' 0 {name}' not in totals], totals)


class Cells(testtools.TestCase):
    """One deployment for all columns. A column runs once, and each operation has a test in it.

    Processes are killed, connections to the database are cut and the broker is killed, at every place; messages are lost and
    doubled, and drivers fail in every way.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = Servers()
        cls.addClassCleanup(cls.servers.cleanUp)
        cls.servers.setUp()
        cls.deployment = Deployment(cls.servers)
        cls.addClassCleanup(cls.deployment.cleanUp)
        cls.deployment.setUp()
        cls.deployment.operations = _OPERATIONS
        cls.results: dict[str, list[Story] | Exception] = {}

    @classmethod
    def _run(cls, column) -> list[Story] | Exception:
        try:
            return _STORIES[column](cls.deployment)
        except Exception as error:
            return error

    def check(self, column, operation):
        if column not in self.results:
            self.results[column] = self._run(column)
        if isinstance(self.results[column], Exception):
            raise self.results[column]
        mine = [story for story in self.results[column] if story.subject.name == operation]
        if not mine:
            self.skipTest('PostgreSQL or RabbitMQ is not installed')
        bad = [story for story in mine if story.problems]
        if bad:
            self.fail(
                '\n'.join(
                    f'{story.title()} [{story.project}]: {"; ".join(story.problems)}\n'
                    f'{self.deployment.said_of(story.project)}'
                    for story in bad
                )
            )
        self.assertTrue(all(story.state for story in mine))


for _column in columns.COLUMNS:
    for _operation in sorted(
        {story.subject.name for story in columns.all_stories(_column)}.intersection(_OPERATIONS)
    ):
        setattr(
            Cells,
            f'test_{_column}_{_operation.replace(" ", "_")}',
            functools.partialmethod(Cells.check, _column, _operation),
        )
