# SPDX-License-Identifier: Apache-2.0
"""Rows that quotas count, and rows of limits that are deleted."""

import dataclasses

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db import models
from manila_lite.db.queries import quota_counts, quotas
from manila_lite.tests.factories import shares as share_rows
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting
from manila_lite.tests.functional.touching import Touching

_KEY = '5e2c9a34-0000-4000-8000-5b1f3a6c7d8e'


class Projects(base.ServiceTest):
    """A new project for each test."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()

    def do(self, call, *args, **more):
        """Commit ``call(conn, ...)``; return its answer."""
        with self.service.services.db.writer() as conn:
            return call(conn, *args, **more)

    def share(self, *, deletion_deferred=False, kind=None, **more):
        """Insert a share of 5 GiB with an active replica, and a snapshot of it."""
        share = uuidutils.generate_uuid()
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.shares.insert().values(
                    id=share,
                    project_id=self.project,
                    user_id='u',
                    size=5,
                    share_proto='NFS',
                    snapshot_support=True,
                    deletion_deferred=deletion_deferred,
                    replication_type='dr',
                    **more,
                )
            )
            share_rows.instance(conn, share, share, share_type_id=kind, replica_state='active')
            conn.execute(
                models.snapshots.insert().values(
                    id=uuidutils.generate_uuid(),
                    share_id=share,
                    project_id=self.project,
                    user_id='u',
                    status='available',
                    size=5,
                    share_size=5,
                    share_proto='NFS',
                    deletion_deferred=deletion_deferred,
                )
            )

    def network(self, user='u'):
        self.do(
            lambda conn: conn.execute(
                models.share_networks.insert().values(
                    id=uuidutils.generate_uuid(), project_id=self.project, user_id=user, status='active'
                )
            )
        )

    def kind(self):
        """Return the id of the default share type."""
        return next(
            one['id'] for one in self.admin.ok('GET', '/types')['share_types'] if one['name'] == 'default'
        )

    def used(self, **part):
        with self.service.services.db.reader() as conn:
            found = quotas.usages(conn, self.project, **part)
        return {name: dataclasses.astuple(usage) for name, usage in found.items() if usage.total}


class Conditions(Projects):
    def test_resources_being_deleted_are_not_counted(self):
        self.share(deletion_deferred=True)
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_networks.insert().values(
                    id=uuidutils.generate_uuid(),
                    project_id=self.project,
                    status='active',
                    deletion_deferred=True,
                )
            )
        self.assertEqual({}, self.used())

    def test_each_remaining_resource_is_counted_once(self):
        self.share(deletion_deferred=False, encryption_key_ref=_KEY)
        self.share(deletion_deferred=False, encryption_key_ref=_KEY)
        self.assertEqual(
            {
                'shares': (2, 0),
                'gigabytes': (10, 0),
                'snapshots': (2, 0),
                'snapshot_gigabytes': (10, 0),
                'share_replicas': (2, 0),
                'replica_gigabytes': (10, 0),
                'encryption_keys': (1, 0),
            },
            self.used(),
        )

    def test_a_resize_counts_with_the_larger_size(self):
        for target, growth in ((9, 4), (2, 0)):
            self.share(deletion_deferred=False, target_size=target)
            self.assertEqual(growth or 4, self.used()['gigabytes'][1])
        self.assertEqual((10, 4), self.used()['replica_gigabytes'])

    def test_key_counts_as_new_if_only_shares_being_deleted_use_it(self):
        with self.service.services.db.writer() as conn:
            self.assertEqual({}, quotas.count_new_keys(conn, self.project, None))
        for deletion_deferred, more in ((True, 1), (False, 0)):
            self.share(deletion_deferred=deletion_deferred, encryption_key_ref=_KEY)
            with self.service.services.db.writer() as conn:
                self.assertEqual({'encryption_keys': more}, quotas.count_new_keys(conn, self.project, _KEY))
                self.assertEqual(
                    {'encryption_keys': 1}, quotas.count_new_keys(conn, uuidutils.generate_uuid(), _KEY)
                )

    def test_networks_count_for_project_and_user_but_not_for_a_share_type(self):
        self.network()
        self.network('v')
        self.assertEqual({'share_networks': (2, 0)}, self.used())
        self.assertEqual({'share_networks': (1, 0)}, self.used(user_id='v'))
        self.assertEqual({}, self.used(share_type_id=self.kind()))

    def test_only_wanted_usage_is_counted(self):
        kind = self.kind()
        self.share(kind=kind)
        self.share()
        scopes = [
            quota_counts.Scope(self.project),
            quota_counts.Scope(self.project, 'u'),
            quota_counts.Scope(self.project, share_type_id=kind),
        ]
        with counting(self.service.services.db.engine) as counter:
            found = self.do(quota_counts.count, dict.fromkeys(scopes, ()))
            self.assertEqual(([{}] * 3, []), (found, counter.asked()))
            wanted = (['replica_gigabytes'], [], ['shares', 'backups'])
            found = self.do(quota_counts.count, dict(zip(scopes, wanted, strict=True)))
        self.assertEqual(1, len(counter.asked()))
        self.assertEqual(
            [{'share_replicas': 2, 'replica_gigabytes': 10}, {}, {'shares': 1, 'gigabytes': 5}],
            [{name: usage.total for name, usage in scope.items()} for scope in found],
        )

    def limits(self, project=None, **scope):
        with self.service.services.db.reader() as conn:
            return quotas.limits(conn, self.service.conf, project or self.project, **scope)['shares']

    def test_only_the_named_limits_are_deleted(self):
        other, scopes = (
            uuidutils.generate_uuid(),
            ({}, {'user_id': 'u'}, {'user_id': 'v'}, {'share_type_id': 't'}),
        )
        default = self.limits(uuidutils.generate_uuid())
        with self.service.services.db.writer() as conn:
            for number, scope in enumerate(scopes):
                quotas.set_limits(conn, self.project, {'shares': 11 + number}, **scope)
                quotas.set_limits(conn, other, {'shares': 11 + number}, **scope)
            quotas.delete_limits(conn, self.project, user_id='u')
        self.assertEqual([11, 11, 13, 14], [self.limits(**scope) for scope in scopes])
        with self.service.services.db.writer() as conn:
            quotas.delete_limits(conn, self.project, share_type_id='t')
        self.assertEqual([11, 11, 13, 11], [self.limits(**scope) for scope in scopes])
        with self.service.services.db.writer() as conn:
            quotas.delete_limits(conn, self.project)
        self.assertEqual([default] * 4, [self.limits(**scope) for scope in scopes])
        self.assertEqual([11, 12, 13, 14], [self.limits(other, **scope) for scope in scopes])

    def test_setting_a_limit_keeps_the_limits_of_other_resources(self):
        self.do(quotas.set_limits, self.project, {'shares': 11, 'gigabytes': 12})
        self.do(quotas.set_limits, self.project, {'gigabytes': 13})
        self.assertEqual(11, self.limits())

    def test_only_limits_of_the_default_class_apply_to_all_projects(self):
        conf, other = self.service.conf, uuidutils.generate_uuid()
        default = self.limits()
        self.addCleanup(self.do, lambda conn: conn.execute(models.quota_classes.delete()))
        self.do(quotas.set_class_limits, other, {'shares': 11, 'gigabytes': 12})
        self.do(quotas.set_class_limits, other, {'gigabytes': 13})
        self.assertEqual(
            (default, default, 11),
            (
                self.limits(),
                self.do(quotas.class_limits, conf, quotas.DEFAULT_CLASS)['shares'],
                self.do(quotas.class_limits, conf, other)['shares'],
            ),
        )
        self.do(quotas.set_class_limits, quotas.DEFAULT_CLASS, {'shares': 14})
        self.assertEqual((14, 11), (self.limits(), self.do(quotas.class_limits, conf, other)['shares']))


class OfTypes(Projects):
    """Limits of a share type."""

    def test_share_type_limits_are_set_and_shown_for_each_resource(self):
        path = f'/quota-sets/{self.project}?share_type=default'
        limits = {
            'shares': 1,
            'gigabytes': 2,
            'snapshots': 3,
            'snapshot_gigabytes': 4,
            'share_replicas': 5,
            'replica_gigabytes': 6,
            'per_share_gigabytes': 7,
        }
        self.admin.ok('PUT', path, {'quota_set': limits})
        shown = self.admin.ok('GET', path)['quota_set']
        self.assertEqual(limits, {name: value for name, value in shown.items() if name != 'id'})


class Checks(Projects):
    """Additions that the limits of project, user or share type allow or refuse."""

    def limit(self, part=None, **limits):
        self.do(quotas.set_limits, self.project, limits, **(part or {}))

    def check(self, user='u', kind=None, only_type=None, **add):
        """Return the code of the error if the addition is refused, or None."""
        try:
            self.do(
                quotas.check,
                self.service.conf,
                self.project,
                user,
                kind,
                add,
                **({} if only_type is None else {'only_type': only_type}),
            )
        except errors.OverQuota as refused:
            return refused.code
        return None

    def test_addition_above_the_project_limit_is_refused(self):
        self.limit(shares=0)
        self.assertEqual('over_quota_shares', self.check(shares=1))

    def test_growth_of_a_running_resize_counts_against_the_limit(self):
        self.share(target_size=9)
        self.limit(gigabytes=10)
        self.assertIsNone(self.check(gigabytes=1))
        self.assertEqual('over_quota_gigabytes', self.check(gigabytes=2))

    def test_networks_are_limited_in_the_project_and_for_a_user(self):
        self.network()
        self.limit(share_networks=1)
        self.assertEqual('over_quota_share_networks', self.check('v', share_networks=1))
        self.limit(share_networks=5)
        self.limit({'user_id': 'u'}, share_networks=1)
        self.assertEqual('over_quota_share_networks', self.check('u', share_networks=1))
        self.assertIsNone(self.check('v', share_networks=1))

    def test_share_size_limit_does_not_apply_to_networks(self):
        self.limit(per_share_gigabytes=0)
        self.assertIsNone(self.check(share_networks=1))

    def test_retyped_share_is_checked_against_type_limits_only(self):
        kind = self.kind()
        self.share(kind=kind)
        self.limit(shares=0)
        self.limit({'user_id': 'u'}, shares=0)
        self.assertIsNone(self.check(kind=kind, only_type=True, shares=1))
        self.limit({'share_type_id': kind}, shares=1)
        self.assertEqual('over_quota_shares', self.check(kind=kind, only_type=True, shares=1))


class Turns(Projects):
    """The lock on a project's row: it comes before each count, so that only counts of the same project wait."""

    def setUp(self):
        super().setUp()
        self.table = Touching(self.service.services.db, models.quota_locks, 'project_id')
        for name in ('mine', 'other'):
            self.table.names[name] = uuidutils.generate_uuid()
            self.do(
                lambda conn, name=name: conn.execute(
                    models.quota_locks.insert().values(project_id=self.table.names[name], turn=5)
                )
            )
        self.project = self.table.names['mine']

    def test_only_the_row_of_the_project_is_locked(self):
        self.assertEqual({'mine'}, self.table.by(quotas.lock, self.project))

    def test_each_count_locks_the_row(self):
        for call in (
            lambda conn: quotas.count_new_keys(conn, self.project, _KEY),
            lambda conn: quotas.check(conn, self.service.conf, self.project, 'u', None, {'shares': 1}),
        ):
            self.assertEqual({'mine'}, self.table.by(call))

    def test_row_is_locked_before_anything_is_counted(self):
        seen = []

        def note(_conn, _cursor, statement, *_):
            seen.append(statement)

        engine = self.service.services.db.engine
        for call in (
            lambda conn: quotas.count_new_keys(conn, self.project, _KEY),
            lambda conn: quotas.check(conn, self.service.conf, self.project, 'u', None, {'shares': 1}),
        ):
            with self.service.services.db.writer() as conn:
                sa.event.listen(engine, 'before_cursor_execute', note)
                try:
                    call(conn)
                finally:
                    sa.event.remove(engine, 'before_cursor_execute', note)
            self.assertEqual((1, 0), self._places(seen), seen)
            seen.clear()

    def test_requests_that_change_or_count_quotas_lock_the_row(self):
        for method, path, body in (
            ('PUT', f'/quota-sets/{self.project}', {'quota_set': {'shares': 7}}),
            ('POST', '/security-services', {'security_service': {'type': 'ldap', 'name': 'x'}}),
        ):
            turn = self.table.row('mine').turn
            base.Api(self.service.app, 'u', self.project).ok(method, path, body)
            self.assertGreater(self.table.row('mine').turn, turn)
            self.assertEqual(5, self.table.row('other').turn)

    @staticmethod
    def _places(seen):
        """Return how many statements change the row, and the place of the first of them."""
        places = [place for place, text in enumerate(seen) if text.startswith('UPDATE quota_locks')]
        return len(places), places[0] if places else None

    def test_row_of_a_new_project_is_created(self):
        self.table.names['new'] = uuidutils.generate_uuid()
        self.do(quotas.lock, self.table.names['new'])
        self.assertIsNotNone(self.table.row('new'))
        self.assertEqual({'new'}, self.table.by(quotas.lock, self.table.names['new']))

    def test_row_created_by_a_concurrent_request_is_locked(self):
        new = self.table.names['new'] = uuidutils.generate_uuid()
        engine, made = self.service.services.db.engine, []

        def quicker(conn, _cursor, statement, *_):
            if statement.startswith('UPDATE quota_locks') and not made:
                made.append(new)
                conn.execute(models.quota_locks.insert().values(project_id=new, turn=5))

        sa.event.listen(engine, 'after_cursor_execute', quicker)
        try:
            self.do(quotas.lock, new)
        finally:
            sa.event.remove(engine, 'after_cursor_execute', quicker)
        self.assertEqual([new], made)
        self.assertNotEqual(5, self.table.row('new').turn)
