# SPDX-License-Identifier: Apache-2.0
"""Shares deleted during a run: the backend's answer is dropped. The owner gets the same message only once."""

import dataclasses

from manila_lite.db import models
from manila_lite.manager.runtime import startup
from manila_lite.tests.functional import base
from manila_lite.tests.functional.ensure.test_shares import EnsureTest


class GoneTest(EnsureTest):
    def asked(self, instance):
        """Return the number of calls of the backend about the share."""
        return sum(instance in ids.split(',') for _, ids in self.driver.store.calls('ensure_shares'))


class Gone(GoneTest):
    def answer(self, change):
        """Pass the backend's answers through ``change``."""
        plain = self.driver.ensure_shares
        self.addCleanup(setattr, self.driver, 'ensure_shares', plain)
        self.driver.ensure_shares = lambda targets: change(plain(targets))

    def force_delete(self, share_id):
        self.assertEqual(202, self.admin.action(share_id, 'force_delete')[0])
        self.admin.wait(f'/shares/{share_id}', 'share', 'gone')

    def rows_of(self, share, instance):
        """Return the number of rows of metadata and export locations that the database has for the share."""
        with self.service.services.db.reader() as conn:
            return [
                len(conn.execute(table.select().where(column == resource_id)).all())
                for table, column, resource_id in (
                    (models.share_metadata, models.share_metadata.c.owner_id, share),
                    (models.export_locations, models.export_locations.c.share_instance_id, instance),
                )
            ]

    def test_backend_answer_about_a_deleted_share_is_not_stored(self):
        gone, stays = self.shares(2)
        instances = [self.instance(instance_id) for instance_id in (gone, stays)]
        left = [gone]

        def change(results):
            while left:
                self.force_delete(left.pop())
            return {
                instance_id: dataclasses.replace(
                    result,
                    metadata={'place': 'here'},
                    export_locations=[
                        dataclasses.replace(location, path=f'{location.path}/moved')
                        for location in result.export_locations
                    ],
                )
                for instance_id, result in results.items()
            }

        self.answer(change)
        self.assertEqual('done', self.ensure()['state'])
        self.assertEqual([0, 0], self.rows_of(gone, instances[0]))
        self.assertEqual({'place': 'here'}, self.admin.ok('GET', f'/shares/{stays}/metadata')['metadata'])
        self.assertEqual(
            [1, 1],
            [self.asked(instance_id) for instance_id in instances],
            'the answer was stored at the first try',
        )

    def test_deleted_share_gets_no_message_about_being_broken(self):
        gone, stays = self.shares(2)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(gone))
        left = [gone]

        def change(results):
            while left:
                self.force_delete(left.pop())
            return results

        self.answer(change)
        found = self.ensure()
        self.assertEqual(('done', []), (found['state'], self.told(gone)))
        self.assertEqual(['available'], self.statuses([stays]))

    def test_instance_set_aside_during_the_run_is_ensured_again(self):
        """Check that an instance that was aside, as in a migration, is ensured again: its first result was not stored."""
        self.small_batches()
        first, second = sorted(self.instance(instance_id) for instance_id in self.shares(2))
        aside = [True, False]  # during the call about itself, and during the call about the other

        def change(results):
            with self.service.services.db.writer() as conn:
                conn.execute(
                    models.share_instances.update()
                    .where(models.share_instances.c.id == first)
                    .values(is_secondary=bool(aside and aside.pop(0)))
                )
            return results

        self.answer(change)
        self.assertEqual('done', self.ensure()['state'])
        self.assertEqual([2, 1], [self.asked(instance) for instance in (first, second)])


class Told(GoneTest):
    def lost(self):
        """Create a share that its backend reports as broken each time; return its id."""
        [instance_id] = self.shares(1)
        with self.driver.store.locked():
            self.driver.store.shares.drop(self.instance(instance_id))
        return instance_id

    def by_itself(self, instance_id):
        """Wait for a run that no user asked for."""
        before = self.asked(self.instance(instance_id))
        run = startup.ask(self.service.managers['alpha'])
        base.eventually(
            lambda: self.admin.ok('GET', f'/operations/{run}')['operation']['state'] == 'done',
            'is at it for ever',
        )
        self.assertGreater(self.asked(self.instance(instance_id)), before)

    def test_automatic_runs_report_a_broken_share_once(self):
        resource_id = self.lost()
        for _ in range(3):
            self.by_itself(resource_id)
        self.assertEqual(1, len(self.told(resource_id)))

    def test_requested_runs_report_a_broken_share_each_time(self):
        resource_id = self.lost()
        self.by_itself(resource_id)
        for times in (2, 3):
            self.admin.action(resource_id, 'reset_status', {'status': 'available'})
            self.ensure()
            self.assertEqual(times, len(self.told(resource_id)))
