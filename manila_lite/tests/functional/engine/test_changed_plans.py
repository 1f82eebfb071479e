# SPDX-License-Identifier: Apache-2.0
"""Operations that were begun by another release, whose plans have other steps: they go on at the step of the same name."""

import dataclasses

from oslo_utils import uuidutils

from manila_lite import engine, errors
from manila_lite.db import models
from manila_lite.db.queries import operation_views
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step
from manila_lite.operation_data import OperationData
from manila_lite.tests.functional import base


@dataclasses.dataclass(kw_only=True)
class Copy(OperationData):
    """Data of a kind that cannot do without."""

    source: str


class ChangedPlans(base.ServiceTest):
    """A runner with the plan of this release: ``start check copy end``."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.db, self.notes, self.queue = self.service.services.db, [], uuidutils.generate_uuid()
        self.wrong = ''
        steps = tuple(
            Step(self.note(name), self.note(f'undo {name}'), name)
            for name in ('start', 'check', 'copy', 'end')
        )
        plan = Plan('test.plan', steps, lambda conn, work: None, lambda conn, work, error: None)
        plans = [plan, dataclasses.replace(plan, kind='test.copy', data=Copy)]
        self.runner = engine.Runner(self.service.services, 'share', self.queue, plans, None)

    def note(self, name):
        def act(work):
            self.notes.append(name)
            if name == self.wrong:
                raise errors.Final('never')

        return act

    def row(self, **values):
        """Run an operation whose row has these values until it ends. Return its row then."""
        with self.db.writer() as conn:
            operation_id = engine.begin(
                conn, self.service.context(), 'test.plan', 'test', 'x', topic='share', host=self.queue
            ).operation_id
            conn.execute(
                models.operations.update().where(models.operations.c.id == operation_id).values(**values)
            )
        self.runner.start()
        self.addCleanup(self.runner.stop)
        base.eventually(lambda: self.read(operation_id).state != rows.OPEN, 'it has not ended')
        return self.read(operation_id)

    def read(self, resource_id):
        with self.db.reader() as conn:
            return rows.get(conn, resource_id)

    def test_operation_resumes_at_the_step_with_the_same_name(self):
        row = self.row(step=1, steps='start copy end')
        self.assertEqual(['copy', 'end'], self.notes)
        self.assertEqual((rows.DONE, 'start check copy end', 3), (row.state, row.steps, row.step))
        self.assertEqual('end', operation_views.phase(row))

    def test_undoing_resumes_at_the_step_with_the_same_name(self):
        row = self.row(step=1, steps='start copy end', undoing=True)
        self.assertEqual(['undo copy', 'undo check', 'undo start'], self.notes)
        self.assertEqual(rows.FAILED, row.state)

    def test_failed_operation_undoes_the_steps_of_the_new_plan(self):
        self.wrong = 'copy'
        self.row(step=1, steps='start copy end')
        self.assertEqual(['copy', 'undo copy', 'undo check', 'undo start'], self.notes)

    def test_operation_without_finished_steps_starts_at_the_first_step(self):
        self.assertEqual(rows.DONE, self.row(step=0, steps='reserve copy end').state)
        self.assertEqual(['start', 'check', 'copy', 'end'], self.notes)

    def test_operation_without_step_names_resumes_by_step_number(self):
        self.assertEqual(rows.DONE, self.row(step=2).state)
        self.assertEqual(['copy', 'end'], self.notes)

    def test_operation_whose_data_are_not_of_its_kind_is_parked_after_all_tries(self):
        row = self.row(kind='test.copy', data={'destination': 'here'})
        self.assertEqual((rows.PARKED, [], {'destination': 'here'}), (row.state, self.notes, row.data))
        self.assertRegex(row.error, 'Nobody here knows data of test.copy like these .Copy: source is missing')

    def test_data_of_a_newer_release_are_kept_for_it(self):
        self.assertEqual(
            {'source': 'there', 'when': 'now'},
            self.row(kind='test.copy', data={'source': 'there', 'when': 'now', 'progress': None}).data,
        )

    def test_operation_at_an_unknown_step_is_parked_after_all_tries(self):
        row = self.row(step=1, steps='start freeze copy end')
        self.assertEqual((rows.PARKED, []), (row.state, self.notes))
        self.assertEqual('Nobody here knows step freeze of test.plan', row.error)
        self.assertEqual(
            (1, 'start freeze copy end', 'freeze'), (row.step, row.steps, operation_views.phase(row))
        )
        self.assertGreater(row.attempts, self.service.conf.operations.max_attempts)
