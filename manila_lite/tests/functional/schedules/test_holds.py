# SPDX-License-Identifier: Apache-2.0
"""Retention leaves alone: copies that their owners hold, copies in use, and snapshots that only look like copies."""

from manila_lite.tests.functional.schedules.scheduling import SchedulesTest

_EXPERIMENTAL = {'X-OpenStack-Manila-API-Experimental': 'true'}
_HOLD = 'schedule:hold'


class HoldsTest(SchedulesTest):
    def setUp(self):
        super().setUp()
        self.share = self.user.share()

    def good(self, schedule):
        """Run the schedule, which must be good."""
        ended = self.run_once(schedule)
        self.assertEqual((None, None), (ended['problem'], ended['failing_since']))
        self.assertEqual(ended['last_run_at'], ended['last_good_at'])
        return ended

    def told(self, schedule):
        return [one['user_message'] for one in self.messages(schedule)]


class Holds(HoldsTest):
    def hold(self, snapshot, value):
        self.user.ok('POST', f'/snapshots/{snapshot["id"]}/metadata', {'metadata': {_HOLD: value}})

    def test_a_snapshot_that_is_held_stays_and_is_told_of_once(self):
        made, other = self.schedule(keep={'last': 1}), self.user.share()
        self.good(made)
        [first] = self.snapshots(self.share)
        self.hold(first, 'for the auditor')
        for _ in range(3):
            self.good(made)
        self.assertEqual(['0100', '0400'], self.left(self.share))
        self.assertEqual(['0400'], self.left(other))  # the others go on
        [message] = self.told(made)
        self.assertIn(
            'cannot be deleted now. The next run tries again. '
            f'Snapshot {first["id"]}: It has the property {_HOLD}; it stays until that is removed.',
            message,
        )
        self.assertEqual(
            ['done'] * 4, [op['state'] for op in self.operations(made)]
        )  # a hold is no failure of the run

        self.user.ok('DELETE', f'/snapshots/{first["id"]}/metadata/{_HOLD}')
        self.good(made)
        self.assertEqual(['0500'], self.left(self.share))
        self.assertEqual(1, len(self.told(made)))
        self.hold(self.snapshots(self.share)[0], 'true')
        self.good(made)
        self.assertEqual(2, len(self.told(made)))  # another hold

    def test_a_hold_that_says_no_is_none(self):
        made = self.schedule(keep={'last': 1})
        self.good(made)
        self.hold(self.snapshots(self.share)[0], 'no')
        self.good(made)
        self.assertEqual((['0200'], []), (self.left(self.share), self.told(made)))

    def test_owners_delete_what_they_hold_themselves(self):
        made = self.schedule(keep={'last': 1})
        self.good(made)
        [first] = self.snapshots(self.share)
        self.hold(first, 'true')
        self.user.ok('DELETE', f'/snapshots/{first["id"]}')
        self.good(made)
        self.assertEqual((['0200'], []), (self.left(self.share), self.told(made)))


class InUse(HoldsTest):
    def test_a_snapshot_that_a_share_is_made_of_stays_and_is_told_of_once(self):
        made = self.schedule(keep={'last': 1}, share_ids=[self.share['id']])
        self.good(made)
        [first] = self.snapshots(self.share)
        self.service.knob('alpha', 'create_share_from_snapshot:hang')
        clone = self.user.share(snapshot_id=first['id'], wait=None)
        self.addCleanup(self.user.wait, f'/shares/{clone["id"]}', 'share', 'available')
        self.addCleanup(self.service.knob, 'alpha')
        for _ in range(3):
            self.good(made)
        self.assertEqual(['0100', '0400'], self.left(self.share))
        [message] = self.told(made)
        self.assertIn(f'Share {clone["id"]} is being created from snapshot {first["id"]}', message)
        self.service.knob('alpha')
        self.user.wait(f'/shares/{clone["id"]}', 'share', 'available')
        self.good(made)
        self.assertEqual(['0500'], self.left(self.share))
        self.assertEqual(1, len(self.told(made)))

    def test_a_backup_that_is_being_restored_stays(self):
        self.admin.ok(
            'PUT', f'/quota-sets/{self.project}', {'quota_set': {'backups': 9, 'backup_gigabytes': 9}}
        )
        target = self.user.share()
        made = self.schedule(action='share_backup', share_ids=[self.share['id']], keep={'last': 1})
        self.good(made)
        [first] = self.backups()
        self.service.knob('alpha', 'restore_backup_continue:hang')
        self.addCleanup(self.service.settled, first)
        self.addCleanup(self.service.knob, 'alpha')
        self.user.ok(
            'POST',
            f'/share-backups/{first}/action',
            {'restore': {'target_share_id': target['id']}},
            headers=_EXPERIMENTAL,
        )
        self.good(made)
        self.assertIn(first, self.backups())
        self.service.knob('alpha')
        self.service.settled(first)
        self.good(made)
        self.service.settled(first)
        self.assertNotIn(first, self.backups())

    def backups(self):
        found = self.user.ok('GET', '/share-backups?sort_dir=asc', headers=_EXPERIMENTAL)['share_backups']
        return [one['id'] for one in found]

    def test_a_lock_of_the_share_keeps_the_share_and_not_its_snapshots(self):
        """The lock of a share stops the deletion of its snapshots neither for its owner nor for a schedule."""
        lock = {'resource_id': self.share['id'], 'resource_type': 'share', 'resource_action': 'delete'}
        self.caller(self.project, 'somebody').ok('POST', '/resource-locks', {'resource_lock': lock})
        made = self.schedule(keep={'last': 1})
        for _ in range(3):
            self.good(made)
        self.assertEqual((['0300'], []), (self.left(self.share), self.told(made)))
        self.assertEqual('available', self.user.ok('GET', f'/shares/{self.share["id"]}')['share']['status'])


class Marks(HoldsTest):
    """A schedule knows its copies by their ids: nothing that a tenant may write makes one, or unmakes it."""

    def rename(self, snapshot, **values):
        self.user.ok('PUT', f'/snapshots/{snapshot["id"]}', {'snapshot': values})

    def test_words_of_a_tenant_neither_make_a_copy_nor_unmake_one(self):
        made = self.schedule(keep={'last': 2})
        self.good(made)
        [copy] = self.snapshots(self.share)
        words = {'name': copy['name'], 'description': copy['description']}
        self.rename(copy, display_name='mine', display_description='not by a schedule')
        body = {'snapshot': {'share_id': self.share['id'], **words}}
        own = self.user.ok('POST', '/snapshots', body)['snapshot']
        self.user.wait(f'/snapshots/{own["id"]}', 'snapshot', 'available')
        self.good(made)
        # Two copies are kept, also the one that was renamed; that of the tenant does not count.
        self.assertEqual(['mine', '0100', '0200'], self.left(self.share))
        for _ in range(2):
            self.good(made)
        self.assertEqual(['0100', '0300', '0400'], self.left(self.share))
        self.assertEqual('available', self.user.ok('GET', f'/snapshots/{own["id"]}')['snapshot']['status'])

    def test_a_copy_that_its_owner_deleted_is_not_missed(self):
        made = self.schedule(keep={'last': 2})
        for _ in range(2):
            self.good(made)
        self.user.ok('DELETE', f'/snapshots/{self.snapshots(self.share)[1]["id"]}')
        self.good(made)
        self.assertEqual(['0100', '0300'], self.left(self.share))
