# SPDX-License-Identifier: Apache-2.0
"""Shares that are mounted for a backup: access of the host that copies, and its end."""

import dataclasses
import math
import os
import signal

import testtools

from manila_lite.db.queries import operations, share_backups
from manila_lite.drivers.dummy.store import Store
from manila_lite.manager.plans import share_backups as backup_plans
from manila_lite.tests import process
from manila_lite.tests.functional.backups.test_share_backups import BackingUp


class LetIn(BackingUp):
    """Helpers to see the access rules that are in force at a backend."""

    def in_force(self, share):
        driver, share_id = self.driver(share)
        return sorted((to, level) for _, to, level in driver.store.share(share_id).rules.values())

    def until(self, share, rules):
        process.until(
            lambda: self.in_force(share) == rules,
            f'{rules} are in force',
            lambda: f'{self.in_force(share)} are',
        )

    def is_told(self, share):
        process.until(lambda: not self.open_syncs(share), 'it was told', lambda: '')

    def open_syncs(self, share):
        with self.service.services.db.reader() as conn:
            return operations.is_open(conn, f'access:{share["id"]}')


class OverNfs(LetIn):
    """A backend whose shares are mounted for backups. Mounts of the dummy's shares fail; for mounts that work
    see ``linux/test_kernel_backups.py``.
    """

    BACKENDS = {'alpha': 'backup_over_nfs = true\nbackup_client_ip = 192.0.2.33\n'}

    def rule(self, share, to, level):
        self.admin.ok(
            'POST',
            f'/shares/{share["id"]}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': to, 'access_level': level}},
        )
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')

    def test_backup_host_has_access_only_during_the_backup(self):
        share = self.admin.share()
        self.rule(share, '10.0.0.5', 'ro')
        backup = self.back_up(share, wait=None)
        self.until(share, [('10.0.0.5', 'ro'), ('192.0.2.33', 'ro')])
        self.assertEqual(
            1, len(self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list'])
        )
        self.backup_is_now(backup, 'error')
        self.is_now(share, 'available')
        self.until(share, [('10.0.0.5', 'ro')])

    def copy_client(self, backup):
        with self.service.services.db.reader() as conn:
            return share_backups.find(conn, backup['id']).copy_client

    def test_existing_access_rule_of_the_backup_host_is_restored(self):
        share = self.admin.share()
        self.rule(share, '192.0.2.33/32', 'ro')
        backup = self.back_up(share, wait='error')
        self.is_now(share, 'available')
        self.until(share, [('192.0.2.33/32', 'ro')])
        self.assertEqual(202, self.act(backup, 'reset_status', {'status': 'available'})[0])
        self.assertEqual(202, self.act(backup, 'restore')[0])
        self.until(share, [('192.0.2.33/32', 'rw')])
        self.is_now(share, 'backup_restoring_error')
        self.until(share, [('192.0.2.33/32', 'ro')])
        [rule] = self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
        self.assertEqual(('ro', 'active'), (rule['access_level'], rule['state']))

    def not_shut_out(self, share):
        """Make a backup whose copying client keeps its access, as the backend fails; return it, and a function to end that."""
        backup = self.back_up(share, wait=None)
        self.until(share, [('192.0.2.33', 'ro')])
        go_on = self.hang(share, 'update_access:fail_final')
        self.backup_is_now(backup, 'error')
        self.is_told(share)
        return backup, go_on

    def test_access_of_the_backup_host_is_removed_by_a_later_try(self):
        share = self.admin.share()
        backup, go_on = self.not_shut_out(share)
        self.assertEqual('192.0.2.33', self.copy_client(backup))
        # No message: the owner did not ask for this rule, and cannot remove it.
        self.assertEqual([], self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages'])
        go_on()
        self.service.managers['alpha']._work_if_may(backup_plans.clean)
        self.until(share, [])
        process.until(lambda: self.copy_client(backup) is None, 'that is known', lambda: '')

    def test_removal_of_access_is_retried_less_and_less_often(self):
        share, manager = self.admin.share(), self.service.managers['alpha']
        backup, go_on = self.not_shut_out(share)
        tries = manager.shut_out_tries

        def look(*, due=False):
            if due:
                tries[share['id']] = 0.0, tries[share['id']][1]
            manager._work_if_may(backup_plans.clean)
            self.is_told(share)
            return self.times_told(share), tries[share['id']][1]

        # The first look may be this one or the timer's.
        told, pause = look()
        self.assertEqual(60, pause)
        self.assertEqual((told, pause), look())
        for longer in (120, 240, 480, 960, 1920, 3600, 3600):
            told += 1
            self.assertEqual((told, longer), look(due=True))
            self.assertEqual((told, longer), look())
        go_on()
        tries[share['id']] = 0.0, pause
        manager._work_if_may(backup_plans.clean)
        process.until(lambda: self.copy_client(backup) is None, 'that is known', lambda: '')
        manager._work_if_may(backup_plans.clean)
        self.assertNotIn(share['id'], tries)

    def times_told(self, share):
        _, share_id = self.driver(share)
        lines = (self.service.state / 'alpha' / 'calls').read_text().splitlines()
        return sum(line.startswith('update_access ') and share_id in line for line in lines)

    def test_backup_of_a_cifs_share_fails_with_a_message(self):
        share = self.admin.share(share_proto='CIFS')
        backup = self.back_up(share, wait='error')
        [told] = self.admin.ok('GET', f'/messages?resource_id={backup["id"]}')['messages']
        self.assertIn('needs an NFS share, and this one is CIFS', told['user_message'])


class OverNfsBefore(LetIn):
    """A backend whose shares were mounted for backups, until an operator chose another way."""

    BACKENDS = {'alpha': ''}

    def test_deleting_a_backup_removes_the_access_of_its_host(self):
        share = self.admin.share()
        backup = self.back_up(share)
        driver, share_id = self.driver(share)
        with self.service.services.db.writer() as conn:
            share_backups.update(conn, backup['id'], copy_client='192.0.2.33')
        self.service.managers['alpha'].shut_out_tries[share['id']] = (
            math.inf,
            0.0,
        )  # keep the timer from doing it
        with driver.store.locked():
            driver.store.shares.put(
                dataclasses.replace(
                    driver.store.share(share_id), rules={backup['id']: ['ip', '192.0.2.33', 'ro']}
                )
            )
        self.admin.ok('DELETE', f'/share-backups/{backup["id"]}')
        self.backup_is_now(backup, 'gone')
        self.is_told(share)
        self.assertEqual([], self.in_force(share))


class TakenOver(testtools.TestCase):
    """Two share managers for one backend, which mount shares from two addresses, as if on two hosts."""

    FIRST, SECOND = '192.0.2.33', '192.0.2.44'

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(
            process.Parts(
                'enabled_backup_types = nightly\n[nightly]\nbackup_continue_update_interval = 0.2\n',
                f'driver = dummy\nbackup_over_nfs = true\nbackup_client_ip = {self.FIRST}\n',
            )
        )
        # A mount that fails is tried again only after each of the two had a turn.
        self.parts.edit('retry_delay = 0.1', 'retry_delay = 2')
        self.first = self.parts.begin()
        other = self.parts.state / 'other.conf'
        other.write_text(self.parts.config.read_text().replace(self.FIRST, self.SECOND))
        self.parts.run('share', config=other)
        self.parts.until(lambda: 'works there; waiting' in self.parts.log.read_text(), 'the second waits')

    def is_let_in(self, share, *addresses):
        [instance] = self.parts.ok('GET', f'/shares/{share}/instances')['share_instances']
        store = Store(self.parts.state / 'alpha')

        def seen():
            return sorted(to for _, to, _ in store.share(instance['id']).rules.values())

        process.until(
            lambda: seen() == sorted(addresses),
            f'{addresses} are let in',
            lambda: f'{seen()}\n{self.parts.tail()}',
        )

    def test_only_the_host_that_copies_has_access(self):
        share = self.parts.share()
        self.parts.wait(f'/shares/{share}', 'share', 'available')
        backup = self.parts.ok('POST', '/share-backups', {'share_backup': {'share_id': share}})[
            'share_backup'
        ]['id']
        self.is_let_in(share, self.FIRST)
        os.killpg(self.first.pid, signal.SIGKILL)
        self.is_let_in(share, self.SECOND)
        self.parts.wait(f'/share-backups/{backup}', 'share_backup', 'error')
        self.parts.wait(f'/shares/{share}', 'share', 'available')
        self.is_let_in(share)
