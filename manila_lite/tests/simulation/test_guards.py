# SPDX-License-Identifier: Apache-2.0
"""Histories that show nothing are refused: with errors that no fault explains, or with hardly any work that succeeds."""

import sqlite3
import types

import sqlalchemy
import testtools

from manila_lite import errors
from manila_lite.db.queries import operations
from manila_lite.tests.simulation import history, plans, strangers, tally, world


class _Backend(plans.Backend):
    """A simulated backend that lacks what it needs for each step."""

    def _outcome(self, operation_id, at, way):
        return self.outcome_of_nothing


class _World(world.World):
    def make_backend(self, db):
        return _Backend(self.rng, self.baton, self.faults, self.model, db)


class _History(history.History):
    world_class = _World


class StrangersTest(testtools.TestCase):
    def test_an_error_of_the_simulation_fails_the_history(self):
        deployment = self.useFixture(_History.deployment_class())
        self.assertIn('no fault explains AttributeError', _History(1, deployment).run())

    def test_faults_and_refusals_are_known(self):
        kind, text = strangers.DATABASE['refused']
        for error in (strangers.Injected('no'), errors.Final('never'), _wrapped(kind(text))):
            self.assertIsNone(strangers.find(error), error)

    def test_other_errors_are_not(self):
        for error in (
            KeyError('size'),
            NotImplementedError(),
            _wrapped(sqlite3.OperationalError('no such table')),
        ):
            self.assertIs(strangers.find(error), error)

    def test_an_error_behind_a_refusal_is_not(self):
        bad = errors.Final('never')
        bad.__cause__ = TypeError('an argument')
        self.assertIs(strangers.find(bad), bad.__cause__)


def _wrapped(error):
    return sqlalchemy.exc.OperationalError('SELECT 1', {}, error)


class TallyTest(testtools.TestCase):
    def refusal(self, histories, *states):
        counts = tally.Tally(('share.create',))
        for _ in range(histories):
            counts.add([types.SimpleNamespace(kind='share.create', state=state) for state in states])
        return counts.refusal()

    def test_histories_in_which_all_fails_are_refused(self):
        self.assertIn('hardly any operation', self.refusal(3, operations.FAILED))
        self.assertIn('hardly any operation', self.refusal(3))

    def test_a_kind_that_never_succeeds_is_refused(self):
        self.assertIn('share.create', self.refusal(20))

    def test_some_failures_are_not(self):
        self.assertIsNone(self.refusal(20, operations.FAILED, operations.DONE, operations.OPEN))
