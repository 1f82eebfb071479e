# SPDX-License-Identifier: Apache-2.0
"""Schedules that bring replicas up to date: for administrators alone."""

from manila_lite.db import models
from manila_lite.scheduler import schedules as runner
from manila_lite.tests import waiting
from manila_lite.tests.functional.schedules.scheduling import NEVER, now
from manila_lite.tests.functional.share_replicas.test_share_replicas import Replicating

_RESYNC = 'replica_resync'


class Resync(Replicating):
    EXTRA = f'{Replicating.EXTRA}[scheduler]\nschedule_interval = 86400\n'

    def create(self, caller, status, **values):
        """Ask for a schedule, which must be answered so; return what is in the answer."""
        body = {'schedule': {'cron': NEVER, 'action': _RESYNC, **values}}
        got, document, _ = caller.call('POST', '/schedules', body)
        self.assertEqual(status, got, document)
        return next(iter(document.values()))

    def test_a_replica_follows_at_the_times_of_a_schedule(self):
        share = self.make()
        [active] = self.replicas(share).values()
        replica = self.replicate(share)
        made = self.create(self.admin, 200, share_ids=[share['id']])
        self.driver(active).write(active['id'], 'new')
        self.assertFalse(self.holds(replica, 'new'))
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.schedules.update().where(models.schedules.c.id == made['id']).values(next_run_at=now())
            )
        runner.begin_due(self.service.services)
        self.service.settled(made['id'])
        waiting.until(lambda: self.holds(replica, 'new'), 'the replica follows')
        shown = self.admin.ok('GET', f'/schedules/{made["id"]}')['schedule']
        self.assertEqual((shown['last_run_at'], None), (shown['last_good_at'], shown['problem']))
        self.admin.ok('DELETE', f'/schedules/{made["id"]}')
        self.drop(share)

    def test_members_neither_create_nor_change_one(self):
        member, admin = (
            self.caller('mixed', 'x', roles) for roles in ('member,reader', 'admin,member,reader')
        )
        self.assertIn('action: only who may update a replica', self.create(member, 403)['message'])
        made = self.create(admin, 200)
        path = f'/schedules/{made["id"]}'
        self.assertEqual(403, member.call('PUT', path, {'schedule': {'cron': '* * * * *'}})[0])
        self.assertEqual(200, admin.call('PUT', path, {'schedule': {'cron': '0 3 * * *'}})[0])
        admin.ok('DELETE', path)

    def test_there_is_nothing_to_keep(self):
        self.assertIn('keep: ', self.create(self.admin, 400, keep={'last': 1})['message'])
