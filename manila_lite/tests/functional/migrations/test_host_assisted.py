# SPDX-License-Identifier: Apache-2.0
"""A share moves although no driver migrates it: the access of the host that copies, failures, and the end.

The files of the dummy's shares are in a directory of the test, which the host mounts in place of their exports. For real
exports see ``linux/test_host_assisted.py``.
"""

import contextlib
import os
import shutil
import unittest

from manila_lite.drivers.dummy.driver import DummyDriver
from manila_lite.engine import process_names
from manila_lite.host_copy import share_moves
from manila_lite.manager.plans import host_copy
from manila_lite.manager.runtime import backend_lease
from manila_lite.tests.functional import base, commandline
from manila_lite.tests.functional.migrations import test_share_migration

_BACKEND = test_share_migration.BACKEND.format('here')
NOTHING = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': False, 'preserve_metadata': False}
READY, COPYING = 'data_copying_completed', 'data_copying_in_progress'
_ME = '192.0.2.33'


def missing():
    """Return what this machine lacks for mounts and copies, or an empty text."""
    return (
        'root' if os.geteuid() else ', '.join(name for name in ('rsync', 'bwrap') if not shutil.which(name))
    )


class Copied(commandline.OverHttp, test_share_migration.MigrationTest):
    """From ``alpha`` to ``beta``."""

    BACKENDS = {'alpha': _BACKEND, 'beta': _BACKEND, 'live': _BACKEND + 'migration_keep_writable = true\n'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if lacks := missing():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        cls.plain = cls.make_type('plain')
        cls.make_type('mountable', mount_snapshot_support='True')
        cls.place = cls.service.state / 'served'
        cls.place.mkdir()

    def setUp(self):
        super().setUp()
        self.set('data_node_access_ips', [_ME])
        self.set('data_node_local_exports', [f'10.0.0.1:/shares={self.place}'])

    def set(self, name, value):
        conf = self.service.services.conf
        conf.set_override(name, value)
        self.addCleanup(conf.clear_override, name)

    def made(self, **files):
        """Return a share with an access rule and these files."""
        share = self.make()
        self.grant(share)
        folder = self.place / self.instance(share)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        return share

    def begin(self, share, backend='beta', *knobs, mounts=True):
        """Start the migration, and return the id of the target, which can be mounted or not. The destination has these knobs,
        until ``go_on``, from the creation of the target on.
        """
        self.service.knob(backend, 'create_share:hang', *knobs)
        # The driver could migrate it, too.
        self.assertEqual(
            (202, None), self.start(share, f'test@{backend}', **NOTHING, force_host_assisted_migration=True)
        )
        target = self.target(share)
        if mounts:
            (self.place / target).mkdir()
        self.service.knob(backend, *knobs)
        return target

    def go_on(self, backend='beta'):
        self.service.knob(backend, '')

    def target(self, share):
        found = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        [target] = [row['id'] for row in found if row['status'] == 'migrating_to']
        return target

    def rules(self, backend, instance):
        store = self.store(backend)
        with store.locked():
            record = store.shares.get(instance)
            return None if record is None else sorted((to, level) for _, to, level in record.rules.values())

    def until_rules(self, backend, instance, *rules):
        base.eventually(lambda: self.rules(backend, instance) == sorted(rules), f'{rules} are not in force')

    def messages(self, share):
        return ' '.join(
            row['user_message']
            for row in self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
        )

    def has_stayed(self, share, source, state):
        self.task_is(share, state)
        self.is_as_before(share, set())
        self.until_rules('alpha', source, ('10.1.0.0/20', 'rw'))
        self.assertEqual([], list((self.service.state / 'beta' / 'moves').glob('*')))
        self.admin.ok('DELETE', f'/shares/{share["id"]}')

    def test_host_has_access_to_both_sides_until_the_share_has_moved(self):
        share = self.made(f='hello')
        source = self.instance(share)
        target = self.begin(share, 'beta', 'update_access:hang_after')
        self.until_rules('beta', target, (_ME, 'rw'))
        self.go_on()
        self.until_rules('alpha', source, ('10.1.0.0/20', 'ro'), (_ME, 'ro'))
        self.task_is(share, READY)
        [rule] = self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
        self.assertEqual(
            ('10.1.0.0/20', 'rw', 'active'), (rule['access_to'], rule['access_level'], rule['state'])
        )
        told = self.act(share, 'migration_get_progress')[1]
        self.assertEqual((100, 1, 1), (told['total_progress'], told['phase'], told['details']['passes']))
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))
        self.assertEqual('hello', (self.place / target / 'f').read_text())
        self.assertEqual([('10.1.0.0/20', 'rw')], self.rules('beta', target))
        self.assertNotIn(source, self.held('alpha'))
        self.admin.ok('DELETE', f'/shares/{share["id"]}')

    def test_several_addresses_are_admitted_and_one_rule_of_the_user_is_kept(self):
        self.set('data_node_access_ips', [_ME, '192.0.2.34'])
        share = self.made()
        self.grant(share, '192.0.2.34')
        source = self.instance(share)
        target = self.begin(share, 'live')
        self.task_is(share, READY)
        self.until_rules('live', target, (_ME, 'rw'), ('192.0.2.34', 'rw'))
        self.until_rules('alpha', source, ('10.1.0.0/20', 'rw'), (_ME, 'ro'), ('192.0.2.34', 'rw'))
        self.act(share, 'migration_cancel')
        self.task_is(share, 'migration_cancelled')
        self.until_rules('alpha', source, ('10.1.0.0/20', 'rw'), ('192.0.2.34', 'rw'))

    def test_writable_source_is_made_readonly_for_the_last_pass_only(self):
        share = self.made(f='first')
        source = self.instance(share)
        target = self.begin(share, 'live')
        self.task_is(share, READY)
        self.assertEqual([('10.1.0.0/20', 'rw'), (_ME, 'ro')], self.rules('alpha', source))
        (self.place / source / 'f').write_text('last of all')
        (self.place / source / 'more').write_text('more')
        # What cannot be made read-only is not moved.
        self.service.knob('alpha', 'update_access:fail_final')
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_error')
        self.assertIn('could not make its access rules read-only', self.messages(share))
        self.service.knob('alpha', '')
        self.at_rest()
        self.grant(share, '10.2.0.0/20')
        target = self.begin(share, 'live')
        self.task_is(share, READY)
        self.act(share, 'migration_complete')
        self.task_is(share, 'migration_success')
        self.assertEqual(
            {'f': 'last of all', 'more': 'more'},
            {path.name: path.read_text() for path in (self.place / target).iterdir()},
        )

    def test_share_that_changes_faster_than_it_is_copied_waits_for_the_operator(self):
        self.set('data_copy_short_pass', 0.0)
        self.set('data_copy_passes', 3)
        share = self.made(f='hello')
        self.begin(share, 'live')
        self.task_is(share, READY)
        self.assertEqual(3, self.act(share, 'migration_get_progress')[1]['details']['passes'])
        self.assertIn('The last of 3 passes took', self.messages(share))
        self.assertEqual((202, None), self.act(share, 'migration_complete'))
        self.task_is(share, 'migration_success')

    def test_source_that_does_not_admit_the_host_in_time_stays(self):
        self.set('data_access_wait_access_rules_timeout', 1)
        share = self.made()
        source = self.instance(share)
        self.service.knob('alpha', 'update_access:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.begin(share, 'live')
        self.task_is(share, 'migration_error')
        self.assertIn(f'did not admit the host that copies ({_ME}) within 1 seconds', self.messages(share))
        self.service.knob('alpha', '')
        self.until_rules('alpha', source, ('10.1.0.0/20', 'rw'))

    def test_destination_that_cannot_be_mounted_is_told(self):
        share = self.made()
        source = self.instance(share)
        self.begin(share, mounts=False)
        self.task_is(share, 'migration_error')
        self.assertIn('The host that copies cannot mount 10.0.0.1:/shares/', self.messages(share))
        self.has_stayed(share, source, 'migration_error')

    def test_destination_that_refuses_the_host_is_told(self):
        share = self.made()
        source = self.instance(share)
        self.begin(share, 'beta', 'update_access:fail_final')
        self.has_stayed(share, source, 'migration_error')

    def test_cancelled_migrations_leave_nothing(self):
        for cancel in (
            ('migration_cancel', None),
            ('reset_task_state', {'task_state': 'migration_cancelled'}),
        ):
            share = self.made()
            source = self.instance(share)
            target = self.begin(share, 'beta', 'update_access:hang_after')
            self.until_rules('beta', target, (_ME, 'rw'))
            self.assertEqual(202, self.act(share, *cancel)[0])
            self.go_on()
            self.has_stayed(share, source, 'migration_cancelled')
            share = self.made()
            source = self.instance(share)
            self.begin(share)
            self.task_is(share, READY)
            self.until_rules('alpha', source, ('10.1.0.0/20', 'ro'), (_ME, 'ro'))
            self.assertEqual(202, self.act(share, *cancel)[0])
            self.has_stayed(share, source, 'migration_cancelled')

    def test_copy_that_differs_at_the_end_is_not_used(self):
        share = self.made(f='hello')
        source = self.instance(share)
        target = self.begin(share)
        self.task_is(share, READY)
        compare = share_moves.ShareMoves.compare

        def spoilt(moves, *sides):
            (self.place / target / 'extra').write_text('by somebody else')
            return compare(moves, *sides)

        self.patch(host_copy, '_PARTS', (share_moves.ShareMoves.copy, spoilt))
        self.act(share, 'migration_complete')
        self.has_stayed(share, source, 'migration_error')
        self.assertIn(
            'After the last pass the copy differs from the share. Differing: extra.', self.messages(share)
        )

    def test_snapshots_are_taken_again_oldest_first(self):
        taken = []
        create = DummyDriver.create_snapshot

        def create_snapshot(driver, snapshot):
            if (self.place / snapshot.share.id / 'f').exists():
                taken.append(
                    (driver.backend.name, snapshot.id, (self.place / snapshot.share.id / 'f').read_text())
                )
            return create(driver, snapshot)

        self.patch(DummyDriver, 'create_snapshot', create_snapshot)
        before = self.held_at_rest('beta')
        share = self.make(kind='mountable')
        self.grant(share)
        source = self.instance(share)
        ids = [self.take(share) for _ in range(2)]
        for place, text in ((source, 'now'), (ids[0], 'first'), (ids[1], 'second')):
            (self.place / place).mkdir()
            (self.place / place / 'f').write_text(text)
        for act in ('migration_cancel', 'migration_complete'):
            taken.clear()
            self.service.knob('beta', 'share_migration_check_compatibility:fail_final', 'create_share:hang')
            self.assertEqual((202, None), self.start(share, **{**NOTHING, 'preserve_snapshots': True}))
            target = self.target(share)
            (self.place / target).mkdir()
            self.go_on()
            self.task_is(share, READY)
            self.assertEqual([('beta', ids[0], 'first'), ('beta', ids[1], 'second')], taken)
            self.assertEqual('now', (self.place / target / 'f').read_text())
            self.assertEqual([[(_ME, 'ro')]] * 2, [self.rules_of_snapshot('alpha', one) for one in ids])
            self.assertEqual({target, *ids}, self.held('beta') - before)
            self.assertEqual((202, None), self.act(share, act))
            self.at_rest()
            if act == 'migration_cancel':
                self.is_as_before(share, before)
                self.assertEqual([[], []], [self.rules_of_snapshot('alpha', one) for one in ids])
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))
        self.assertEqual(
            (set(), {target, *ids}), (self.held('alpha') & {source, *ids}, self.held('beta') - before)
        )
        self.assertEqual([[], []], [self.rules_of_snapshot('beta', one) for one in ids])
        for one in ids:
            self.admin.ok('DELETE', f'/snapshots/{one}')
        self.admin.ok('DELETE', f'/shares/{share["id"]}')

    def rules_of_snapshot(self, backend, snapshot):
        store = self.store(backend)
        with store.locked():
            return sorted((to, level) for _, to, level in store.snapshots.get(snapshot).rules.values())

    def client_starts(self, share, fails=False, **wants):
        """Start the migration with the ``openstack`` command, which sends ``True`` and ``False`` as texts."""
        words = [
            word
            for name, value in {**NOTHING, **wants}.items()
            for word in (f'--{name.replace("_", "-")}', str(value))
        ]
        return self.run_cli(
            'share', 'migration', 'start', share['id'], 'test@beta#pool1', *words, fails=fails
        )

    def test_words_of_the_client_say_who_copies(self):
        share = self.made(f='hello')
        for forced, refuses, state in (
            (False, False, 'migration_driver_phase1_done'),
            (True, False, READY),
            (False, True, READY),
        ):
            self.service.knob(
                'beta', *['share_migration_check_compatibility:fail_final'] * refuses, 'create_share:hang'
            )
            self.client_starts(share, force_host_assisted_migration=forced)
            if state == READY:
                (self.place / self.target(share)).mkdir()
            self.go_on()
            self.task_is(share, state)
            self.run_cli('share', 'migration', 'cancel', share['id'])
            self.task_is(share, 'migration_cancelled')
            self.at_rest()
        self.admin.ok('DELETE', f'/shares/{share["id"]}')

    def test_words_of_the_client_say_that_no_host_may_copy(self):
        share, before = self.made(), self.held_at_rest('beta')
        self.service.knob('beta', 'share_migration_check_compatibility:fail_final')
        for name in NOTHING:
            said = self.client_starts(share, fails=True, force_host_assisted_migration=True, **{name: True})
            self.assertIn(f'cannot be combined with {name}.', said)
        for name in ('writable', 'nondisruptive', 'preserve_metadata'):
            self.act(share, 'reset_task_state', {'task_state': None})
            self.client_starts(share, **{name: True})
            self.task_is(share, 'migration_error')
        self.assertNotIn(
            'cannot mount', self.messages(share)
        )  # as a host says that tried: nothing is served at beta
        self.is_as_before(share, before)
        self.admin.ok('DELETE', f'/shares/{share["id"]}')

    def test_abandoned_copies_are_removed(self):
        moves = self.service.managers['beta'].moves
        for place in moves.mount_points('left-behind'):
            place.mkdir(parents=True)
        self.service.managers['beta']._clean_moves()
        self.assertEqual(frozenset(), moves.left())

    def stand_by(self, manager, holder):
        """Look for remains of copies as a process does that waits for the holder of the lease."""
        lease = backend_lease.BackendLease(self.service.services, manager.host, 'manila-share')
        lease._waits_for = holder
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, manager, 'backend_lease', manager.backend_lease)
            manager.backend_lease = lease
            manager._clean_moves()

    def test_mounts_are_removed_when_another_host_works_at_the_backend(self):
        manager = self.service.managers['beta']
        for holder, kept in ((process_names.name(), True), ('far/0a1b2c3d-4026531836/7/99', False)):
            for place in manager.moves.mount_points('left-behind'):
                place.mkdir(parents=True, exist_ok=True)
            self.stand_by(manager, holder)
            self.assertEqual(kept, bool(manager.moves.left()), holder)

    def test_shares_that_no_host_can_copy_are_refused(self):
        share = self.make(share_proto='CIFS')
        self.assertEqual((202, None), self.start(share, **NOTHING, force_host_assisted_migration=True))
        self.task_is(share, 'migration_error')
        self.assertIn('no user for CIFS shares: set data_node_access_admin_user.', self.messages(share))
        share = self.make()
        self.take(share)
        status, document = self.start(share, **NOTHING, force_host_assisted_migration=True)
        self.assertEqual((409, True), (status, 'preserve_snapshots' in str(document)))
        self.service.knob('beta', 'share_migration_check_compatibility:fail_final')
        self.addCleanup(self.service.knob, 'beta', '')
        self.assertEqual((202, None), self.start(share, **{**NOTHING, 'preserve_snapshots': True}))
        self.task_is(share, 'migration_error')
        self.assertIn(
            'cannot mount the snapshots: the share type has no mount_snapshot_support', self.messages(share)
        )
