# SPDX-License-Identifier: Apache-2.0
"""Operations of the release that stored only the numbers of steps: after the upgrade each goes on at its step."""

import dataclasses
import types

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.db.core.step_names import NAMES
from manila_lite.db.maintenance import schema_migrations
from manila_lite.db.queries import evacuation, operation_claims, operation_views
from manila_lite.db.queries import operations as rows
from manila_lite.engine import PLACE
from manila_lite.engine.executor import Executor
from manila_lite.manager.runtime import service as manager
from manila_lite.scheduler import service as scheduler
from manila_lite.tests.functional.database.test_migrations import MigrationTest as _MigrationTest
from manila_lite.tests.unit.operation_data import stored

_PLANS = {
    'share': {plan.kind: plan for plan in manager.PLANS},
    'scheduler': {plan.kind: plan for plan in scheduler.PLANS},
}
#: Kinds of operations that the release before did not have.
_NEWER = {evacuation.KIND, 'schedule.run'}
_OLD = {'share': NAMES, 'scheduler': {kind: (PLACE,) for kind in _PLANS['scheduler'] if kind not in _NEWER}}
#: Steps that plans have got since, by queue and kind.
_SINCE = {('share', kind): {'catch_up', 'close'} for kind in ('share.migrate', 'share_server.migrate')}
#: Every step, as the release before numbers it.
_STEPS = [
    (topic, kind, number)
    for topic, kinds in _OLD.items()
    for kind, names in kinds.items()
    for number in range(len(names))
]


class UpgradedTest(_MigrationTest):
    """A database with an operation at every step of every kind, and workers whose steps only note their names."""

    def setUp(self):
        super().setUp()
        schema_migrations.upgrade(self.db, '0020')
        self.notes = []

    def given(self, state, **values):
        """Insert an operation at each step before the upgrade, and upgrade. Return their ids, by step."""
        made = {place: uuidutils.generate_uuid() for place in _STEPS}
        with self.db.writer() as conn:
            conn.execute(
                models.operations.insert(),
                [
                    {
                        'id': resource_id,
                        'kind': kind,
                        'topic': topic,
                        'host': 'here',
                        'lane': 'work',
                        'data': stored.BY_KIND.get(kind, {}),
                        'resource_type': 'test',
                        'resource_id': 'x',
                        'state': state,
                        'step': number,
                        'next_run_at': timeutils.utcnow(),
                        **values,
                    }
                    for (topic, kind, number), resource_id in made.items()
                ],
            )
        schema_migrations.upgrade(self.db)
        return made

    def executor(self, topic):
        """Return an executor of the queue's plans."""
        plans = {
            kind: dataclasses.replace(
                plan, steps=tuple(map(self.noting, plan.steps)), done=lambda *_: None, failed=lambda *_: None
            )
            for kind, plan in _PLANS[topic].items()
        }
        return Executor(types.SimpleNamespace(db=self.db, conf=self.db._conf), 'me', plans, None)

    def noting(self, step):
        return dataclasses.replace(
            step,
            do=lambda work: self.notes.append(step.name),
            undo=lambda work: self.notes.append(f'undo {step.name}'),
        )

    def now(self, topic, kind):
        """Return the names of the steps of the plan: those of the release before, in order, and those it has got since."""
        names = _PLANS[topic][kind].names
        self.assertEqual(
            list(_OLD[topic][kind]),
            [name for name in names if name not in _SINCE.get((topic, kind), ())],
            kind,
        )
        return list(names)

    def rest(self, topic, kind, number):
        """Return the names of the steps that are still to do."""
        names = self.now(topic, kind)
        return names[names.index(_OLD[topic][kind][number]) :]

    def run_on(self, topic, resource_id):
        """Claim the operation and run it. Return the names of the steps, and its row then."""
        self.notes.clear()
        executor = self.executor(topic)
        with self.db.writer() as conn:
            seen = rows.get(conn, resource_id)
            op = operation_claims.claim(conn, seen, 'me', 60, **executor.step_values(seen))
        executor.run(op)
        with self.db.reader() as conn:
            return list(self.notes), rows.get(conn, resource_id)

    def test_open_operation_continues_at_its_step(self):
        for (topic, kind, number), resource_id in self.given(rows.OPEN).items():
            names, row = self.run_on(topic, resource_id)
            self.assertEqual((self.rest(topic, kind, number), rows.DONE), (names, row.state), kind)

    def test_failed_operation_is_undone_from_its_step(self):
        for (topic, kind, number), resource_id in self.given(rows.OPEN, undoing=True).items():
            names, row = self.run_on(topic, resource_id)
            left = self.rest(topic, kind, number)[1:]
            undone = [f'undo {name}' for name in reversed(self.now(topic, kind)) if name not in left]
            self.assertEqual((undone, rows.FAILED), (names, row.state), kind)

    def test_ended_operation_shows_its_step_name(self):
        made = self.given(rows.DONE)
        with self.db.reader() as conn:
            found = {row.id: row for row in conn.execute(sa.select(models.operations))}
        for (topic, kind, number), resource_id in made.items():
            self.assertEqual(_OLD[topic][kind][number], operation_views.phase(found[resource_id]), kind)
            self.assertEqual(_OLD[topic][kind], rows.step_names(found[resource_id]), kind)

    def test_operation_continues_after_a_step_by_an_old_worker(self):
        """Old workers, which run until they are upgraded too, write the number of the step only."""
        made = self.given(rows.OPEN)
        with self.db.writer() as conn:
            conn.execute(models.operations.update().values(step=0))
        for (topic, kind, number), resource_id in made.items():
            with self.db.writer() as conn:
                conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id == resource_id)
                    .values(step=number)
                )
            self.assertEqual(self.rest(topic, kind, number), self.run_on(topic, resource_id)[0], kind)

    def test_operation_passed_on_by_an_old_scheduler_continues_at_its_step(self):
        """It says nothing of names, so that the row has those of the scheduler, and the number is one of the present plan.

        So an operation may begin one step early, with a step that leaves such operations as they are.
        """
        made = {
            place: resource_id
            for place, resource_id in self.given(rows.OPEN).items()
            if place[0] == 'scheduler'
        }
        for (_, kind, _), resource_id in made.items():
            for number, _ in enumerate(_OLD['share'].get(kind, ())):
                with self.db.writer() as conn:
                    conn.execute(
                        models.operations.update()
                        .where(models.operations.c.id == resource_id)
                        .values(topic='share', step=number, steps=PLACE, state=rows.OPEN, attempts=0)
                    )
                self.assertEqual(self.now('share', kind)[number:], self.run_on('share', resource_id)[0], kind)
