# SPDX-License-Identifier: Apache-2.0
"""Statements that write a status: they change only the rows and the statuses that they are meant for."""

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.db import models
from manila_lite.db.core import transitions
from manila_lite.db.queries import share_types
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base
from manila_lite.tests.functional.touching import Touching

#: The database has two shares of each, such as 'extending' and 'extending 2'.
STATUSES = ('available', 'extending', 'shrinking', 'deleting', 'error')


class Statuses(base.ServiceTest):
    """Shares in many statuses; each call names some of them."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        db = self.service.services.db
        self.table = Touching(db, models.share_instances)
        self.shares = Touching(db, models.shares)
        with db.writer() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            names = [*STATUSES, *(f'{status} 2' for status in STATUSES)]
            for name, (share, instance) in zip(
                names, factory.make(conn, len(names), type_id=kind), strict=True
            ):
                self.table.names[name], self.shares.names[name] = instance, share
                conn.execute(
                    sa.update(models.share_instances)
                    .where(models.share_instances.c.id == instance)
                    .values(status=name.removesuffix(' 2'))
                )

    def row_id(self, name):
        return self.table.names[name]

    def told_by(self, call, *args, **more):
        return self.table.told_by(call, states.SHARE, *args, **more)

    def firsts(self):
        """Return the ids of the first share of each status."""
        return [self.row_id(name) for name in STATUSES]

    def status(self, name):
        return self.table.row(name).status

    def test_begin_is_refused_in_a_forbidden_status(self):
        self.assertEqual(
            {'available'}, self.told_by(transitions.begin, 'extend', self.row_id('available'))[0]
        )
        for name in STATUSES:  # 'available' is extending by now
            error = self.assertRaises(
                errors.WrongState, self.told_by, transitions.begin, 'shrink', self.row_id(name)
            )
            self.assertIn(f'is {self.status(name)};', str(error))
        error = self.assertRaises(errors.WrongState, self.told_by, transitions.begin, 'shrink', 'nobody')
        self.assertIn('is gone;', str(error))

    def test_begin_many_changes_only_rows_in_an_allowed_status(self):
        self.assertEqual(
            ({'available', 'error'}, 2), self.told_by(transitions.begin_many, 'delete', self.firsts())
        )
        self.assertEqual('deleting', self.status('error'))

    def test_finish_and_fail_change_only_the_running_row(self):
        for call, status in ((transitions.finish, 'available'), (transitions.fail, 'extending_error')):
            for name in set(STATUSES) - {'extending'}:
                self.assertEqual(set(), self.told_by(call, 'extend', self.row_id(name))[0], name)
            name = 'extending' if call is transitions.finish else 'extending 2'
            self.assertEqual({name}, self.told_by(call, 'extend', self.row_id(name))[0])
            self.assertEqual(status, self.status(name))

    def test_finish_of_delete_removes_only_rows_in_deletion(self):
        for name in set(STATUSES) - {'deleting'}:
            self.assertEqual(set(), self.told_by(transitions.finish, 'delete', self.row_id(name))[0], name)
        self.assertEqual({'deleting'}, self.told_by(transitions.finish, 'delete', self.row_id('deleting'))[0])
        self.assertIsNone(self.table.row('deleting'))

    def test_remove_deletes_only_rows_in_the_given_status(self):
        self.assertEqual(({'deleting'}, 1), self.told_by(transitions.remove, self.firsts(), 'deleting'))
        self.assertEqual((set(), 0), self.told_by(transitions.remove, self.firsts(), 'deleting'))

    def test_settle_changes_only_rows_in_the_given_status(self):
        self.assertEqual(
            ({'shrinking'}, 1), self.told_by(transitions.settle, self.firsts(), 'shrinking', 'error')
        )
        self.assertEqual('error', self.status('shrinking'))

    def test_values_are_set_only_with_the_status(self):
        self.told_by(transitions.finish, 'extend', self.row_id('extending'), progress='7%')
        self.told_by(transitions.finish, 'extend', self.row_id('error'), progress='7%')
        self.assertEqual(
            ('7%', '100%'), (self.table.row('extending').progress, self.table.row('error').progress)
        )

    def test_reset_changes_only_one_row(self):
        self.assertEqual({'available'}, self.told_by(transitions.reset, self.row_id('available'), 'error')[0])

    def test_each_column_setter_changes_only_one_row(self):
        resource_id = self.row_id('available')
        self.assertEqual(
            {'available'}, self.table.by(transitions.set_rules_status, resource_id, states.Rules.ERROR)
        )
        self.assertEqual('error', self.table.row('available').access_rules_status)
        self.assertEqual(
            {'available'}, self.table.by(transitions.set_replica_state, resource_id, states.Replica.IN_SYNC)
        )
        self.assertEqual('in_sync', self.table.row('available').replica_state)
        share_id = self.shares.names['available']
        self.assertEqual(
            {'available'},
            self.shares.by(
                lambda conn, row_id: transitions.set_task_state(conn, 'share', row_id, 'moving'), share_id
            ),
        )
        self.assertEqual('moving', self.shares.row('available').task_state)


class Tasks(base.ServiceTest):
    """Task states of shares and share servers; each change names the task states that it starts from."""

    PARTS = ()
    WAS = ('a', 'b', None)

    def setUp(self):
        super().setUp()
        db = self.service.services.db
        self.shares, self.servers = Touching(db, models.shares), Touching(db, models.share_servers)
        with db.writer() as conn:
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            network = uuidutils.generate_uuid()
            conn.execute(
                models.share_networks.insert(),
                {'id': network, 'project_id': 'p', 'user_id': 'u', 'status': 'active'},
            )
            for was, (share, _) in zip(
                (*self.WAS, *self.WAS), factory.make(conn, 6, type_id=kind), strict=True
            ):
                name = str(was) if str(was) not in self.shares.names else f'{was} 2'
                self.shares.names[name] = share
                self.servers.names[name] = share
                conn.execute(
                    sa.update(models.shares).where(models.shares.c.id == share).values(task_state=was)
                )
                conn.execute(
                    models.share_servers.insert(),
                    {
                        'id': share,
                        'share_network_id': network,
                        'host': 'h@b',
                        'status': 'active',
                        'task_state': was,
                    },
                )

    def changed(self, resource_type, table, allowed):
        """Call for each of the first three rows, which may change no other; return the names of changed rows."""
        found = set()
        for name in map(str, self.WAS):
            touched, told = table.told_by(
                lambda conn, row_id: transitions.swap_task_state(conn, resource_type, row_id, allowed, 'new'),
                table.names[name],
            )
            self.assertEqual(({name} if told else set()), touched)
            found |= touched
        return found

    def test_task_state_of_a_share_changes_only_from_allowed_states(self):
        self.assertEqual({'a'}, self.changed('share', self.shares, ['a']))
        self.assertEqual({'b', 'None'}, self.changed('share', self.shares, ['b', None]))

    def test_task_state_of_a_server_changes_only_from_allowed_states(self):
        self.assertEqual({'None'}, self.changed('share_server', self.servers, [None]))
        self.assertEqual({'a', 'b'}, self.changed('share_server', self.servers, ['a', 'b']))
