# SPDX-License-Identifier: Apache-2.0
"""Backups of shares, restored to the same share or to another."""

import sqlalchemy as sa
from manilaclient.common.constants import BACKUP_SORT_KEY_VALUES

from manila_lite import doctor
from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db.queries import access
from manila_lite.tests.functional import base, refused
from manila_lite.tests.services import hearing

_EXPERIMENTAL = {versions.EXPERIMENTAL_HEADER: 'true'}


class Api(base.Api):
    """A caller that sends the header for experimental APIs."""

    def call(self, method, path, body=None, *, version=None, headers=None):
        return super().call(method, path, body, version=version, headers={**_EXPERIMENTAL, **(headers or {})})


class BackingUp(base.ServiceTest):
    """Helpers to make and restore backups."""

    BACKENDS = {'alpha': '', 'beta': ''}
    EXTRA = '[quota]\nbackups = -1\nbackup_gigabytes = -1\nshares = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin = Api(cls.service.app)

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    def caller(self, project='p', user='u', roles='member,reader', version=base.LATEST):
        return Api(self.service.app, user, project, roles, version)

    def driver(self, share):
        """Return the driver of the share's backend, and the id of the share's instance."""
        shown = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
        [instance] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return self.service.managers[shown['host'].partition('@')[2].partition('#')[0]].driver, instance['id']

    def write(self, share, content):
        driver, share_id = self.driver(share)
        driver.write(share_id, content)

    def read(self, share):
        driver, share_id = self.driver(share)
        return driver.read(share_id)

    def back_up(self, share, caller=None, wait='available', **more):
        """Make a backup of the share; return it."""
        caller = caller or self.admin
        made = caller.ok('POST', '/share-backups', {'share_backup': {'share_id': share['id'], **more}})[
            'share_backup'
        ]
        return caller.wait(f'/share-backups/{made["id"]}', 'share_backup', wait) if wait else made

    def act(self, backup, action, body=None, caller=None, **more):
        return (caller or self.admin).call(
            'POST', f'/share-backups/{backup["id"]}/action', {action: body}, **more
        )[:2]

    def is_now(self, share, status):
        return self.admin.wait(f'/shares/{share["id"]}', 'share', status)

    def backup_is_now(self, backup, status):
        return self.admin.wait(f'/share-backups/{backup["id"]}', 'share_backup', status)

    def refused(self, status, reason, method, path, body=None, caller=None):
        got, document, _ = (caller or self.admin).call(method, path, body)
        [fault] = document.values()
        self.assertEqual((status, reason), (got, fault['reason']), document)

    def hang(self, share, knob):
        """Set a fault (``knob``) at the share's backend; return the function that removes it."""
        backend = self.driver(share)[0].backend.name
        self.service.knob(backend, knob)
        return lambda: self.service.knob(backend, '')


class Copies(BackingUp):
    def test_a_share_is_backed_up_and_restored(self):
        share = self.admin.share()
        self.write(share, 'before')
        go_on = self.hang(share, 'create_backup_continue:hang')
        made = self.back_up(share, wait=None, name='first', description='of all')
        self.assertEqual(
            ('creating', 1, 'first', 'of all', '0', '0', 'nightly', 'share'),
            tuple(
                made[name]
                for name in (
                    'status',
                    'size',
                    'name',
                    'description',
                    'progress',
                    'restore_progress',
                    'backup_type',
                    'topic',
                )
            ),
        )
        self.assertEqual('backup_creating', self.is_now(share, 'backup_creating')['status'])
        go_on()
        made = self.backup_is_now(made, 'available')
        self.assertEqual(('100', '0'), (made['progress'], made['restore_progress']))
        self.is_now(share, 'available')
        self.write(share, 'after')
        go_on = self.hang(share, 'restore_backup_continue:hang')
        self.assertEqual(
            (202, {'restore': {'backup_id': made['id'], 'share_id': share['id']}}), self.act(made, 'restore')
        )
        self.is_now(share, 'backup_restoring')
        self.assertEqual(
            'restoring', self.admin.ok('GET', f'/share-backups/{made["id"]}')['share_backup']['status']
        )
        go_on()
        self.assertEqual(made['id'], self.is_now(share, 'available')['source_backup_id'])
        self.assertEqual('100', self.backup_is_now(made, 'available')['restore_progress'])
        self.assertEqual('before', self.read(share))

    def test_backup_is_restored_to_a_share_on_another_backend(self):
        caller = self.caller()
        source, target = caller.share(), caller.share(size=2)
        while self.driver(target)[0].backend.name == self.driver(source)[0].backend.name:
            target = caller.share(size=2)
        self.write(source, 'much')
        backup = self.back_up(source, caller, backup_options={'backup_type': 'weekly'})
        self.assertEqual('weekly', backup['backup_type'])
        self.assertEqual(
            (202, {'restore': {'backup_id': backup['id'], 'share_id': target['id']}}),
            self.act(backup, 'restore', target['id'], caller),
        )
        self.assertEqual(backup['id'], self.is_now(target, 'available')['source_backup_id'])
        self.assertEqual(('much', 'much'), (self.read(target), self.read(source)))
        self.assertIsNone(self.is_now(source, 'available')['source_backup_id'])
        self.backup_is_now(backup, 'available')
        self.assertEqual(400, self.act(backup, 'restore', target['id'], caller, version='2.90')[0])

    def test_deleted_backup_is_removed_from_the_backend(self):
        share = self.admin.share()
        backup = self.back_up(share)
        store = self.driver(share)[0].store
        self.assertIsNotNone(store.backups.get(backup['id']))
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')
        self.assertIsNone(store.backups.get(backup['id']))
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.is_now(share, 'gone')

    def test_notifications_are_sent_for_creation_restore_and_deletion(self):
        share, heard = self.admin.share(), self.useFixture(hearing.Heard(self.service.conf))
        backup = self.back_up(share)
        self.assertEqual(202, self.act(backup, 'restore')[0])
        self.is_now(share, 'available')
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')
        about = {
            'backup_id': backup['id'],
            'share_id': share['id'],
            'size': 1,
            'backup_type': 'nightly',
            'owner': 'p',
        }
        for verb in ('create', 'restore', 'delete'):
            for end in ('start', 'end'):
                heard.wait(f'share_backup.{verb}.{end}', **about)
        self.assertEqual(6, len(heard.of(backup_id=backup['id'])))

    def test_name_and_description_can_be_changed(self):
        caller = self.caller()
        backup = self.back_up(caller.share(), caller, name='old')
        shown = caller.ok(
            'PUT', f'/share-backups/{backup["id"]}', {'share_backup': {'name': 'new', 'description': 'long'}}
        )
        self.assertEqual(
            ('new', 'long'), (shown['share_backup']['name'], shown['share_backup']['description'])
        )
        self.assertNotIn('host', shown['share_backup'])
        for version, there in (('2.84', False), ('2.85', True)):
            shown = caller.ok('GET', f'/share-backups/{backup["id"]}', version=version)['share_backup']
            self.assertEqual(there, 'backup_type' in shown)
        self.assertEqual(404, caller.call('GET', f'/share-backups/{backup["id"]}', version='2.79')[0])
        plain = base.Api(self.service.app, 'u', 'p', 'member,reader')
        self.assertEqual(404, plain.call('GET', f'/share-backups/{backup["id"]}')[0])  # without the header

    def test_lists_are_filtered_sorted_and_paged(self):
        caller = self.caller('lists')
        shares = [caller.share(), caller.share()]
        made = [
            self.back_up(shares[number % 2], caller, name=f'number {number}')['id'] for number in range(3)
        ]
        for path in ('/share-backups', '/share-backups/detail'):

            def seen(query, path=path, who=caller):
                return [row['id'] for row in who.ok('GET', f'{path}?{query}')['share_backups']]

            self.assertEqual(made, seen('sort_key=name&sort_dir=asc'))
            self.assertEqual(made[::-1], seen(''))
            self.assertEqual([made[1]], seen(f'share_id={shares[1]["id"]}'))
            self.assertEqual([made[2]], seen('name=number 2'))
            self.assertEqual(made[::-1], seen('name~=NUMBER'))
            self.assertEqual([], seen('status=error'))
            self.assertEqual([made[1]], seen('sort_key=name&sort_dir=asc&limit=1&offset=1'))
            self.assertEqual([], seen('', who=self.caller('nobody')))
            self.assertEqual(made[::-1], seen('all_tenants=1&project_id=lists', who=self.admin))
            self.assertEqual([], seen('topic=data&all_tenants=1', who=self.admin))
            counted = caller.ok('GET', f'{path}?limit=2&with_count=true')
            self.assertEqual((3, 2), (counted['count'], len(counted['share_backups'])))
            self.assertEqual('next', counted['share_backups_links'][0]['rel'])
            self.assertEqual([], seen('all_tenants=1&project_id=lists', who=self.caller('nobody')))
            for key in BACKUP_SORT_KEY_VALUES:
                query = f'sort_key={key}&sort_dir=desc&all_tenants=1&project_id=lists'
                self.assertEqual(set(made), set(seen(query, who=self.admin)), key)
            self.assertEqual(
                [made[0]],
                seen(f'sort_key=name&limit=5&sort_dir=asc&name=number 0&share_id={shares[0]["id"]}'),
            )


class Refusals(BackingUp):
    def test_second_backup_and_restore_are_refused_during_a_backup(self):
        share = self.admin.share()
        backup = self.back_up(share)
        go_on = self.hang(share, 'create_backup_continue:hang')
        second = self.back_up(share, wait=None)
        body = {'share_backup': {'share_id': share['id']}}
        self.refused(400, 'wrong_state', 'POST', '/share-backups', body)
        self.refused(400, 'wrong_state', 'POST', f'/share-backups/{backup["id"]}/action', {'restore': None})
        self.refused(400, 'wrong_state', 'DELETE', f'/share-backups/{second["id"]}')
        self.assertEqual(
            400, self.admin.call('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})[0]
        )
        go_on()
        self.backup_is_now(second, 'available')
        self.is_now(share, 'available')

    def test_share_with_backups_cannot_be_deleted_unmanaged_or_transferred(self):
        share = self.admin.share()
        backup = self.back_up(share)
        self.refused(403, 'share_has_backups', 'DELETE', f'/shares/{share["id"]}')
        for action in ('soft_delete', 'force_delete', 'unmanage'):
            self.refused(403, 'share_has_backups', 'POST', f'/shares/{share["id"]}/action', {action: None})
        self.refused(
            403, 'share_has_backups', 'POST', '/share-transfers', {'transfer': {'share_id': share['id']}}
        )
        self.assertEqual('available', self.is_now(share, 'available')['status'])
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')

    def test_restore_to_a_smaller_share_is_refused(self):
        small, large = self.admin.share(), self.admin.share(size=2)
        backup = self.back_up(large)
        self.refused(
            409, 'share_too_small', 'POST', f'/share-backups/{backup["id"]}/action', {'restore': small['id']}
        )
        self.assertEqual('available', self.backup_is_now(backup, 'available')['status'])
        self.is_now(small, 'available')

    def test_restore_to_a_locked_share_is_refused(self):
        share = self.admin.share()
        backup = self.back_up(share)
        lock = self.admin.ok(
            'POST',
            '/resource-locks',
            {
                'resource_lock': {
                    'resource_id': share['id'],
                    'resource_type': 'share',
                    'lock_reason': 'mounted by Nova',
                }
            },
        )['resource_lock']
        self.refused(409, 'share_locked', 'POST', f'/share-backups/{backup["id"]}/action', {'restore': None})
        self.is_now(share, 'available')
        self.back_up(share)  # which does not change the share
        self.assertEqual(
            'mounted by Nova',
            self.admin.ok('GET', f'/resource-locks/{lock["id"]}')['resource_lock']['lock_reason'],
        )
        self.admin.ok('DELETE', f'/resource-locks/{lock["id"]}')
        self.assertEqual(202, self.act(backup, 'restore')[0])
        self.is_now(share, 'available')

    def test_invalid_requests_are_refused(self):
        share = self.admin.share()
        for more, reason in (
            ({'share_id': '00000000-0000-4000-8000-000000000000'}, 'share_not_found'),
            ({'backup_options': {'backup_type': 'yearly'}}, 'invalid_input'),
        ):
            self.refused(
                400, reason, 'POST', '/share-backups', {'share_backup': {'share_id': share['id'], **more}}
            )
        self.assertEqual(422, self.admin.call('POST', '/share-backups', {})[0])
        backup = self.back_up(share)
        self.refused(
            400,
            'share_not_found',
            'POST',
            f'/share-backups/{backup["id"]}/action',
            {'restore': '00000000-0000-4000-8000-000000000000'},
        )
        self.assertEqual(400, self.act(backup, 'restore', 'nothing')[0])
        self.assertEqual(400, self.act(backup, 'reset_status', {'status': 'strange'})[0])
        self.is_now(share, 'available')

    def test_restore_to_a_share_of_another_project_is_refused(self):
        mine, theirs = self.caller('mine'), self.caller('theirs')
        backup, foreign = self.back_up(mine.share(), mine), theirs.share()
        self.refused(
            400,
            'share_not_found',
            'POST',
            f'/share-backups/{backup["id"]}/action',
            {'restore': foreign['id']},
            mine,
        )
        self.assertEqual(404, self.act(backup, 'restore', foreign['id'], theirs)[0])
        self.refused(
            400,
            'share_not_found',
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': foreign['id']}},
            mine,
        )
        self.is_now(foreign, 'available')

    def test_share_with_snapshots_is_not_backed_up(self):
        share = self.admin.share()
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.refused(
            400, 'share_has_snapshots', 'POST', '/share-backups', {'share_backup': {'share_id': share['id']}}
        )
        self.is_now(share, 'available')
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.back_up(share)

    def test_options_of_other_drivers_are_ignored_and_named(self):
        share, ignored = self.admin.share(), {'backup_type': 'weekly', 'compress': 'yes'}
        status, document, headers = self.admin.call(
            'POST', '/share-backups', {'share_backup': {'share_id': share['id'], 'backup_options': ignored}}
        )
        self.assertEqual(202, status, document)
        self.assertEqual('share_backup.backup_options.compress', headers['X-OpenStack-Manila-Ignored-Fields'])

    def test_backup_is_refused_without_a_configured_type(self):
        share = self.admin.share()
        self.service.conf.set_override('enabled_backup_types', [])
        self.addCleanup(self.service.conf.clear_override, 'enabled_backup_types')
        self.refused(
            409,
            'backups_not_configured',
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': share['id']}},
        )

    def test_the_quota_counts_backups_and_their_size(self):
        caller = self.caller('poor')
        share = caller.share(size=2)
        for limits, over in (
            ({'backups': 1, 'backup_gigabytes': -1}, 'backups'),
            ({'backups': -1, 'backup_gigabytes': 3}, 'backup_gigabytes'),
        ):
            self.admin.ok('PUT', '/quota-sets/poor', {'quota_set': limits})
            backup = self.back_up(share, caller)
            caller.wait(f'/shares/{share["id"]}', 'share', 'available')
            body = {'share_backup': {'share_id': share['id']}}
            self.refused(413, f'over_quota_{over}', 'POST', '/share-backups', body, caller)
            self.is_now(share, 'available')
            used = self.admin.ok('GET', '/quota-sets/poor/detail')['quota_set']
            self.assertEqual((1, 2), (used['backups']['in_use'], used['backup_gigabytes']['in_use']))
            self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
            self.backup_is_now(backup, 'gone')
        self.assertEqual(0, self.admin.ok('GET', '/quota-sets/poor/detail')['quota_set']['backups']['in_use'])

    def test_backup_counts_in_the_quota_of_the_user_that_makes_it(self):
        """Count a backup for the user that makes it, not for the user that made the share."""
        share, other = self.caller('both', 'one').share(), self.caller('both', 'other')
        self.admin.ok('PUT', '/quota-sets/both?user_id=other', {'quota_set': {'backups': 1}})
        self.back_up(share, other)
        self.is_now(share, 'available')
        self.refused(
            413,
            'over_quota_backups',
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': share['id']}},
            other,
        )
        self.back_up(share, self.caller('both', 'one'))
        used = self.admin.ok('GET', '/quota-sets/both/detail?user_id=other')['quota_set']['backups']
        self.assertEqual((1, 1), (used['in_use'], used['limit']))


class Admitted(refused.Refusing):
    """Clients that copied to or from backups, and still have access; no worker withdraws it."""

    def test_client_that_copied_the_backup_gets_no_access_to_the_restore_target(self):
        share, target = self.share(), self.share()
        backup = self.backup(share)
        self.put(models.share_backups, backup, copy_client='192.0.2.33')
        self.user.ok('POST', f'/share-backups/{backup}/action', {'restore': target})
        with self.service.services.db.reader() as conn:
            self.assertEqual({}, access.rules_in_force(conn, (share, target)))
            self.assertEqual([], access.copy_clients_of(conn, (share, target)))


class Failures(BackingUp):
    def test_failed_backup_is_in_error_and_removed_from_the_backend(self):
        caller = self.caller('unlucky')
        share = caller.share()
        self.hang(share, 'create_backup_continue:fail_final')
        backup = self.back_up(share, caller, wait='error')
        self.is_now(share, 'available')
        self.assertIsNone(self.driver(share)[0].store.backups.get(backup['id']))
        [told] = caller.ok('GET', f'/messages?resource_id={backup["id"]}')['messages']
        self.assertEqual(('SHARE_BACKUP', '002'), (told['resource_type'], told['action_id']))
        caller.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')

    def test_failed_restore_can_be_repeated(self):
        share = self.admin.share()
        self.write(share, 'before')
        backup = self.back_up(share)
        go_on = self.hang(share, 'restore_backup_continue:fail_final')
        self.assertEqual(202, self.act(backup, 'restore')[0])
        self.is_now(share, 'backup_restoring_error')
        self.backup_is_now(backup, 'available')
        [told] = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        self.assertEqual(('SHARE', '910'), (told['resource_type'], told['action_id']))
        go_on()
        self.write(share, 'half')
        self.assertEqual(202, self.act(backup, 'restore')[0])  # once more, from this status
        self.is_now(share, 'available')
        self.assertEqual('before', self.read(share))

    def test_failed_deletion_can_be_repeated(self):
        share = self.admin.share()
        backup = self.back_up(share)
        go_on = self.hang(share, 'delete_backup:fail_final')
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}', wait=False)
        self.backup_is_now(backup, 'error_deleting')
        go_on()
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')

    def test_deletion_waits_for_an_earlier_deletion_ended_by_a_reset(self):
        """Begin no second deletion of a backup while the backend still works on one that a reset ended."""
        share = self.admin.share()
        backup, other = (self.back_up(self.is_now(share, 'available')) for _ in range(2))
        store, go_on = self.driver(share)[0].store, self.hang(share, 'delete_backup:hang')
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}', wait=False)
        base.eventually(
            lambda: any(backup['id'] in ids for _, ids in store.calls('delete_backup')),
            'the backend is not asked',
        )
        self.act(backup, 'reset_status', {'status': 'error'})
        for one in (backup, other):  # workers take them in this order
            self.admin.ok('DELETE', f'/share-backups/{one["id"]}', wait=False)
        base.eventually(lambda: self.worker_of(other), 'nobody works on the other')
        self.assertIsNone(self.worker_of(backup))
        go_on()
        for one in (backup, other):
            self.backup_is_now(one, 'gone')

    def worker_of(self, backup):
        """Return the owner of the claim on the backup's open deletion, or None."""
        with self.service.services.db.reader() as conn:
            return conn.execute(
                sa.select(models.operations.c.owner).where(
                    models.operations.c.resource_id == backup['id'], models.operations.c.state == 'open'
                )
            ).scalar_one()

    def test_status_resets_end_running_backups_and_restores(self):
        share = self.admin.share()
        go_on = self.hang(share, 'create_backup_continue:hang')
        backup = self.back_up(share, wait=None)
        self.is_now(share, 'backup_creating')
        self.assertEqual(202, self.act(backup, 'reset_status', {'status': 'error'})[0])
        self.is_now(share, 'available')
        go_on()
        backup = self.back_up(share)
        go_on = self.hang(share, 'restore_backup_continue:hang')
        self.assertEqual(202, self.act(backup, 'restore')[0])
        self.is_now(share, 'backup_restoring')
        self.assertEqual(202, self.admin.action(share['id'], 'reset_status', {'status': 'available'})[0])
        self.backup_is_now(backup, 'available')
        go_on()
        self.back_up(share)
        self.is_now(share, 'available')

    def test_backup_fails_when_its_status_is_changed_meanwhile(self):
        share = self.admin.share()
        driver, instance = self.driver(share)
        go_on = self.hang(share, 'create_backup:hang')
        backup = self.back_up(share, wait=None)
        base.eventually(
            lambda: ('create_backup', instance) in driver.store.calls(), 'the backend is not asked'
        )
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_backups.update()
                .where(models.share_backups.c.id == backup['id'])
                .values(status='error')
            )
        go_on()
        path = f'/operations?resource_id={backup["id"]}&all_tenants=1'
        base.eventually(
            lambda: self.admin.ok('GET', path)['operations'][0]['state'] != 'open', 'the work does not end'
        )
        [work] = self.admin.ok('GET', path)['operations']
        self.assertEqual(
            ('failed', f'The work on backup {backup["id"]} was stopped: its status is error.'),
            (work['state'], work['error']),
        )
        self.assertIsNone(driver.store.backups.get(backup['id']))
        self.assertEqual(
            'error', self.admin.ok('GET', f'/share-backups/{backup["id"]}')['share_backup']['status']
        )

    def test_doctor_repairs_only_a_backup_without_an_operation(self):
        share = self.admin.share()
        go_on = self.hang(share, 'create_backup_continue:hang')
        backup = self.back_up(share, wait=None)
        mine = share['id'], backup['id']
        found = {
            finding.id: finding
            for finding in doctor.list_findings(self.service.services)
            if finding.id in mine
        }
        self.assertEqual({False}, {finding.wrong for finding in found.values()})
        self.assertEqual(2, len(found))
        go_on()
        self.backup_is_now(backup, 'available')
        self.act(backup, 'reset_status', {'status': 'restoring'})
        self.admin.action(share['id'], 'reset_status', {'status': 'available'})
        [finding] = [
            finding for finding in doctor.list_findings(self.service.services) if finding.id == backup['id']
        ]
        self.assertTrue(finding.wrong)
        doctor.mend(self.service.services, finding)
        self.backup_is_now(backup, 'available')
