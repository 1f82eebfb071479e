# SPDX-License-Identifier: Apache-2.0
"""Statements on rows of operations: each changes the rows that it is meant for, and no neighbouring row.

A neighbouring row differs in one value, so that each condition of a statement excludes one of them.
"""

import datetime

import sqlalchemy as sa
from oslo_utils import fixture as clock
from oslo_utils import timeutils, uuidutils

from manila_lite import errors, states
from manila_lite.db import models
from manila_lite.db.queries import operation_claims, shares
from manila_lite.db.queries import operations as rows
from manila_lite.tests.factories import dirty
from manila_lite.tests.functional import base
from manila_lite.tests.functional.touching import Touching

LEASE = 30
MINUTE = datetime.timedelta(minutes=1)
ENDED = (rows.DONE, rows.FAILED, rows.PARKED)


class RowsTest(base.ServiceTest):
    """The table, and a clock that stands still until it is moved."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.time = self.useFixture(clock.TimeFixture(timeutils.utcnow()))
        self.table = Touching(self.service.services.db, models.operations)
        self.do, self.by, self.row = self.table.do, self.table.by, self.table.row
        self.do(lambda conn: conn.execute(models.operations.delete()))

    def add(self, name, **values):
        """Insert a row with these values; return its id."""
        operation_id = self.table.names[name] = self.do(
            rows.insert,
            **{
                'kind': 'test',
                'resource_type': 'test',
                'resource_id': 'thing',
                'topic': 'share',
                'host': 'here',
                'lane': 'work',
                'data': {},
                **values,
            },
        )
        return operation_id

    def held(self, name, owner='me', **values):
        """Insert an operation that ``owner`` has claimed; return its id."""
        return self.add(name, owner=owner, lease_expires_at=timeutils.utcnow() + MINUTE, **values)

    def ended(self, **values):
        """Insert an operation in each state in which no worker runs it."""
        for state in ENDED:
            self.add(state, state=state, **values)


class Claims(RowsTest):
    """Claims of operations, and their leases."""

    def claim(self, name, owner='other', seen=None):
        return self.do(operation_claims.claim, seen or self.row(name), owner, LEASE)

    def test_claimed_operation_is_not_claimed_again_until_its_lease_ends(self):
        self.add('one')
        self.assertEqual('me', self.claim('one', 'me').owner)
        self.time.advance_time_seconds(LEASE)
        self.assertIsNone(self.claim('one'))
        self.time.advance_time_seconds(1)
        row = self.claim('one')
        self.assertEqual(('other', 2), (row.owner, row.attempts))

    def test_only_open_and_due_operations_are_claimed(self):
        self.ended()
        self.add('later', next_run_at=timeutils.utcnow() + MINUTE)
        for name in (*ENDED, 'later'):
            self.assertIsNone(self.claim(name), name)
        self.time.advance_time_delta(MINUTE)
        self.assertEqual('other', self.claim('later').owner)

    def test_claim_changes_only_its_own_operation(self):
        self.add('one')
        self.add('two')
        self.assertEqual({'one'}, self.by(operation_claims.claim, self.row('one'), 'me', LEASE))

    def test_changed_operation_is_neither_claimed_nor_parked(self):
        for values in ({'attempts': 1}, {'step': 1}, {'topic': 'scheduler'}, {'host': 'there'}):
            (name,) = values
            self.add(name)
            seen = self.row(name)
            self.do(
                lambda conn, name=name, values=values: conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id == self.table.names[name])
                    .values(**values)
                )
            )
            self.assertEqual(set(), self.by(operation_claims.claim, seen, 'me', LEASE), name)
            self.assertEqual(set(), self.by(operation_claims.park, seen, 'why'), name)

    def test_only_free_operations_are_parked(self):
        self.add('one')
        self.add('two')
        self.held('held')
        self.ended()
        for name in ('held', *ENDED):
            self.assertEqual(set(), self.by(operation_claims.park, self.row(name), 'why'), name)
        self.assertEqual({'one'}, self.by(operation_claims.park, self.row('one'), 'why'))
        self.assertEqual((rows.PARKED, 'why'), (self.row('one').state, self.row('one').error))

    def test_only_the_owner_renews_a_claim(self):
        mine, others = self.held('mine'), self.held('others', 'you')
        self.held('unnamed')
        self.assertEqual({'mine'}, self.by(operation_claims.renew, [mine, others], 'me', 600))
        self.assertEqual(timeutils.utcnow() + 10 * MINUTE, self.row('mine').lease_expires_at)

    def test_only_the_owner_releases_a_claim(self):
        mine, others = self.held('mine', attempts=2), self.held('others', 'you', attempts=2)
        self.held('unnamed')
        self.assertEqual(set(), self.by(operation_claims.release_unsaved, others, 'me', 60, uncounted=False))
        self.assertEqual({'mine'}, self.by(operation_claims.release_unsaved, mine, 'me', 60, uncounted=False))
        row = self.row('mine')
        self.assertEqual(
            (None, None, timeutils.utcnow() + MINUTE, 2),
            (row.owner, row.lease_expires_at, row.next_run_at, row.attempts),
        )

    def test_uncounted_attempt_is_subtracted(self):
        mine = self.held('mine', attempts=2)
        self.do(operation_claims.release_unsaved, mine, 'me', 0, uncounted=True)
        self.assertEqual(1, self.row('mine').attempts)

    def test_only_the_owner_moves_postpones_or_finishes_an_operation(self):
        mine, others = self.held('mine'), self.held('others', 'you')
        self.held('unnamed')
        self.assertEqual({'mine'}, self.by(operation_claims.move, mine, 'me', step=3))
        for call in (
            lambda conn: operation_claims.move(conn, others, 'me', step=3),
            lambda conn: operation_claims.postpone(conn, others, 'me'),
            lambda conn: operation_claims.finish(conn, others, 'me', rows.DONE),
        ):
            self.assertRaises(errors.LostClaim, self.do, call)
        self.assertEqual(0, self.row('others').step)

    def test_postponed_operation_is_claimed_after_its_delay(self):
        mine = self.held('mine')
        self.held('unnamed')
        self.assertEqual({'mine'}, self.by(operation_claims.postpone, mine, 'me', 60))
        self.assertIsNone(self.claim('mine'))
        self.time.advance_time_delta(MINUTE)
        self.assertEqual('other', self.claim('mine').owner)

    def test_operation_postponed_without_a_delay_is_due_at_once(self):
        self.do(operation_claims.postpone, self.held('mine', next_run_at=timeutils.utcnow() - MINUTE), 'me')
        self.assertEqual(timeutils.utcnow(), self.row('mine').next_run_at)
        self.assertEqual('other', self.claim('mine').owner)

    def test_owners_of_open_operations_of_the_host_are_returned(self):
        self.held('mine')
        self.held('again')
        self.held('yours', 'you')
        self.held('elsewhere', 'a', host='there')
        self.held('scheduler', 'b', topic='scheduler')
        for state in ENDED:
            self.held(state, f'of {state}', state=state)
        self.add('free')
        self.assertEqual({'me', 'you'}, self.do(operation_claims.claim_owners, 'share', 'here'))

    def test_open_claims_of_a_dead_owner_are_freed(self):
        self.held('mine')
        self.held('elsewhere', host='there')
        self.held('others', 'you')
        for state in ENDED:
            self.held(state, state=state)
        touched, count = self.table.told_by(operation_claims.free_claims_of, 'me')
        self.assertEqual(({'mine', 'elsewhere'}, 2), (touched, count))
        self.assertEqual('other', self.claim('mine').owner)


class Ends(RowsTest):
    """Operations that end, are opened again, or are deleted."""

    def test_owner_finishes_only_its_operation(self):
        mine = self.held('mine', unique_key='mine')
        self.held('unnamed', unique_key='unnamed')
        self.assertEqual(
            ({'mine'}, True), self.table.told_by(operation_claims.finish, mine, 'me', rows.FAILED, 'why')
        )
        row = self.row('mine')
        self.assertEqual((rows.FAILED, None, None, 'why'), (row.state, row.owner, row.unique_key, row.error))

    def test_ended_operations_are_deleted_when_they_are_old(self):
        self.do(operation_claims.finish, self.held('finished'), 'me', rows.DONE)
        self.held('dropped', resource_id='other')
        self.do(rows.supersede, 'other', ['test'])
        self.assertEqual((set(), 0), self.table.told_by(rows.delete_ended, timeutils.utcnow()))
        self.time.advance_time_delta(MINUTE)
        self.assertEqual(
            ({'finished', 'dropped'}, 2), self.table.told_by(rows.delete_ended, timeutils.utcnow())
        )

    def test_reopened_operation_is_claimed_at_once(self):
        mine = self.held('mine', unique_key='mine', steps='look')
        self.do(operation_claims.finish, mine, 'me', rows.FAILED, 'why')
        self.do(rows.reopen, self.row('mine'), 'look', 'mine')
        self.assertEqual('other', self.do(operation_claims.claim, self.row('mine'), 'other', LEASE).owner)

    def test_operation_requested_again_starts_over_when_it_finishes(self):
        mine = self.held('mine', unique_key='mine', step=2, attempts=3, requested_count=2)
        self.assertEqual(
            ({'mine'}, False),
            self.table.told_by(operation_claims.finish, mine, 'me', rows.DONE, requested_count=1),
        )
        row = self.row('mine')
        self.assertEqual(
            (rows.OPEN, 'me', 'mine', 0, 1), (row.state, row.owner, row.unique_key, row.step, row.attempts)
        )
        self.assertTrue(self.do(operation_claims.finish, mine, 'me', rows.DONE, requested_count=2))

    def test_only_failed_operations_are_reopened_at_the_given_step(self):
        self.add(
            'one',
            state=rows.FAILED,
            step=0,
            steps='look leap land',
            undoing=True,
            attempts=9,
            error='why',
            finished_at=timeutils.utcnow() - MINUTE,
        )
        for state in (rows.OPEN, rows.DONE, rows.PARKED):
            self.add(state, state=state, steps='look leap land')
        self.add('unnamed', state=rows.FAILED)
        for state in (rows.OPEN, rows.DONE, rows.PARKED):
            self.assertEqual((set(), False), self.table.told_by(rows.reopen, self.row(state), 'land', 'key'))
        self.assertEqual(({'one'}, True), self.table.told_by(rows.reopen, self.row('one'), 'land', 'key'))
        row = self.row('one')
        self.assertEqual(
            (rows.OPEN, 2, 'key', False, 0, None, None),
            (row.state, row.step, row.unique_key, row.undoing, row.attempts, row.error, row.finished_at),
        )

    def test_operation_of_the_previous_release_is_reopened(self):
        self.add('old', state=rows.FAILED, kind='share.migrate')
        self.do(rows.reopen, self.row('old'), 'cut_over', 'key')
        row = self.row('old')
        self.assertEqual((rows.OPEN, 5, 'cut_over'), (row.state, row.step, rows.step_name(row)))

    def test_only_parked_operations_are_marked_failed(self):
        parked = self.add('one', state=rows.PARKED)
        others = [self.add(state, state=state) for state in (rows.OPEN, rows.DONE)]
        self.add('unnamed', state=rows.PARKED)
        for resource_id in others:
            self.assertEqual((set(), False), self.table.told_by(rows.fail_parked, resource_id))
        self.assertEqual(({'one'}, True), self.table.told_by(rows.fail_parked, parked))

    def test_supersede_fails_open_and_parked_operations_of_the_resource(self):
        self.held('open', unique_key='open')
        self.add('parked', state=rows.PARKED)
        self.add('other kind', kind='other')
        self.add('other thing', resource_id='other')
        self.add('done', state=rows.DONE)
        self.add('failed', state=rows.FAILED)
        self.assertEqual({'open', 'parked'}, self.by(rows.supersede, 'thing', ['test', 'more']))
        row = self.row('open')
        self.assertEqual(
            (rows.FAILED, None, None, 'superseded'), (row.state, row.unique_key, row.owner, row.error)
        )

    def test_only_old_done_and_failed_operations_are_deleted(self):
        now = timeutils.utcnow()
        for name, state, at in (
            ('done', rows.DONE, now - MINUTE),
            ('failed', rows.FAILED, now - MINUTE),
            ('parked', rows.PARKED, now - MINUTE),
            ('new', rows.DONE, now),
            ('open', rows.OPEN, None),
        ):
            self.add(name, state=state, finished_at=at)
        self.assertEqual(({'done', 'failed'}, 2), self.table.told_by(rows.delete_ended, now))

    def test_failed_migration_that_can_be_completed_or_cancelled_is_kept(self):
        now = timeutils.utcnow()
        share = self.admin.share(wait=None)['id']
        self.add('half', resource_id=share, state=rows.FAILED, finished_at=now - MINUTE)
        self.add('other', state=rows.FAILED, finished_at=now - MINUTE)
        for state, gone in ((states.Migration.ERROR, {'other'}), (states.Migration.CANCELLED, {'half'})):
            self.do(shares.update, share, task_state=state)
            self.assertEqual((gone, 1), self.table.told_by(rows.delete_ended, now))

    def test_failed_deletion_of_what_a_migration_left_is_kept_as_long_as_that_is_there(self):
        now, table = timeutils.utcnow(), models.share_instances
        share = self.admin.share(wait=None)['id']
        [instance] = self.do(
            lambda conn: conn.execute(sa.select(table.c.id).where(table.c.share_id == share)).scalars().all()
        )
        server = uuidutils.generate_uuid()
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(
                models.share_servers.insert().values(
                    id=server, share_network_id=uuidutils.generate_uuid(), host='here', status='error'
                )
            )
        old = {'finished_at': now - MINUTE}
        for kind in ('release', 'clear'):
            of_share, of_server = f'share.{kind}', f'share_server.{kind}'
            self.add(f'{kind} kept', kind=of_share, mutex_key=instance, state=rows.FAILED, **old)
            self.add(f'{kind} kept too', kind=of_server, resource_id=server, state=rows.FAILED, **old)
            self.add(f'{kind} done', kind=of_share, mutex_key=instance, state=rows.DONE, **old)
            self.add(f'{kind} of none', kind=of_share, mutex_key='gone', state=rows.FAILED, **old)
            self.add(f'{kind} of no server', kind=of_server, state=rows.FAILED, **old)
        self.add('other', kind='share.extend', mutex_key=instance, state=rows.FAILED, **old)
        self.add('other of server', kind='share_server.create', resource_id=server, state=rows.FAILED, **old)
        gone, _ = self.table.told_by(rows.delete_ended, now)
        ended = {
            f'{kind} {what}' for kind in ('release', 'clear') for what in ('done', 'of none', 'of no server')
        }
        self.assertEqual({*ended, 'other', 'other of server'}, gone)

    def test_only_the_named_operations_are_deleted(self):
        idents = [self.add('one'), self.add('two')]
        self.add('unnamed')
        self.assertEqual({'one', 'two'}, self.by(rows.delete, idents))


class Wishes(RowsTest):
    """Requests for operations that may exist already."""

    def test_open_operation_is_requested_again_and_due_at_once(self):
        later = timeutils.utcnow() + MINUTE
        one = self.add('one', unique_key='one', next_run_at=later)
        self.add('two', unique_key='two', next_run_at=later)
        self.add('none', next_run_at=later)
        self.assertEqual(({'one'}, one), self.table.told_by(rows.request_rerun, 'one'))
        self.assertEqual(
            (2, timeutils.utcnow()), (self.row('one').requested_count, self.row('one').next_run_at)
        )
        self.assertEqual((set(), None), self.table.told_by(rows.request_rerun, 'three'))

    def test_several_open_operations_are_requested_again(self):
        later = timeutils.utcnow() + MINUTE
        for name in ('one', 'two', 'three'):
            self.add(name, unique_key=name, next_run_at=later)
        self.add('none', next_run_at=later)
        self.assertEqual(
            ({'one', 'two'}, {'one', 'two'}), self.table.told_by(rows.request_reruns, ['one', 'two', 'four'])
        )
        self.assertEqual(
            (2, timeutils.utcnow()), (self.row('one').requested_count, self.row('one').next_run_at)
        )
        self.assertEqual((set(), set()), self.table.told_by(rows.request_reruns, ['four']))

    def test_only_open_operations_are_made_due(self):
        later = timeutils.utcnow() + MINUTE
        one = self.add('one', next_run_at=later)
        self.add('two', next_run_at=later)
        self.ended(next_run_at=later)
        self.assertEqual({'one'}, self.by(rows.make_due, one))
        self.assertEqual(timeutils.utcnow(), self.row('one').next_run_at)
        for name in ENDED:
            self.assertEqual(set(), self.by(rows.make_due, self.table.names[name]), name)

    def test_operation_made_due_while_it_runs_is_not_postponed(self):
        for name, hurried in (('calm', False), ('hurried', True)):
            resource_id, seen = self.held(name), timeutils.utcnow()
            self.time.advance_time_delta(MINUTE)
            if hurried:
                self.do(rows.make_due, resource_id)
            self.do(operation_claims.postpone, resource_id, 'me', 600, seen)
            self.assertEqual(timeutils.utcnow() + (0 if hurried else 10) * MINUTE, self.row(name).next_run_at)

    def test_operation_is_found_by_its_id(self):
        self.add('one')
        two = self.add('two')
        self.assertEqual(two, self.do(rows.get, two).id)
        self.assertIsNone(self.do(rows.get, uuidutils.generate_uuid()))

    def test_open_operation_is_found_by_its_key(self):
        self.add('one', unique_key='one')
        self.assertTrue(self.do(rows.is_open, 'one'))
        self.assertFalse(self.do(rows.is_open, 'two'))

    def test_only_open_operations_keep_a_serial_busy(self):
        self.add('one', mutex_key='one')
        self.ended(mutex_key='two')
        self.assertTrue(self.do(rows.is_any_mutex_open, ['one', 'two']))
        self.assertFalse(self.do(rows.is_any_mutex_open, ['two', 'three']))

    def test_operations_of_a_resource_are_listed_oldest_first(self):
        now = timeutils.utcnow()
        for name, age in (('second', 2), ('third', 1), ('first', 3)):
            self.add(name, created_at=now - age * MINUTE, state=rows.OPEN if age == 1 else rows.DONE)
        self.add('other thing', resource_id='other')
        self.add('other kind', kind='other')
        self.assertEqual(
            [self.table.names[name] for name in ('first', 'second', 'third')],
            [row.id for row in self.do(rows.list_of_resource, 'thing', 'test')],
        )
