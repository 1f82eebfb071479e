# SPDX-License-Identifier: Apache-2.0
"""Figures of a migration, with and without their input; and cancelled migrations."""

import time

import testtools

from manila_lite import errors
from manila_lite.operation_data.migrations import Progress, Reached
from manila_lite.states import Migration
from manila_lite.workflow import migration


class Figures(testtools.TestCase):
    def figures(self, state=Migration.COPYING, *, took=None, **known):
        began = None if took is None else time.time() - took
        data = Reached(progress=Progress(**known), phase_one_began=began)
        return migration.figures(data, state)

    def test_seconds_left_equal_the_elapsed_time_at_50_percent(self):
        told = self.figures(percent=50, bytes_done=5000, bytes_total=10000, took=100)
        self.assertEqual(
            (50, 1, 5000, 10000),
            (told['total_progress'], told['phase'], told['bytes_done'], told['bytes_total']),
        )
        self.assertIn(told['bytes_per_second'], range(45, 51))
        self.assertIn(told['seconds_left'], range(100, 111))

    def test_unknown_seconds_left_are_null(self):
        for known in (
            {},
            {'percent': 5},
            {'percent': 5, 'bytes_total': 10},
            {'percent': 0, 'bytes_done': 0, 'bytes_total': 10},
            {'percent': 5, 'bytes_done': 5},
        ):
            told = self.figures(took=100, **known)
            self.assertEqual(
                (known.get('percent', 0), None), (told['total_progress'], told['seconds_left']), known
            )

    def test_copied_migration_has_no_seconds_left(self):
        for state in (Migration.SUCCESS, Migration.COPIED, Migration.COMPLETING):
            told = self.figures(state, percent=99, bytes_done=10, bytes_total=10, took=1)
            self.assertEqual((100, None), (told['total_progress'], told['seconds_left']))


class Cancelled(testtools.TestCase):
    def test_cancellation_is_recognised_by_code_not_by_message(self):
        self.assertTrue(migration.is_cancelled(migration.Cancelled()))
        self.assertTrue(migration.is_cancelled(errors.Final('other words', code=migration.Cancelled.code)))
        for error in (errors.Final(str(migration.Cancelled())), RuntimeError(str(migration.Cancelled()))):
            self.assertFalse(migration.is_cancelled(error))
