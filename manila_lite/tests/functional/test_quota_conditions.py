# SPDX-License-Identifier: Apache-2.0
"""What a quota counts, and which limits go when limits are taken back: row by row."""

import dataclasses

from oslo_utils import uuidutils

from manila_lite.db import models, quotas
from manila_lite.tests.functional import base

_KEY = '5e2c9a34-0000-4000-8000-5b1f3a6c7d8e'


class Conditions(base.ServiceTest):

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()

    def share(self, *, is_going, **more):
        """A share with a snapshot and an active replica of it, of 5 GiB."""
        share = uuidutils.generate_uuid()
        with self.service.services.db.writer() as conn:
            conn.execute(models.shares.insert().values(
                id=share, project_id=self.project, user_id='u', size=5, share_proto='NFS', snapshot_support=True,
                is_going=is_going, replication_type='dr', **more))
            conn.execute(models.share_instances.insert().values(
                id=share, share_id=share, status='available', access_rules_status='active', replica_state='active'))
            conn.execute(models.snapshots.insert().values(
                id=uuidutils.generate_uuid(), share_id=share, project_id=self.project, user_id='u', status='available',
                size=5, share_size=5, share_proto='NFS', is_going=is_going))

    def used(self):
        with self.service.services.db.reader() as conn:
            found = quotas.usages(conn, self.project)
        return {name: dataclasses.astuple(usage) for name, usage in found.items() if usage.total}

    def test_what_is_going_by_itself_is_counted_no_more(self):
        self.share(is_going=True)
        with self.service.services.db.writer() as conn:
            conn.execute(models.share_networks.insert().values(
                id=uuidutils.generate_uuid(), project_id=self.project, status='active', is_going=True))
        self.assertEqual({}, self.used())

    def test_what_stays_is_counted_once(self):
        self.share(is_going=False, encryption_key_ref=_KEY)
        self.share(is_going=False, encryption_key_ref=_KEY)
        self.assertEqual({'shares': (2, 0), 'gigabytes': (10, 0), 'snapshots': (2, 0), 'snapshot_gigabytes': (10, 0),
                          'share_replicas': (2, 0), 'replica_gigabytes': (10, 0), 'encryption_keys': (1, 0)}, self.used())

    def test_a_resize_counts_with_the_larger_size(self):
        for target, growth in ((9, 4), (2, 0)):
            self.share(is_going=False, target_size=target)
            self.assertEqual(growth or 4, self.used()['gigabytes'][1])
        self.assertEqual((10, 4), self.used()['replica_gigabytes'])

    def test_a_key_counts_anew_when_only_shares_that_go_have_it(self):
        with self.service.services.db.writer() as conn:
            self.assertEqual({}, quotas.keys_added(conn, self.project, None))
        for is_going, more in ((True, 1), (False, 0)):
            self.share(is_going=is_going, encryption_key_ref=_KEY)
            with self.service.services.db.writer() as conn:
                self.assertEqual({'encryption_keys': more}, quotas.keys_added(conn, self.project, _KEY))
                self.assertEqual({'encryption_keys': 1}, quotas.keys_added(conn, uuidutils.generate_uuid(), _KEY))

    def limits(self, project=None, **scope):
        with self.service.services.db.reader() as conn:
            return quotas.limits(conn, self.service.conf, project or self.project, **scope)['shares']

    def test_limits_that_are_taken_back_are_those_that_were_named(self):
        other, scopes = uuidutils.generate_uuid(), ({}, {'user_id': 'u'}, {'user_id': 'v'}, {'share_type_id': 't'})
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
