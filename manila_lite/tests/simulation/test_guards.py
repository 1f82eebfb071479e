# SPDX-License-Identifier: Apache-2.0
"""Histories that show nothing are refused: with errors that no fault explains, or with hardly any work that succeeds."""

import random
import sqlite3
import threading
import types

import fixtures
import sqlalchemy
import testtools

from manila_lite import errors
from manila_lite.db.queries import operations
from manila_lite.tests.simulation import baton, history, plans, strangers, tally, world


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


class StuckTest(testtools.TestCase):
    def test_a_thread_that_waits_for_something_real_is_named_and_not_waited_for(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.simulation.baton.STUCK', 0.2))
        real = threading.Event()
        self.addCleanup(real.set)
        process = types.SimpleNamespace(dead=False, frozen=0.0)
        one = baton.Baton(random.Random(1), 1000, 0.5)
        one.begin(process)
        one.spawn(process, 'share-1.work-2', real.wait)
        stuck = self.assertRaises(baton.Stuck, one.sleep, 5)
        self.assertIn('share-1.work-2 waits for something real', str(stuck))
        self.assertIn('self._cond.wait(timeout)', str(stuck))


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
