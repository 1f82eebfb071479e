# SPDX-License-Identifier: Apache-2.0
"""Grants against the real share service: existing rules, concurrent callers, and processes that die."""

import contextlib
import datetime
import threading

import fixtures
import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.siblings import grants
from manila_lite.siblings.db import grant_rows
from manila_lite.siblings.grants import Target
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.siblings.relay import Relay
from manila_lite.tests.functional.siblings.share_service import ShareServiceTest
from manila_lite.tests.functional.siblings.test_shares import port_of

_META = sa.MetaData()
_GRANTS = grants.table(_META)
_USES = sa.Table(
    'uses',
    _META,
    sa.Column('id', sa.String(36), primary_key=True),
    sa.Column('grant_id', sa.String(36)),
    sa.Column('level', sa.String(2)),
)

_SERVICE = 'mlite-test'


def users(conn, grant_id):
    """Return the levels that the uses of a grant want."""
    return list(conn.execute(sa.select(_USES.c.level).where(_USES.c.grant_id == grant_id)).scalars())


class Killed(BaseException):
    """Stands for the end of the process."""


class Mortal:
    """Wrapper of an object: the process dies after the ``left``-th call from now."""

    def __init__(self, thing, left):
        self._thing, self.left = thing, left

    def __getattr__(self, name):
        attribute = getattr(self._thing, name)
        return self._call(attribute) if callable(attribute) else attribute

    def _call(self, function):
        def call(*args, **more):
            self.left -= 1
            answer = function(*args, **more)
            if not self.left:
                raise Killed
            return answer

        return call


class MortalDatabase:
    """As ``Mortal``, for transactions that write."""

    def __init__(self, db, left):
        self._db, self.left, self.reader = db, left, db.reader

    @contextlib.contextmanager
    def writer(self):
        self.left -= 1
        with self._db.writer() as conn:
            yield conn
        if not self.left:
            raise Killed


class GrantTest(ShareServiceTest):
    """One share service; each test has a share, and a sibling's grants for it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.db = cls.service.services.db
        with cls.db.writer() as conn:  # the share service writes at the same time
            _META.create_all(conn)
        cls.addClassCleanup(cls._drop)

    @classmethod
    def _drop(cls):
        with cls.db.writer() as conn:
            _META.drop_all(conn)

    def setUp(self):
        super().setUp()
        self.share_id = self.user.share()['id']
        self.grants = self.sibling()

    def sibling(self, shares=None, db=None):
        return grants.Grants(db or self.db, _GRANTS, shares or self.shares, service=_SERVICE, users=users)

    def use(self, sibling=None, to='10.0.0.7', level='rw', host='here'):
        """Add a use of the share from an address. Return the ids of the use and of the grant."""
        use_id = uuidutils.generate_uuid()

        def add(conn):
            grant = (sibling or self.grants).claim(
                conn, Target(self.share_id, 'ip', to, level), host=host, on=f'server {use_id}'
            )
            conn.execute(_USES.insert().values(id=use_id, grant_id=grant, level=level))
            return use_id, grant

        return self.db.write(add)  # a request is repeated after a deadlock, too

    def leave(self, use):
        """Delete the use."""
        with self.db.writer() as conn:
            conn.execute(_USES.delete().where(_USES.c.id == use))

    def row(self, grant):
        with self.db.reader() as conn:
            return grant_rows.get(conn, _GRANTS, grant)

    @staticmethod
    def until(call, *args):
        """Repeat a call while it raises Again. Return its result."""
        return waiting.until(lambda: (call(*args),), 'it is not to be tried again', ignoring=(errors.Again,))[
            0
        ]

    def put_in_force(self, grant):
        return self.until(self.grants.put_in_force, grant)

    def rules(self):
        return self.shares.rules(self.share_id)

    def share_locks(self):
        return self.admin.ok('GET', f'/resource-locks?all_projects=1&resource_id={self.share_id}')[
            'resource_locks'
        ]

    def users_rule(self, level='rw', to='10.0.0.7', **more):
        """Create an access rule as the owner of the share. Return its id."""
        made = self.user.action(
            self.share_id,
            'allow_access',
            {'access_type': 'ip', 'access_to': to, 'access_level': level, **more},
        )[1]['access']
        self.user.wait(f'/share-access-rules/{made["id"]}', 'access', 'active', field='state')
        return made['id']


class Owned(GrantTest):
    """Rules that the sibling made."""

    def test_grant_makes_and_removes_its_rule(self):
        use, grant = self.use()
        rule = self.put_in_force(grant)
        self.assertEqual(('10.0.0.7', 'rw', 'active'), (rule.to, rule.level, rule.state))
        self.assertEqual([rule], self.rules())
        locks = self.shares.locks(resource_id=rule.id)
        self.assertEqual(
            [('delete', f'{_SERVICE} server {use} on here'), ('show', f'{_SERVICE} server {use} on here')],
            sorted((lock.action, lock.reason) for lock in locks),
        )
        self.assertEqual(1, len(self.share_locks()))
        self.assertEqual(403, self.user.action(self.share_id, 'deny_access', {'access_id': rule.id})[0])
        self.assertEqual(
            '******', self.user.ok('GET', f'/share-access-rules/{rule.id}')['access']['access_to']
        )
        self.assertEqual(
            (rule.id, True, None), (self.row(grant).access_id, self.row(grant).owned, self.row(grant).fault)
        )
        self.grants.release(grant)
        self.assertEqual([rule], self.rules())  # the grant is in use
        self.leave(use)
        self.until(self.grants.release, grant)
        self.assertEqual(([], None, []), (self.rules(), self.row(grant), self.share_locks()))
        self.grants.release(grant)
        self.assertRaises(errors.Final, self.grants.put_in_force, grant)

    def test_two_uses_have_one_rule(self):
        first, grant = self.use()
        second, same = self.use()
        self.assertEqual(grant, same)
        rule = self.put_in_force(grant)
        self.leave(first)
        self.grants.release(grant)
        self.assertEqual([rule], self.rules())
        self.leave(second)
        self.until(self.grants.release, grant)
        self.assertEqual([], self.rules())

    def test_stronger_level_upgrades_the_rule(self):
        _, grant = self.use(level='ro')
        weak = self.put_in_force(grant)
        self.assertEqual('ro', weak.level)
        self.use(level='rw')
        self.use(level='ro')
        self.assertEqual('rw', self.put_in_force(grant).level)
        self.assertEqual(
            [(weak.id, 'rw')], [(rule.id, rule.level) for rule in self.rules()]
        )  # no client lost its access
        self.assertEqual(weak.id, self.row(grant).access_id)

    def test_rule_is_made_anew_where_levels_cannot_be_changed(self):
        """Check that the rule is replaced if the share service is too old to change levels, or does not allow the change."""
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.siblings.shares.Shares.change_level', lambda *_: False)
        )
        _, grant = self.use(level='ro')
        weak = self.put_in_force(grant)
        self.use(level='rw')
        strong = self.put_in_force(grant)
        self.assertEqual([(strong.id, 'rw')], [(rule.id, rule.level) for rule in self.rules()])
        self.assertNotEqual(weak.id, strong.id)
        self.assertEqual(strong.id, self.row(grant).access_id)

    def test_denied_rule_is_made_anew(self):
        use, grant = self.use()
        rule = self.put_in_force(grant)
        self.assertEqual(
            202,
            self.admin.action(self.share_id, 'deny_access', {'access_id': rule.id, 'unrestrict': True})[0],
        )
        self.admin.wait(f'/share-access-rules/{rule.id}', 'access', 'gone', field='state')
        self.assertNotEqual(rule.id, self.put_in_force(grant).id)
        made = self.rules()[0]
        self.shares.deny(self.share_id, made.id)
        self.leave(use)
        self.until(self.grants.release, grant)
        self.assertEqual([], self.rules())

    def test_grant_cannot_be_claimed_while_it_is_released(self):
        use, grant = self.use()
        self.put_in_force(grant)
        self.leave(use)
        self.service.knob('alpha', 'update_access:delay=0.3')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.assertRaises(errors.Again, self.grants.release, grant)
        self.assertRaises(errors.Again, self.use)
        self.until(self.grants.release, grant)
        self.assertNotEqual(grant, self.use()[1])

    def test_rule_that_others_locked_is_kept(self):
        """Check that a rule with another's lock stays until it is unlocked, and is removed by the next reconciliation."""
        use, grant = self.use()
        rule = self.put_in_force(grant)
        second = self.shares.lock(rule.id, f'mlite-other cluster {uuidutils.generate_uuid()} on there').id
        self.leave(use)
        self.until(self.grants.release, grant)
        self.assertEqual([rule], self.rules())
        self.grants.reconcile('here')
        self.assertEqual([rule], self.rules())
        self.shares.unlock(second)
        self.until(self._reconciled)
        self.assertEqual([], self.rules())

    def _reconciled(self):
        self.grants.reconcile('here')
        if self.rules():
            raise errors.Again(0, 'there are rules')

    def test_grant_of_a_deleted_share_can_be_released(self):
        use, grant = self.use()
        self.assertEqual(202, self.user.call('DELETE', f'/shares/{self.share_id}')[0])
        self.user.wait(f'/shares/{self.share_id}', 'share', 'gone')
        self.assertRaises(errors.Final, self.grants.put_in_force, grant)
        self.assertIn(self.share_id, self.row(grant).fault)
        self.leave(use)
        self.grants.release(grant)
        self.assertIsNone(self.row(grant))

    def test_busy_share_is_tried_again(self):
        self.service.knob('alpha', 'extend_share:delay=0.5')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.user.action(self.share_id, 'extend', {'new_size': 2})
        self.assertEqual('active', self.put_in_force(self.use()[1]).state)

    def test_invalid_address_fails_for_good(self):
        error = self.assertRaises(errors.Final, self.put_in_force, self.use(to='nonsense')[1])
        self.assertIn('access_to', str(error))

    def test_rule_that_the_backend_refuses_fails_for_good(self):
        self.service.knob('alpha', 'update_access:fail_final')
        self.addCleanup(self.service.knob, 'alpha', '')
        use, grant = self.use()
        self.assertRaises(errors.Final, self.put_in_force, grant)
        self.assertEqual(['error'], [rule.state for rule in self.rules()])
        self.service.knob('alpha', '')
        self.leave(use)
        self.until(self.grants.release, grant)
        self.assertEqual([], self.rules())


class Foreign(GrantTest):
    """Rules that others made are never removed."""

    def test_foreign_rule_is_used_and_kept(self):
        rule = self.users_rule()
        use, grant = self.use()
        self.assertEqual(rule, self.put_in_force(grant).id)
        self.assertFalse(self.row(grant).owned)
        self.assertEqual(
            [('delete', f'{_SERVICE} server {use} on here')],
            [(lock.action, lock.reason) for lock in self.shares.locks(resource_id=rule)],
        )
        self.assertEqual(403, self.user.action(self.share_id, 'deny_access', {'access_id': rule})[0])
        self.put_in_force(grant)
        self.leave(use)
        self.grants.release(grant)
        self.assertEqual(
            ([rule], [], None),
            ([one.id for one in self.rules()], self.shares.locks(resource_id=rule), self.row(grant)),
        )
        self.assertEqual(202, self.user.action(self.share_id, 'deny_access', {'access_id': rule})[0])

    def test_foreign_rule_that_is_too_weak_is_refused(self):
        rule = self.users_rule('ro')
        use, grant = self.use()
        error = self.assertRaises(errors.Final, self.put_in_force, grant)
        self.assertIn('ro', str(error))
        self.assertEqual(str(error), self.row(grant).fault)
        self.assertEqual([], self.shares.locks(resource_id=rule))
        self.leave(use)
        self.grants.release(grant)
        self.assertEqual([rule], [error.id for error in self.rules()])
        _, weaker = self.use(level='ro')
        self.assertEqual(rule, self.put_in_force(weaker).id)
        self.use(level='rw')
        self.assertRaises(errors.Final, self.put_in_force, weaker)
        self.assertEqual(['ro'], [error.level for error in self.rules()])

    def test_hidden_rules_are_refused(self):
        self.users_rule(lock_visibility=True)
        blind = self.sibling(self.service_user(token='somebody:p:member'))
        _, grant = self.use(blind)
        self.assertIn('hidden', str(self.assertRaises(errors.Final, self.until, blind.put_in_force, grant)))

    def test_rule_of_a_user_that_looks_like_ours_is_foreign(self):
        rule = self.users_rule(
            lock_visibility=True, lock_deletion=True, lock_reason=f'{_SERVICE} server x on here'
        )
        self.assertEqual(0, self.grants.reconcile('here'))
        use, grant = self.use()
        self.assertEqual(rule, self.put_in_force(grant).id)
        self.leave(use)
        self.grants.release(grant)
        self.assertEqual([rule], [one.id for one in self.rules()])


class Together(GrantTest):
    """Concurrent calls, and calls that die."""

    def test_kill_after_any_call_loses_nothing(self):
        """Check that the next process finds the work of the dead one, and leaves one rule, or none."""
        for kind in ('shares', 'db'):
            self._kill_after_each_call(kind, '10.0.0.8', None)
        self._kill_after_each_call('shares', '10.0.0.9', self.users_rule(to='10.0.0.9'))

    def _kill_after_each_call(self, kind, to, foreign):
        at = died = 1
        while died:
            died = 0
            use, grant = self.until(lambda: self.use(to=to))
            died += self._dies(kind, at, 'put_in_force', grant)
            rule = self.put_in_force(grant)
            self.assertEqual([rule.id], [one.id for one in self.rules() if one.to == to])
            self.assertEqual((rule.id, not foreign), (self.row(grant).access_id, self.row(grant).owned))
            self.assertEqual(1 if foreign else 2, len(self.shares.locks(resource_id=rule.id)))
            self.leave(use)
            died += self._dies(kind, at, 'release', grant)
            self.until(self.grants.release, grant)
            self.assertEqual([foreign] if foreign else [], [one.id for one in self.rules() if one.to == to])
            self.assertIsNone(self.row(grant))
            at += 1
        self.assertGreater(at, 2)

    def _dies(self, kind, at, call, grant):
        """Call a grant's method with an object that dies; say whether the process died."""
        mortal = (Mortal if kind == 'shares' else MortalDatabase)(getattr(self, kind), at)
        try:
            self._in_two_tries(getattr(self.sibling(**{kind: mortal}), call), grant)
        except Killed:
            return True
        return False

    def _in_two_tries(self, call, grant):
        """Call twice and let the backend apply its rules in between, so that the number of polls does not matter."""
        try:
            call(grant)
        except errors.Again:
            base.eventually(
                lambda: all(rule.state == 'active' for rule in self.rules()), 'the backend does nothing'
            )
            call(grant)

    def test_concurrent_uses_keep_one_rule(self):
        """Check that the rule exists while any use exists, and is gone afterwards."""
        failed = []

        def life(number):
            try:
                for _ in range(4):
                    use, grant = self.until(self.use)
                    rule = self.put_in_force(grant)
                    active = [row.id for row in self.rules() if row.state == 'active']
                    self.assertEqual([rule.id], active, f'{number}: the rule that was wanted')
                    self.leave(use)
                    self.until(self.grants.release, grant)
            except Exception as bad:
                failed.append(bad)

        threads = [threading.Thread(target=life, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failed)
        self.assertEqual(([], []), (self.rules(), self.share_locks()))

    def test_unused_rules_are_removed(self):
        for to, host in (('10.0.0.1', 'here'), ('10.0.0.2', 'here'), ('10.0.0.3', 'there')):
            self.shares.allow(self.share_id, 'ip', to, 'rw', f'{_SERVICE} server x on {host}')
        self.use(to='10.0.0.2')
        idle, _ = self.use(to='10.0.0.4')
        self.leave(idle)
        rule = self.users_rule(to='10.0.0.5')

        def granted():
            with self.db.reader() as conn:
                return list(
                    conn.execute(
                        sa.select(_GRANTS.c.access_to).where(_GRANTS.c.share_id == self.share_id)
                    ).scalars()
                )

        def reconciled():
            self.grants.reconcile('here')
            if {'10.0.0.1', '10.0.0.4'} & {*granted(), *(one.to for one in self.rules())}:
                raise errors.Again(0, 'rules or grants are left')

        self.put_in_force(self.use(to='10.0.0.2')[1])
        self.until(reconciled)
        self.assertEqual(['10.0.0.2', '10.0.0.3', '10.0.0.5'], sorted(one.to for one in self.rules()))
        self.assertIn(rule, [one.id for one in self.rules()])
        self.assertEqual(['10.0.0.2'], granted())

    def test_the_share_service_is_away(self):
        relay = self.useFixture(Relay(port_of(self.url)))
        there = self.sibling(self.service_user(endpoint=f'http://127.0.0.1:{relay.port}/v2'))
        use, grant = self.use(there)
        relay.away = 10**6
        self.assertRaises(errors.Unavailable, there.put_in_force, grant)
        self.assertEqual(0, there.reconcile('here') - len(self._idle()))
        relay.away = 0
        self.until(there.put_in_force, grant)
        self.leave(use)
        relay.away = 10**6
        relay.hang_up()
        self.assertRaises(errors.Unavailable, there.release, grant)
        relay.away = 0
        self.until(there.release, grant)
        self.assertEqual([], self.rules())

    def _idle(self):
        with self.db.reader() as conn:
            return grant_rows.unused(conn, _GRANTS, 'here', users)


class Patience(GrantTest):
    """The time that a step of a plan waits."""

    def test_waiting_ends_at_the_deadline(self):
        now = timeutils.utcnow()
        for bad in (errors.Unavailable('away'), errors.Again(1, 'not yet')):
            for since, seconds, wanted in (
                (now, 60, errors.Again),
                (now, None, errors.Again),
                (now - datetime.timedelta(seconds=61), 60, errors.Final),
                (now - datetime.timedelta(days=9), None, errors.Again),
            ):
                self.assertIn(str(bad), str(self.assertRaises(wanted, self._try, since, seconds, bad)))
        self.assertRaises(errors.Final, self._try, now, None, errors.Final('no'))

    @staticmethod
    def _try(since, seconds, bad):
        with grants.retry_until(since, seconds):
            raise bad
