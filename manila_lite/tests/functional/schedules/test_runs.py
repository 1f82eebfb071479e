# SPDX-License-Identifier: Apache-2.0
"""Runs of schedules: what they make, what they delete, and what they never touch."""

import sqlalchemy as sa
from oslo_policy import _checks

from manila_lite.db import models
from manila_lite.tests import policy_rules, waiting
from manila_lite.tests.functional.schedules.scheduling import SchedulesTest


class Copies(SchedulesTest):
    def test_each_selected_share_gets_a_snapshot_of_its_owner(self):
        one, two, three = (self.user.share(metadata={'tier': tier}) for tier in ('gold', 'gold', 'tin'))
        others = self.caller('other').share(metadata={'tier': 'gold'})
        for number, (values, chosen) in enumerate(
            (
                ({'share_ids': [one['id'], three['id']]}, [one, three]),
                ({'share_metadata': {'tier': 'gold'}}, [one, two]),
                ({'share_type_id': one['share_type']}, [one, two, three]),
                ({'share_ids': [one['id'], three['id']], 'share_metadata': {'tier': 'tin'}}, [three]),
                ({}, [one, two, three]),
            )
        ):
            made = self.schedule(name_prefix=f'by{number}', **values)
            ended = self.run_once(made)
            self.assertIsNone(ended['problem'])
            self.assertEqual(ended['last_run_at'], ended['last_good_at'])
            found = [one for one in self.snapshots() if one['name'].startswith(f'by{number}-2026-01-01-0')]
            self.assertEqual({one['id'] for one in chosen}, {one['share_id'] for one in found})
            self.assertEqual(
                {('u', self.project, 'available', f'Made by schedule {made["id"]}.')},
                {(one['user_id'], one['project_id'], one['status'], one['description']) for one in found},
            )
        self.assertEqual([], self.snapshots(others, self.caller('other')))

    def test_names_have_the_local_time(self):
        share = self.user.share()
        self.run_once(self.schedule(time_zone='Asia/Kolkata', share_ids=[share['id']]))
        self.assertEqual(['scheduled-2026-01-01-0630'], [one['name'] for one in self.snapshots(share)])

    def test_an_administrator_has_shares_of_all_projects_snapped_as_their_owners(self):
        mine, theirs = self.user.share(), self.caller('theirs', 'them').share()
        made = self.schedule(
            self.admin, all_projects=True, share_ids=[mine['id'], theirs['id']], keep={'last': 1}
        )
        for _ in range(2):
            self.come(made, self.time())
            self.look()
            self.service.settled(made['id'])
        self.assertIsNone(self.show(made, self.admin)['problem'])
        for share, caller, user in ((mine, self.user, 'u'), (theirs, self.caller('theirs'), 'them')):
            self.service.settled(self.snapshots(share, caller)[0]['id'])
            [left] = self.snapshots(share, caller)
            self.assertEqual((user, share['project_id']), (left['user_id'], left['project_id']))

    def test_members_of_the_project_of_an_administrator_see_nothing_of_other_projects(self):
        theirs = self.caller(self.project, 'root', 'admin,member,reader')
        share = self.caller('other').share()
        made = self.schedule(theirs, all_projects=True, share_ids=[share['id']])
        self.admin.ok('PUT', '/quota-sets/other', {'quota_set': {'snapshots': 0}})
        self.come(made, self.time())
        self.look()
        self.service.settled(made['id'])
        self.assertIn('Quota exceeded', self.show(made, theirs)['problem'])
        self.assertEqual([], self.operations(made))
        [message] = self.messages(made)
        self.assertIn('The schedule of all projects has a problem.', message['user_message'])
        self.assertNotIn('Quota', message['user_message'])

    def test_backups(self):
        self.admin.ok(
            'PUT', f'/quota-sets/{self.project}', {'quota_set': {'backups': 9, 'backup_gigabytes': 9}}
        )
        share = self.user.share()
        made = self.schedule(
            action='share_backup', backup_type='weekly', share_ids=[share['id']], keep={'day': 1}
        )
        for _ in range(2):
            self.assertIsNone(self.run_once(made)['problem'])
        headers = {'X-OpenStack-Manila-API-Experimental': 'true'}
        found = self.user.ok('GET', '/share-backups/detail', headers=headers)['share_backups']
        for one in found:
            self.service.settled(one['id'])
        [left] = self.user.ok('GET', '/share-backups/detail', headers=headers)['share_backups']
        self.assertEqual(
            ('weekly', 'scheduled-2026-01-01-0200', 'available'),
            (left['backup_type'], left['name'], left['status']),
        )

    def test_shares_of_a_group_are_snapped_together(self):
        kind = self.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': self.project, 'share_types': ['default']}},
        )['share_group_type']['id']
        group = self.user.ok('POST', '/share-groups', {'share_group': {'share_group_type_id': kind}})[
            'share_group'
        ]
        self.user.wait(f'/share-groups/{group["id"]}', 'share_group', 'available')
        one, _two = (self.user.share(share_group_id=group['id']) for _ in range(2))
        alone = self.user.share()
        made = self.schedule(keep={'last': 1})
        for _ in range(2):
            self.assertIsNone(self.run_once(made)['problem'])
        found = self.user.ok('GET', '/share-group-snapshots/detail')['share_group_snapshots']
        for snapshot in (*found, *self.snapshots()):
            self.service.settled(snapshot['id'])
        [left] = self.user.ok('GET', '/share-group-snapshots/detail')['share_group_snapshots']
        self.assertEqual((group['id'], 2), (left['share_group_id'], len(left['members'])))
        self.assertEqual([alone['id']], [snapshot['share_id'] for snapshot in self.snapshots()])
        self.assertEqual([], self.snapshots(one))


class Made(SchedulesTest):
    """Copies are recorded, and listed for everybody in the project of the share."""

    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def copies(self, caller=None, share=None):
        share = share or self.share
        return (caller or self.user).ok('GET', f'/shares/{share["id"]}/schedule-copies')['schedule_copies']

    def test_each_copy_names_its_schedule_and_nothing_else_is_listed(self):
        one, two = (self.schedule(share_ids=[self.share['id']], name_prefix=name) for name in ('one', 'two'))
        text = f'Made by schedule {one["id"]}.'
        body = {'share_id': self.share['id'], 'name': 'one-2026-01-01-0000', 'description': text}
        own = self.user.ok('POST', '/snapshots', {'snapshot': body})['snapshot']
        self.user.wait(f'/snapshots/{own["id"]}', 'snapshot', 'available')
        for made in (one, two):
            self.run_once(made)
        _, first, second = self.snapshots(self.share)
        self.assertEqual(
            [
                ('snapshot', first['id'], one['id'], '2026-01-01T01:00:00.000000'),
                ('snapshot', second['id'], two['id'], '2026-01-01T02:00:00.000000'),
            ],
            [
                (copy['resource_type'], copy['id'], copy['schedule_id'], copy['run_at'])
                for copy in self.copies()
            ],
        )
        self.assertEqual([], self.copies(share=self.user.share()))
        self.user.ok('DELETE', f'/snapshots/{first["id"]}')
        self.service.settled(first['id'])
        self.assertEqual([second['id']], [copy['id'] for copy in self.copies()])
        self.user.ok('DELETE', f'/schedules/{two["id"]}')
        self.assertEqual([], self.copies())

    def test_they_are_of_the_project_of_the_share(self):
        made = self.schedule(share_ids=[self.share['id']])
        self.run_once(made)
        path = f'/shares/{self.share["id"]}/schedule-copies'
        self.assertEqual(404, self.caller('other').call('GET', path)[0])
        self.admin.ok('PUT', f'/shares/{self.share["id"]}', {'share': {'is_public': True}})
        self.assertEqual(403, self.caller('other').call('GET', path)[0])
        self.assertEqual(1, len(self.copies(self.admin)))

    def test_those_of_a_schedule_of_all_projects_are_shown(self):
        made = self.schedule(self.admin, all_projects=True, share_ids=[self.share['id']])
        self.come(made, self.time())
        self.look()
        self.service.settled(made['id'])
        self.assertEqual([made['id']], [copy['schedule_id'] for copy in self.copies()])


class Retention(SchedulesTest):
    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def take(self, name):
        made = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': self.share['id'], 'name': name}})
        return self.user.wait(f'/snapshots/{made["snapshot"]["id"]}', 'snapshot', 'available')

    def test_only_what_the_schedule_made_is_deleted(self):
        self.take('scheduled-2026-01-01-0000')
        made, other = self.schedule(keep={'last': 2}), self.schedule(keep={'last': 1}, name_prefix='other')
        for _ in range(4):
            self.run_once(made)
        self.run_once(other)
        self.assertEqual(['0000', '0300', '0400', 'other-2026-01-01-0500'], self.left(self.share))
        # What a schedule made is its user's when the schedule is gone.
        self.user.ok('DELETE', f'/schedules/{made["id"]}')
        self.run_once(other)
        self.assertEqual(['0000', '0300', '0400', 'other-2026-01-01-0600'], self.left(self.share))

    def test_the_last_good_one_stays_when_newer_ones_fail(self):
        made = self.schedule(keep={'last': 1})
        good = self.run_once(made)['last_good_at']
        self.service.knob('alpha', 'create_snapshot:fail_final')
        for _ in range(2):
            ended = self.run_once(made)
            self.assertEqual(good, ended['last_good_at'])
            self.assertIn('ended in error', ended['problem'])
        self.assertEqual(['0100', '0300'], self.left(self.share))  # the good one, and the newest failure
        self.service.knob('alpha')
        self.assertIsNone(self.run_once(made)['failing_since'])
        self.assertEqual(['0400'], self.left(self.share))

    def test_a_share_that_went_to_another_project_is_left_alone(self):
        made = self.schedule(keep={'last': 1})
        self.run_once(made)
        listed = f'/shares/{self.share["id"]}/schedule-copies'
        self.assertEqual(1, len(self.user.ok('GET', listed)['schedule_copies']))
        with self.service.services.db.writer() as conn:
            for table, column in (
                (models.shares, models.shares.c.id),
                (models.snapshots, models.snapshots.c.share_id),
            ):
                conn.execute(table.update().where(column == self.share['id']).values(project_id='elsewhere'))
        self.assertEqual([], self.caller('elsewhere').ok('GET', listed)['schedule_copies'])
        self.run_once(made)
        [left] = self.snapshots(self.share, self.caller('elsewhere'))
        self.assertEqual('available', left['status'])
        with self.service.services.db.reader() as conn:
            marked = conn.execute(
                sa.select(models.schedule_copies.c.resource_id).where(
                    models.schedule_copies.c.schedule_id == made['id']
                )
            ).all()
        self.assertEqual([], marked)


class InError(SchedulesTest):
    """Copies that an administrator sets to error."""

    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def set_to_error(self, snapshot):
        self.admin.ok('POST', f'/snapshots/{snapshot["id"]}/action', {'reset_status': {'status': 'error'}})

    def test_one_that_is_being_made_ends_the_run_is_told_once_and_goes_when_a_newer_one_is_good(self):
        made = self.schedule(keep={'last': 1})
        self.service.knob('alpha', 'create_snapshot:hang')
        self.come(made, self.time())
        self.look()
        [hanging] = waiting.until(
            lambda: [one for one in self.snapshots(self.share) if one['status'] == 'creating'],
            'a copy is being made',
        )
        self.assertEqual('open', self.operations(made)[-1]['state'])
        self.set_to_error(hanging)
        waiting.until(lambda: self.show(made)['problem'], 'the run ends')
        self.service.knob('alpha')
        self.service.settled(made['id'])
        self.assertIn(
            f'Snapshot {hanging["id"]} of {self.share["id"]} ended in error', self.show(made)['problem']
        )
        [message] = self.messages(made)
        self.assertIn('ended in error', message['user_message'])
        self.assertEqual(['0100'], self.left(self.share))
        self.assertIsNone(self.run_once(made)['problem'])
        self.assertEqual(['0200'], self.left(self.share))
        self.assertEqual(1, len(self.messages(made)))

    def test_one_that_was_good_takes_no_place_and_stays_as_long_as_a_good_one(self):
        made = self.schedule(keep={'last': 2})
        for _ in range(2):
            self.run_once(made)
        self.set_to_error(self.snapshots(self.share)[1])
        self.assertIsNone(self.run_once(made)['problem'])
        self.assertEqual(['0100', '0200', '0300'], self.left(self.share))  # two that are good
        self.assertIsNone(self.run_once(made)['problem'])
        self.assertEqual(['0300', '0400'], self.left(self.share))
        self.assertEqual([], self.messages(made))

    def test_its_owner_may_delete_it(self):
        made = self.schedule(keep={'last': 2})
        self.run_once(made)
        [copy] = self.snapshots(self.share)
        self.set_to_error(copy)
        self.user.ok('DELETE', f'/snapshots/{copy["id"]}')
        self.assertEqual([], self.left(self.share))
        self.assertIsNone(self.run_once(made)['problem'])
        self.assertEqual(['0200'], self.left(self.share))


class Refusals(SchedulesTest):
    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def test_what_does_not_fit_into_the_quota_is_told_once(self):
        made = self.schedule()
        self.run_once(made)
        self.set_quota(snapshots=1)
        for _ in range(3):
            ended = self.run_once(made)
        self.assertIn('Quota exceeded for snapshots', ended['problem'])
        [message] = self.messages(made)
        self.assertEqual(('SCHEDULE', '930'), (message['resource_type'], message['action_id']))
        self.assertIn(
            'run schedule: 1 problem in the run of 2026-01-01 02:00 UTC. Quota', message['user_message']
        )
        self.assertEqual(
            ['done', 'failed', 'failed', 'failed'], [op['state'] for op in self.operations(made)]
        )
        self.assertEqual(1, len(self.snapshots()))
        self.set_quota(snapshots=9)
        self.assertIsNone(self.run_once(made)['problem'])
        self.set_quota(snapshots=2)
        self.run_once(made)
        self.assertEqual(2, len(self.messages(made)))

    def test_a_busy_share_is_tried_again_and_keeps_no_other_waiting(self):
        other = self.user.share()
        self.admin.action(self.share['id'], 'reset_status', {'status': 'migrating'})
        made = self.schedule()
        self.come(made, self.time())
        self.look()
        waiting.until(lambda: self.snapshots(other), 'the other share has a snapshot')
        self.assertEqual([], self.snapshots(self.share))
        self.admin.action(self.share['id'], 'reset_status', {'status': 'available'})
        self.service.settled(made['id'])
        self.assertIsNone(self.show(made)['problem'])
        self.assertEqual([1, 1], [len(self.snapshots(share)) for share in (self.share, other)])

    def test_a_broken_share_keeps_no_run_open(self):
        other = self.user.share()
        self.admin.action(self.share['id'], 'reset_status', {'status': 'error'})
        made = self.schedule()
        self.assertIn(self.share['id'], self.run_once(made)['problem'])
        self.assertEqual([0, 1], [len(self.snapshots(share)) for share in (self.share, other)])

    def test_policies_hold_at_the_time_of_the_run(self):
        made = self.schedule(keep={'last': 1})
        self.run_once(made)
        for rule, words in (
            ('share:create_snapshot', 'The policy share:create_snapshot does not allow this'),
            ('share:delete_snapshot', 'The policy share:delete_snapshot does not allow this'),
        ):
            with policy_rules.PolicyRules(self.service.services.enforcer, {rule: _checks.FalseCheck()}):
                self.assertIn(words, self.run_once(made)['problem'])
        self.assertIsNone(self.run_once(made)['problem'])
