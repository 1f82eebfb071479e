# SPDX-License-Identifier: Apache-2.0
"""Nobody reads at the former path of a share once its move counts as a success, whoever moved it, and with what.

For real exports see ``linux/test_former_exports.py``.
"""

import contextlib

import sqlalchemy as sa

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.tests.functional import base
from manila_lite.tests.functional.migrations import (
    test_host_assisted,
    test_host_assisted_servers,
    test_share_migration,
)
from manila_lite.tests.functional.migrations.test_dead_source import dead

_CLIENT = '10.1.0.0/20'
#: What the deletion of the source calls, which hangs here: so it is not what ends the exports.
_DELETION = ('delete_share:hang', 'delete_snapshot:hang')


class Closing:
    """Checks of moves from ``alpha``."""

    def mount_snapshot(self, share):
        """Take a snapshot of the share, and admit a client to it. Return its id."""
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot'][
            'id'
        ]
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.admin.ok(
            'POST',
            f'/snapshots/{snapshot}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '10.1.0.9'}},
        )
        base.eventually(lambda: self.admitted('snapshots', snapshot), 'the snapshot is not exported')
        return snapshot

    def admitted(self, what, resource_id):
        """Return whom ``alpha`` admits to a share instance or a snapshot that it must have."""
        store = self.store('alpha')
        with store.locked():
            return [rule[1] for rule in getattr(store, what).get(resource_id).rules.values()]

    def close_first(self, complete, state, *exported):
        """Complete the move, and check that it is no success before ``alpha`` admits nobody to what is ``exported``."""
        self.service.knob('alpha', 'update_access:hang', *_DELETION)
        complete()
        base.eventually(self.is_closing, 'the source is not told to end the exports')
        self.assertEqual('migration_completing', state())
        self.service.knob('alpha', *_DELETION)
        seen = []
        base.eventually(
            lambda: seen.append(state()) or seen[-1] == 'migration_success', 'the move is no success'
        )
        self.assertEqual({one: [] for one in exported}, {one: self.admitted(*one) for one in exported})
        self.service.knob('alpha', '')
        self.at_rest()

    def waits(self, *resource_ids):
        """Check that the doctor leaves the task state of these alone."""
        for found in doctor.list_findings(self.service.services):
            self.assertFalse(found.id in resource_ids and found.state.startswith('task state'), found)

    def is_closing(self):
        """Say whether a backend works at the end of exports."""
        table = models.operations
        with self.service.services.db.reader() as conn:
            return conn.execute(
                sa.select(table.c.id).where(
                    table.c.kind.endswith('.close'), table.c.state == 'open', table.c.owner.is_not(None)
                )
            ).first()


def without_tests_of_others(case):
    """Let the class have the helpers of its bases, whose tests run there."""
    for name in dir(case):
        if name.startswith('test_') and name not in vars(case):
            setattr(case, name, None)
    return case


class ByDriver(Closing, test_share_migration.MigrationTest):
    """The driver of ``beta`` moves a share, or the share manager of ``alpha`` is down."""

    BACKENDS = {name: test_share_migration.BACKEND.format('here') for name in ('alpha', 'beta', 'gamma')}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make_type('mountable', mount_snapshot_support='True')

    def ready(self):
        """Return a share, and what ``alpha`` exports of it, whose copy is ready."""
        share = self.make(kind='mountable')
        self.grant(share)
        exported = ('shares', self.instance(share)), ('snapshots', self.mount_snapshot(share))
        self.assertEqual((202, None), self.start(share))
        self.task_is(share, 'migration_driver_phase1_done')
        return share, exported

    def test_a_share(self):
        share, exported = self.ready()
        self.close_first(
            lambda: self.act(share, 'migration_complete'), lambda: self.shown(share)['task_state'], *exported
        )
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))

    def test_share_is_at_its_new_place_in_time_but_no_success_before_the_source_is_up(self):
        share, _ = self.ready()
        with dead(self.service, 'alpha'):
            self.act(share, 'migration_complete')
            moved = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertEqual(
                ('test@beta#pool1', 'migration_completing'), (moved['host'], moved['task_state'])
            )
            told = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages']
            self.assertIn('their backend did not close them', ' '.join(row['user_message'] for row in told))
            for host in ('test@alpha', 'test@gamma'):
                self.assertEqual(409, self.start(share, host)[0])
            [fault] = self.start(share, 'test@gamma')[1].values()
            self.assertEqual('former_export_open', fault['reason'])
            self.assertIn(
                'set the task state of the resource that is named to migration_success', fault['next']
            )
            # The share can be used meanwhile.
            self.grant(share, '10.2.0.0/20')
            self.waits(share['id'])
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))

    def test_source_that_is_deleted_late_does_not_make_a_success_of_the_next_move(self):
        share, _ = self.ready()
        with contextlib.ExitStack() as later:
            with dead(self.service, 'alpha'):
                self.act(share, 'migration_complete')
                self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
                self.at_rest_but('share.release')
                self.act(share, 'reset_task_state', {'task_state': 'migration_success'})
                self.assertEqual((202, None), self.start(share, 'test@gamma'))
                self.task_is(share, 'migration_driver_phase1_done')
                later.enter_context(dead(self.service, 'beta'))
                self.act(share, 'migration_complete')
                self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
                self.assertEqual('migration_completing', self.shown(share)['task_state'])
            base.eventually(
                lambda: set(self.instances(share)) == {'test@beta#pool1', 'test@gamma#pool1'},
                'the first source is not deleted',
            )
            self.assertEqual('migration_completing', self.shown(share)['task_state'])
        self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@gamma#pool1': 'available'}, self.instances(share))

    def at_rest_but(self, kind):
        """Wait until every operation has ended, except those of this kind."""
        table = models.operations

        def ended():
            with self.service.services.db.reader() as conn:
                return not conn.execute(
                    sa.select(table.c.id).where(table.c.state == 'open', table.c.kind != kind)
                ).first()

        base.eventually(ended, 'operations are open')

    def release_of_alpha(self, release, at):
        """Have the share manager of ``alpha`` tell this release, at this time; return what it told before."""
        table = models.services
        alpha = table.c.host == 'test@alpha'
        with self.service.services.db.writer() as conn:
            told = conn.execute(sa.select(table.c.release, table.c.release_at).where(alpha)).one()
            conn.execute(table.update().where(alpha).values(release=release, release_at=at))
        return told

    def test_source_of_the_release_before_which_cannot_be_told_is_not_waited_for(self):
        share, _ = self.ready()
        with dead(self.service, 'alpha'):
            told = self.release_of_alpha(None, None)
            self.addCleanup(self.release_of_alpha, *told)
            self.act(share, 'migration_complete')
            self.task_is(share, 'migration_success')
        self.at_rest()
        self.assertEqual({'test@beta#pool1': 'available'}, self.instances(share))

    def test_share_is_no_success_while_its_source_cannot_be_closed_unless_an_administrator_says_so(self):
        for by_hand in (False, True):
            share, exported = self.ready()
            self.service.knob('alpha', 'update_access:fail_final', 'delete_share:fail_final')
            self.act(share, 'migration_complete')
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.at_rest()
            self.assertEqual('migration_completing', self.shown(share)['task_state'])
            self.waits(share['id'])
            if by_hand:
                self.assertEqual(
                    202, self.act(share, 'reset_task_state', {'task_state': 'migration_success'})[0]
                )
                self.assertEqual('migration_success', self.shown(share)['task_state'])
            self.service.knob('alpha', '')
            self.admin.call('POST', f'/share_instances/{exported[0][1]}/action', {'force_delete': None})
            self.at_rest()
            self.assertEqual(
                ('migration_success', {'test@beta#pool1': 'available'}),
                (self.shown(share)['task_state'], self.instances(share)),
            )


@without_tests_of_others
class ByHost(Closing, test_host_assisted.Copied):
    """The host of ``beta`` copies a share."""

    def test_a_share(self):
        share = self.make(kind='mountable')
        self.grant(share)
        source, snapshot = self.instance(share), self.mount_snapshot(share)
        for place in (source, snapshot):
            (self.place / place).mkdir()
        self.service.knob('beta', 'share_migration_check_compatibility:fail_final', 'create_share:hang')
        self.assertEqual(
            (202, None), self.start(share, **{**test_host_assisted.NOTHING, 'preserve_snapshots': True})
        )
        (self.place / self.target(share)).mkdir()
        self.go_on()
        self.task_is(share, test_host_assisted.READY)
        self.close_first(
            lambda: self.act(share, 'migration_complete'),
            lambda: self.shown(share)['task_state'],
            ('shares', source),
            ('snapshots', snapshot),
        )


@without_tests_of_others
class ServersByHost(Closing, test_host_assisted_servers.CopiedServers):
    """The host of ``beta`` copies a share server, whose addresses go with it, or stay."""

    def moves(self, **more):
        server, shares = self.made(kind='mountable')
        snapshot = self.mount_snapshot(shares[0])
        (self.folder(server['id'], shares[0]).parent / snapshot).mkdir()
        exported = *(('shares', self.instance(share)) for share in shares), ('snapshots', snapshot)
        self.begin(server, shares, **more)
        self.task_is(server, test_host_assisted.READY)
        self.close_first(
            lambda: self.complete(server),
            lambda: self.act(server, 'migration_get_progress')[1]['task_state'],
            *exported,
        )
        [moved] = self.servers(more.get('new_share_network_id'))
        self.assertEqual(
            ('test@beta', 'migration_success'), (moved['host'].partition('#')[0], moved['task_state'])
        )

    def test_a_share_server_with_its_addresses(self):
        self.moves()

    def test_a_share_server_that_changes_its_network(self):
        self.moves(new_share_network_id=self.make_network('other'))

    def test_shares_are_at_their_new_place_in_time_but_no_success_before_the_source_is_up(self):
        server, shares = self.made()
        network = self.make_network('other')
        target = self.begin(server, shares, new_share_network_id=network)
        self.task_is(server, test_host_assisted.READY)
        self.set('lease', 2, 'operations')
        self.service.knob('alpha', 'update_access:hang', 'delete_share:hang')
        self.complete(server)
        for share in shares:
            moved = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertEqual('test@beta#pool1', moved['host'])
        for one in (server['id'], target):
            self.task_is({'id': one}, 'migration_completing')
        self.waits(server['id'], target)
        status, document = self.start({'id': target}, 'test@alpha')
        self.assertEqual((409, 'former_export_open'), (status, document['conflictingRequest']['reason']))
        self.assertIn('their backend did not close them', self.messages(shares[0]))
        self.service.knob('alpha', '')
        self.task_is({'id': target}, 'migration_success')
        self.has_moved(server, shares, target)

    def test_shares_stay_while_the_server_that_they_left_cannot_be_deleted(self):
        server, shares = self.made()
        target = self.begin(server, shares, new_share_network_id=self.make_network('other'))
        self.task_is(server, test_host_assisted.READY)
        self.service.knob('alpha', 'update_access:fail_final', 'delete_share:fail_final')
        self.complete(server)
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'error')
        self.at_rest()
        self.task_is({'id': target}, 'migration_completing')
        self.waits(server['id'], target)
        status, document, _ = self.admin.action(
            shares[0]['id'], 'migration_start', {**test_share_migration.WANTED, 'host': 'test@alpha'}
        )
        self.assertEqual((409, 'former_export_open'), (status, document['conflictingRequest']['reason']))
        self.assertIn(
            f'Share server {target} is migration_completing', document['conflictingRequest']['message']
        )
        self.service.knob('alpha', '')
        self.admin.ok('DELETE', f'/share-servers/{server["id"]}')
        self.task_is({'id': target}, 'migration_success')
        self.has_moved(server, shares, target)

    def test_shares_move_again_when_an_administrator_knows_that_nobody_reads_there(self):
        server, shares = self.made()
        target = self.begin(server, shares, new_share_network_id=self.make_network('other'))
        self.task_is(server, test_host_assisted.READY)
        self.service.knob('alpha', 'update_access:fail_final', 'delete_share:fail_final')
        self.complete(server)
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'error')
        self.at_rest()
        self.assertEqual(
            202, self.act({'id': target}, 'reset_task_state', {'task_state': 'migration_success'})[0]
        )
        path = f'/shares/{shares[0]["id"]}'
        self.admin.ok(
            'POST',
            f'{path}/action',
            {'migration_start': {**test_share_migration.WANTED, 'host': 'test@alpha'}},
        )
        self.admin.wait(path, 'share', 'migration_driver_phase1_done', field='task_state')
        self.service.knob('alpha', '')
        self.admin.ok('POST', f'{path}/action', {'migration_cancel': None})
        self.admin.wait(path, 'share', 'available')
        self.admin.ok('DELETE', f'/share-servers/{server["id"]}')
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
