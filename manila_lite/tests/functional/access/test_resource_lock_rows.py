# SPDX-License-Identifier: Apache-2.0
"""Rows of resource locks: each statement finds the rows that it is about, and none of their neighbours."""

import datetime

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.queries import resource_locks, share_types
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base
from manila_lite.tests.functional.touching import Touching

MINUTE = datetime.timedelta(minutes=1)


class Locks(base.ServiceTest):
    """Two shares with two rules each. All have deletion locks, and the rules have visibility locks.

    Newer rows have earlier times of creation, so that an order by age differs from the order of the table.
    """

    PARTS = ()

    def setUp(self):
        super().setUp()
        db = self.service.services.db
        self.now = timeutils.utcnow().replace(microsecond=0)
        self.table = Touching(db, models.resource_locks)
        self.do, self.by = self.table.do, self.table.by
        with db.writer() as conn:
            conn.execute(models.resource_locks.delete())
            kind = share_types.find(conn, self.service.context(roles=('admin',)), 'default').id
            (self.one, _), (self.two, _) = factory.make(conn, 2, type_id=kind)
            rules = {
                share: conn.execute(
                    sa.select(models.access_rules.c.id).where(models.access_rules.c.share_id == share)
                )
                .scalars()
                .all()
                for share in (self.one, self.two)
            }
        self.rule, self.other_rule = rules[self.one]
        for share, place, project in ((self.one, 'one', 'p'), (self.two, 'two', 'q')):
            self.lock(f'{place}: share', share, project)
            for number, rule in enumerate(rules[share]):
                self.lock(f'{place}: rule {number}', share, project, rule)
                self.lock(f'{place}: show {number}', share, project, rule, resource_locks.SHOW)
            self.lock(f'{place}: follower', share, project, because_of=self.table.names[f'{place}: rule 0'])

    def lock(self, name, share, project, rule=None, action=resource_locks.DELETE, **values):
        age = len(self.table.names)
        self.table.names[name] = self.do(
            resource_locks.insert,
            share_id=share,
            access_id=rule,
            project_id=project,
            user_id='u',
            resource_action=action,
            lock_context='user',
            lock_reason=name,
            created_at=self.now - age * MINUTE,
            **values,
        )

    def named(self, found):
        """Return the names of rows, which are in their reasons, in their order."""
        return [row.lock_reason for row in found]

    def test_locks_on_a_resource_are_counted_without_followers(self):
        self.lock('one: once more', self.one, 'p')
        self.assertEqual(
            (2, 2),
            (
                self.do(resource_locks.count_on, self.one, None),
                self.do(resource_locks.count_on, self.one, self.rule),
            ),
        )
        self.assertEqual(
            (1, 0),
            (
                self.do(resource_locks.count_on, self.two, None),
                self.do(resource_locks.count_on, self.two, self.rule),
            ),
        )

    def test_lock_is_found_by_id_only_in_its_project(self):
        resource_id = self.table.names['two: share']
        for project in ('q', None):
            self.assertEqual(
                'two: share', self.do(resource_locks.get, resource_id, project_id=project).lock_reason
            )
        self.assertRaises(
            errors.NotFound, self.do, lambda conn: resource_locks.get(conn, resource_id, project_id='p')
        )
        self.assertRaises(
            errors.NotFound,
            self.do,
            lambda conn: resource_locks.get(conn, uuidutils.generate_uuid(), project_id=None),
        )

    def test_lists_and_counts_match_project_and_filters(self):
        both = len(self.table.names)
        for project, filters, count in (
            (None, {}, both),
            ('p', {}, both // 2),
            (None, {'resource_id': self.one}, 2),
            (None, {'resource_id': self.rule}, 2),
            ('q', {'resource_type': resource_locks.SHARE}, 2),
            ('q', {'resource_action': resource_locks.SHOW}, 2),
            (None, {'created_since': self.now - MINUTE}, 2),
            (None, {'created_before': self.now - 9 * MINUTE}, both - 9),
            ('nobody', {}, 0),
        ):
            found = self.do(resource_locks.list_locks, filters, paging.Page(), project_id=project)
            self.assertEqual(
                (count, count),
                (len(found), self.do(resource_locks.count, filters, project_id=project)),
                filters,
            )

    def test_deletion_locks_of_a_share_exclude_those_of_its_rules(self):
        self.lock('one: show', self.one, 'p', action=resource_locks.SHOW)
        self.assertEqual(
            ['one: follower', 'one: share'], self.named(self.do(resource_locks.deletion_locks, self.one))
        )

    def test_locks_of_a_rule_are_selected_by_action(self):
        self.lock('one: once more', self.one, 'p', self.rule)
        self.assertEqual(
            ['one: once more', 'one: rule 0'],
            self.named(self.do(resource_locks.locks_of_rule, self.rule, resource_locks.DELETE)),
        )
        self.assertEqual(
            ['one: show 0'], self.named(self.do(resource_locks.locks_of_rule, self.rule, resource_locks.SHOW))
        )

    def test_locks_of_all_rules_are_grouped_by_rule(self):
        self.lock('one: once more', self.one, 'p', self.rule)
        found = self.do(resource_locks.locks_of_rules, self.one, resource_locks.DELETE)
        self.assertEqual(
            {self.rule: ['one: once more', 'one: rule 0'], self.other_rule: ['one: rule 1']},
            {rule: self.named(rows) for rule, rows in found.items()},
        )

    def test_locks_of_a_share_include_those_of_its_rules(self):
        mine = [name for name in self.table.names if name.startswith('one')]
        self.assertEqual(mine[::-1], self.named(self.do(resource_locks.locks_of_share, self.one)))

    def test_transfer_marks_all_locks_of_the_share_and_its_rules(self):
        transfer = uuidutils.generate_uuid()
        self.assertEqual(
            {name for name in self.table.names if name.startswith('one')},
            self.by(resource_locks.delete_at_transfer, self.one, transfer),
        )
        self.assertEqual(transfer, self.table.row('one: rule 1').transfer_id)

    def test_update_changes_only_the_named_lock(self):
        self.assertEqual(
            {'one: share'}, self.by(resource_locks.update, self.table.names['one: share'], lock_reason='new')
        )
        self.assertEqual('new', self.table.row('one: share').lock_reason)

    def test_delete_removes_the_named_locks_and_their_followers(self):
        idents = [self.table.names[name] for name in ('one: rule 0', 'two: show 0')]
        self.assertEqual(
            {'one: rule 0', 'one: follower', 'two: show 0'}, self.by(resource_locks.delete, idents)
        )

    def test_delete_following_removes_only_the_follower(self):
        self.assertEqual(
            {'one: follower'}, self.by(resource_locks.delete_following, self.table.names['one: rule 0'])
        )
