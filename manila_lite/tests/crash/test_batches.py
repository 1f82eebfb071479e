# SPDX-License-Identifier: Apache-2.0
"""Batches: a process dies with operations that it claimed together, at each place of a batch, and each has a good end."""

import functools

import testtools

from manila_lite.tests.crash import columns, places, truth
from manila_lite.tests.crash.deployment import Deployment, Servers
from manila_lite.tests.crash.matrix import Story, Wave
from manila_lite.tests.crash.subjects import SUBJECTS

#: Operations of a batch. One of them is held at the place, and all are the process's when it dies.
_COUNT = 8
#: Subjects with the (role, kind) whose operations run together.
_BATCHED = {
    'create a share': [('scheduler', 'share.create'), ('share', 'share.create')],
    'delete a share': [('share', 'share.delete')],
    'extend a share': [('scheduler', 'share.extend'), ('share', 'share.extend')],
    'take a snapshot': [('share', 'snapshot.create')],
    'delete a snapshot': [('share', 'snapshot.delete')],
}


class Batch(Wave):
    """Stories whose operations wait for the same role until all are there."""

    def ask(self):
        role = self.stories[0].role
        with self.deployment.suspended(role):
            for story in self.stories:
                self._begin(story)
            self.deployment.eventually(
                lambda: all(map(self._waits, self.stories)), f'they do not wait for {role}'
            )
        self._held(self.stories)

    def _waits(self, story):
        return [
            op.topic
            for op in truth.read(self.deployment.engine)[story.project].operations
            if op.state == 'open' and op.owner is None
        ] == [story.role]


class Batches(testtools.TestCase):
    """One deployment for all batches."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = Servers()
        cls.addClassCleanup(cls.servers.cleanUp)
        cls.servers.setUp()
        cls.deployment = Deployment(cls.servers)
        cls.addClassCleanup(cls.deployment.cleanUp)
        cls.deployment.setUp()

    def _claimed_with(self, wave):
        """Return the operations that the owner of the one that is held has."""
        projects = truth.read(self.deployment.engine)
        owners = [
            op.owner
            for story in wave.stories
            for op in projects[story.project].operations
            if op.state == 'open'
        ]
        [held] = [op.owner for op in projects[wave.stories[0].project].operations if op.state == 'open']
        return [owner for owner in owners if owner == held]

    def check(self, subject, place):
        if place.locks and not self.servers.database:
            self.skipTest('PostgreSQL is not installed, and on SQLite nothing else could be written')
        where = f'{place.role}: {place.what}'
        batch = Batch(
            self.deployment,
            [
                Story(subject, where, columns.KILLED, place, {'hold': place.key} if first else {})
                for first in (True, *[False] * (_COUNT - 1))
            ],
        )
        beside = []

        def strike(wave):
            if place.what not in (
                places.PASSED,
                places.DONE,
            ):  # by then others of the batch may have been ended
                beside.append(len(self._claimed_with(wave)))
            wave.kill(place.role)

        stories = batch.run(strike)
        self.assertTrue(all(count > 1 for count in beside), 'there was no batch')
        self.assertEqual(_COUNT, len(stories))
        self.assertEqual(
            [],
            [
                f'{story.title()} {story.problems}\n{self.deployment.said_of(story.project)}'
                for story in stories
                if story.problems
            ],
        )


def _add_tests():
    for subject in SUBJECTS:
        for role, kind in _BATCHED.get(subject.name, ()):
            for place in places.of_batch(role, kind):
                name = f'test_{subject.name}_{role}_{place.what}'.replace(' ', '_').replace(',', '')
                setattr(Batches, name, functools.partialmethod(Batches.check, subject, place))


_add_tests()


class Complete(testtools.TestCase):
    """The table above covers all the code."""

    def test_every_plan_whose_operations_run_together_is_here(self):
        there = {
            (role, kind)
            for role, plans in places.PLANS.items()
            for kind in plans
            if [*places.of_batch(role, kind)]
        }
        self.assertEqual(there, {way for ways in _BATCHED.values() for way in ways})
